internal import CLinux
internal import Glibc
internal import Platform
internal import Synchronization

/// A queue of closures for the engine's thread, filled from any thread.
final class Mailbox: Sendable {
    typealias Work = @Sendable (EngineLoop) -> Void

    private struct State {
        var queue: [Work] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    /// An eventfd, readable while there may be work.
    let descriptor: Int32

    /// - Throws: if no descriptor is left. Without one, posted closures would not wake the engine's thread.
    init() throws(TransferError) {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw TransferError(.failed, "the engine cannot start: eventfd: \(errnoText())") }
        self.descriptor = descriptor
    }

    deinit { Glibc.close(descriptor) }

    /// Adds a closure.
    ///
    /// - Returns: `false` if the engine has ended and the closure will not run.
    @discardableResult
    func post(_ work: @escaping Work) -> Bool {
        let (isFirst, isClosed) = state.withLock { state in
            if state.isClosed { return (false, true) }
            state.queue.append(work)
            return (state.queue.count == 1, false)
        }
        if isFirst { eventfd_write(descriptor, 1) }
        return !isClosed
    }

    /// Returns the closures added since the last call, and makes the descriptor unreadable.
    func drain() -> [Work] {
        var value: eventfd_t = 0
        eventfd_read(descriptor, &value)
        return state.withLock { exchange(&$0.queue, with: []) }
    }

    /// Closes the queue and returns the remaining closures.
    func close() -> [Work] {
        state.withLock { state in
            state.isClosed = true
            return exchange(&state.queue, with: [])
        }
    }
}
