internal import Platform
internal import PodcastProtocol
internal import Synchronization

/// The connected clients. Thread-safe.
final class ClientTable: Sendable {
    let waitingReaders = WaitingReaders()
    private let clients = Mutex<[ClientID: ClientConnection]>([:])

    func add(_ client: ClientConnection) {
        client.state.withLock { $0.waitingReaders = waitingReaders }
        clients.withLock { $0[client.id] = client }
    }

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
}

/// The number of opens and reads of clients that wait for the daemon. Work on the disk that nobody waits for yields to
/// them. Thread-safe.
final class WaitingReaders: Sendable {
    private struct State {
        var count = 0
        /// The time at which the last reader was answered, on `SystemClock.monotonic`.
        var answeredAt: Instant?
        var waits: [OneShot<Void>] = []
    }

    private let state = Mutex(State())

    /// The time without readers after which none is expected: a program that reads on asks for the next part sooner.
    private static let quiet = Duration.milliseconds(50)

    func change(by difference: Int) {
        let now = SystemClock.monotonic.now
        let ended = state.withLock { state -> [OneShot<Void>] in
            state.count += difference
            guard state.count == 0 else { return [] }
            state.answeredAt = now
            defer { state.waits = [] }
            return state.waits
        }
        for wait in ended { wait.deliver(()) }
    }

    /// Blocks until no reader waits, and none has been answered just before, but not longer than `limit`.
    func waitUntilQuiet(atMost limit: Duration) {
        let end = SystemClock.monotonic.now + limit
        while true {
            let now = SystemClock.monotonic.now
            let wait = OneShot<Void>()
            let rest = state.withLock { state -> Duration in
                if state.count == 0 { return state.answeredAt.map { Self.quiet - (now - $0) } ?? .zero }
                state.waits.append(wait)
                return end - now
            }
            guard rest > .zero, now < end else { return }
            _ = wait.wait(seconds: min(rest, end - now) / .seconds(1))
        }
    }
}
