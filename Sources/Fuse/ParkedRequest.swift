import Synchronization

/// A request that waits for its answer, to be taken by whoever is first: the answer, an interrupt, or the shutdown.
///
/// Filesystems whose reads wait for something keep these in their own tables; a parked request costs one small object
/// and no thread. If the object is released with the request still in it, the request answers EIO.
package final class ParkedRequest: Sendable {
    private let slot: Mutex<Request?>
    /// The request's `id`, to find it by.
    package let id: UInt64
    package let caller: Caller

    package init(_ request: consuming Request) {
        id = request.id
        caller = request.caller
        slot = Mutex(request)
    }

    /// The request, for the first who asks; nil for all others.
    package func take() -> Request? {
        slot.withLock { $0.take() }
    }

    /// Calls `handler` when the caller is interrupted while the request waits; see `Request.onInterrupt(_:)`.
    ///
    /// The handler, which usually is to `take()` the request, remove it from the filesystem's tables and answer EINTR,
    /// is called with no lock held, perhaps before this method returns. If the request has been taken already nothing
    /// happens.
    package func onInterrupt(_ handler: @escaping @Sendable () -> Void) {
        let interrupted = slot.withLock { slot in
            slot?.registerInterrupt(handler) ?? false
        }
        if interrupted { handler() }
    }
}
