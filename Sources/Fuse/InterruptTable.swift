import Synchronization

/// The handlers to be called when a request is interrupted, by the request's id.
///
/// libfuse's own register is one function and one pointer in the request, and tells nobody when it will not call any
/// more: an interrupt that has been looked up may call the function after another thread has answered. So the pointer
/// that libfuse gets is no object but the request's id, and the handler is looked up here. Nothing has to be retained
/// for C: a handler is released when it is taken out, which happens once, either by the interrupt or by the answer.
///
/// States of an id: absent → registering → armed → absent (interrupted or answered); registering → interrupted →
/// absent.
final class InterruptTable: Sendable {
    typealias Handler = @Sendable () -> Void

    private enum Slot {
        /// The id is being made known to libfuse.
        case registering(Handler)
        /// The interrupt came while the id was being made known: before the request was registered, or at the same
        /// time.
        case interrupted
        case armed(Handler)
    }

    private let slots = Mutex<[UInt64: Slot]>([:])

    /// Registers `handler` while `announce` makes the id known to libfuse. True when the request has been interrupted
    /// already: then the handler is not kept, and the caller has to run it once it holds no lock.
    ///
    /// For an interrupt that came before, libfuse calls back from within `announce` with the request's lock held and
    /// uses the request afterwards: a handler that answered there would free it under libfuse's feet.
    func register(_ id: UInt64, _ handler: @escaping Handler, announce: () -> Void) -> Bool {
        slots.withLock { slots in
            precondition(slots[id] == nil, "a request has one interrupt handler")
            slots[id] = .registering(handler)
        }
        announce()
        return slots.withLock { slots in
            if case .interrupted = slots[id] {
                slots[id] = nil
                return true
            }
            slots[id] = .armed(handler)
            return false
        }
    }

    /// The interrupt: runs the handler if there still is one, on the calling thread and with no lock of the table held.
    func interrupt(_ id: UInt64) {
        let handler = slots.withLock { slots -> Handler? in
            switch slots[id] {
            case .registering:
                slots[id] = .interrupted
                return nil
            case .armed(let handler):
                slots[id] = nil
                return handler
            case .interrupted, nil:
                return nil
            }
        }
        handler?()
    }

    /// The answer: an interrupt from now on finds no handler.
    func withdraw(_ id: UInt64) {
        slots.withLock { $0[id] = nil }
    }

    /// How many handlers are waiting.
    var count: Int { slots.withLock { $0.count } }
}
