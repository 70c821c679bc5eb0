import Synchronization

/// The interrupt handlers of requests, by request id.
///
/// libfuse stores one function and one pointer in the request, and does not report when it will no longer call the
/// function: an interrupt in progress may call it after another thread has replied. So the pointer given to libfuse is
/// not an object but the request's id, by which the handler is found here. Because libfuse retains no handler, a
/// handler is released as soon as the interrupt or the reply removes it from this table.
///
/// States of an id: absent → registering → armed → absent (interrupted or replied); registering → interrupted → absent.
final class InterruptTable: Sendable {
    typealias Handler = @Sendable () -> Void

    private enum Slot {
        /// The id is being registered with libfuse.
        case registering(Handler)
        /// The interrupt arrived during the registration, or before it.
        case interrupted
        case armed(Handler)
    }

    private let slots = Mutex<[UInt64: Slot]>([:])

    /// Registers `handler`, and calls `announce`, which registers the id with libfuse. Returns true if the request has
    /// already been interrupted. The handler is then not stored, and the caller has to run it after releasing its
    /// locks.
    ///
    /// If the interrupt came before this call, libfuse calls `interrupt` during `announce`, with the request's lock
    /// held, and uses the request afterwards. A reply frees the request, so no handler may run and reply then.
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

    /// Handles an interrupt: runs the handler, if it is still registered, on the calling thread and without the table's
    /// lock.
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

    /// Removes the handler when the request is answered; a later interrupt finds none.
    func withdraw(_ id: UInt64) { slots.withLock { $0[id] = nil } }

    /// The number of registered handlers.
    var count: Int { slots.withLock { $0.count } }
}
