import Synchronization

/// A request that waits for its reply. A reply, an interrupt and the shutdown may compete for it; the first one to call
/// `take()` gets the request, and answers it.
///
/// A filesystem whose requests wait stores these objects in tables of its own; a parked request occupies one small
/// object and no thread. If the object is released before the request was taken, the reply is EIO.
package final class ParkedRequest: Sendable {
    private let slot: Mutex<Request?>
    /// The request's `id`.
    package let id: UInt64
    package let caller: Caller

    package init(_ request: consuming Request) {
        id = request.id
        caller = request.caller
        slot = Mutex(request)
    }

    /// Returns the request to the first caller; `nil` to all others.
    package func take() -> Request? { slot.withLock { $0.take() } }

    /// Calls `handler` if the process that made the request is interrupted while the request waits; see
    /// `Request.registerInterrupt(_:)`.
    ///
    /// The handler usually calls `take()`, removes the request from the filesystem's tables and replies EINTR. It is
    /// called with no lock held, possibly before this method returns. It is not called if the request has been taken
    /// already.
    package func onInterrupt(_ handler: @escaping @Sendable () -> Void) {
        let interrupted = slot.withLock { slot in
            slot?.registerInterrupt(handler) ?? false
        }
        if interrupted { handler() }
    }
}
