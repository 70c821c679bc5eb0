internal import Fuse
internal import Synchronization

/// The requests that wait for the daemon: a small record each, no thread.
final class ParkedReads: Sendable {
    struct Entry: Sendable {
        var request: ParkedRequest
        /// Of the request to the daemon; 0 until it is sent.
        var token: UInt64
    }

    private let entries = Mutex<[UInt64: Entry]>([:])

    /// Before the daemon is asked: its answer may come at once.
    func add(_ request: ParkedRequest) {
        entries.withLock { $0[request.id] = Entry(request: request, token: 0) }
    }

    /// The daemon has been asked; nothing when it has answered already.
    func assign(_ token: UInt64, to request: ParkedRequest) {
        entries.withLock { $0[request.id]?.token = token }
    }

    func remove(_ request: ParkedRequest) -> Entry? { entries.withLock { $0.removeValue(forKey: request.id) } }

    func takeAll() -> [Entry] {
        entries.withLock { entries in
            defer { entries = [:] }
            return Array(entries.values)
        }
    }

    var count: Int { entries.withLock { $0.count } }
}
