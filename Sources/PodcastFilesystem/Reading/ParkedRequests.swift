internal import Fuse
internal import Platform
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage

// Requests of the kernel that wait for the daemon.
extension PodcastFilesystem {
    /// Parks a request of the kernel and sends the daemon a request on its behalf. `answer` is called with the daemon's
    /// response, unless the calling program was interrupted before.
    func send(
        _ kind: Frame.Kind, _ payload: [UInt8], for waiting: ParkedRequest,
        answer: @escaping @Sendable (Result<Frame, Failure>) -> Void
    ) {
        sendPart(kind, payload, for: waiting, answer: answer)
        answerInterrupt(of: waiting)
    }

    /// Sends the daemon one of several requests for the same parked request. Does not handle an interrupt: call
    /// `answerInterrupt(of:)` as well.
    func sendPart(
        _ kind: Frame.Kind, _ payload: [UInt8], for waiting: ParkedRequest,
        answer: @escaping @Sendable (Result<Frame, Failure>) -> Void
    ) {
        parked.add(waiting)
        let token = link.send(kind, payload) { [self] result in
            _ = parked.remove(waiting)
            answer(result)
        }
        // The interrupt of a request that waits for several responses may come before the token is known.
        if !parked.assign(token, to: waiting) { link.cancel(token) }
    }

    /// Replies EINTR when the caller of a parked request is interrupted, and cancels the request to the daemon. Call
    /// once for each parked request.
    func answerInterrupt(of waiting: ParkedRequest) {
        waiting.onInterrupt { [self] in
            guard let request = waiting.take() else { return }
            if let entry = parked.remove(waiting) { link.cancel(entry.token) }
            request.reply(error: .interrupted)
        }
    }
}

extension Result<Frame, Failure> {
    /// Returns the daemon's reply to a command. Throws its failure, or EIO if the reply cannot be decoded.
    func reply() throws -> Reply {
        guard let reply = WireJSON.decode(Reply.self, try get().payload) else { throw Errno.ioError }
        return reply
    }

    /// Returns the daemon's answer to an open or a read. Throws its failure, or EIO if the answer cannot be decoded.
    func grant() throws -> Grant {
        guard let grant = Grant(payload: try get().payload) else { throw Errno.ioError }
        return grant
    }
}

extension ParkedRequest {
    /// Answers the request with the error that `body` throws, if it throws one.
    func answerError(_ body: () throws -> Void) {
        do { try body() } catch { take()?.reply(error: PodcastFilesystem.errno(of: error)) }
    }
}

/// The kernel's requests that wait for the daemon: open, read, opendir, and setxattr if it runs a command. Each
/// occupies a small record, and no thread.
final class ParkedRequests: Sendable {
    struct Entry: Sendable {
        var request: ParkedRequest
        /// The token of the request to the daemon; 0 until it is sent.
        var token: UInt64
    }

    /// The time for which reads fail at once instead of being parked: those of the same open file after a parked read
    /// has failed, those of the whole mount after `removeAll`. After a failed readahead, the kernel requests the page
    /// again for the reader itself within this time, and this request has to fail as well.
    static let retryWindow = Duration.seconds(1)

    private let entries = Mutex<[UInt64: Entry]>([:])
    /// The time until which reads fail instead of being parked, in milliseconds of `SystemClock.monotonic`.
    private let refusesUntil = Atomic<Int64>(0)
    private let stopped = Atomic(false)

    /// Whether the mount is being unmounted: the kernel's caches can no longer be invalidated, so opens must fail.
    var isStopped: Bool { stopped.load(ordering: .acquiring) }

    func stop() { stopped.store(true, ordering: .releasing) }

    /// Whether a read must fail instead of being parked.
    func refuses(at now: Instant) -> Bool { now < .milliseconds(refusesUntil.load(ordering: .acquiring)) }

    /// Adds a request. Must be called before the request to the daemon is sent, since the response may arrive
    /// immediately.
    func add(_ request: ParkedRequest) { entries.withLock { $0[request.id] = Entry(request: request, token: 0) } }

    /// Sets the token of the latest request to the daemon on behalf of a parked request. If several are sent in turn,
    /// another thread may have set the token of a later one before this call. Tokens increase, so the highest one is
    /// retained.
    ///
    /// - Returns: Whether the request is still parked, neither answered nor interrupted.
    func assign(_ token: UInt64, to request: ParkedRequest) -> Bool {
        entries.withLock { entries in
            guard let known = entries[request.id]?.token else { return false }
            entries[request.id]?.token = max(token, known)
            return true
        }
    }

    func remove(_ request: ParkedRequest) -> Entry? { entries.withLock { $0.removeValue(forKey: request.id) } }

    /// Removes and returns all parked requests, and refuses further reads for `retryWindow`.
    func removeAll() -> [Entry] {
        let end = SystemClock.monotonic.now + Self.retryWindow
        refusesUntil.store(end.uptime.milliseconds, ordering: .releasing)
        return entries.withLock { Array(exchange(&$0, with: [:]).values) }
    }
}
