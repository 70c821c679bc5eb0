internal import PodcastProtocol
internal import Synchronization
internal import Transfers

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
        var episodes: Set<EpisodeID> = []
        for client in clients.withLock({ Array($0.values) }) {
            client.state.withLock { state in
                episodes.formUnion(state.opens.values)
                episodes.formUnion(state.waits.values.map(\.episode))
            }
        }
        return episodes
    }
}
