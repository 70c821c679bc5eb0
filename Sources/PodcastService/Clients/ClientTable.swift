internal import Glibc
internal import Platform
internal import PodcastProtocol
internal import Synchronization

/// The connected clients. Thread-safe.
final class ClientTable: Sendable {
    private let clients = Mutex<[ClientID: ClientConnection]>([:])

    func add(_ client: ClientConnection) { clients.withLock { $0[client.id] = client } }

    func remove(_ client: ClientConnection) { clients.withLock { _ = $0.removeValue(forKey: client.id) } }

    var isEmpty: Bool { clients.withLock { $0.isEmpty } }

    /// Whether any client watches events.
    var isWatched: Bool { clients.withLock { $0.values.contains { $0.state.withLock { $0.isWatching } } } }

    /// Sends an event to every watching client.
    func broadcast(_ event: Event) {
        let watching = clients.withLock { clients in
            clients.values.filter { client in client.state.withLock { $0.isWatching } }
        }
        if watching.isEmpty { return }
        let frame = Frame(kind: .event, number: 0, payload: WireJSON.encode(event))
        for client in watching { client.send(frame) }
    }

    /// The episodes that clients have open or are waiting to open.
    var openEpisodes: Set<EpisodeID> {
        clients.withLock { clients in
            clients.values.reduce(into: []) { episodes, client in
                client.state.withLock { state in
                    episodes.formUnion(state.opens.values)
                    episodes.formUnion(state.waits.values.map(\.episode))
                }
            }
        }
    }

    /// The time without readers after which none is expected: a program that reads on asks for the next part sooner.
    private static let quiet = Duration.milliseconds(50)

    /// Blocks until no open or read of a client waits, and none has been answered just before, but not longer than
    /// `limit`. Called by work on the disk that nobody waits for.
    func waitForReaders(atMost limit: Duration) {
        let end = SystemClock.monotonic.now + limit
        while hasReaders, SystemClock.monotonic.now < end { usleep(10_000) }
    }

    private var hasReaders: Bool {
        let now = SystemClock.monotonic.now
        return clients.withLock { clients in
            clients.values.contains { client in
                client.state.withLock { !$0.waits.isEmpty || $0.lastWait.map { now - $0 < Self.quiet } ?? false }
            }
        }
    }
}
