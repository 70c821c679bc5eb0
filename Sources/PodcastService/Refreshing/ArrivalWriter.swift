internal import Dispatch
internal import PodcastLibrary
internal import Synchronization

/// Writes new shows to the library: those that arrive while others are being written go into the next transaction, all of
/// them together, as each transaction writes the same pages of the indices again.
///
/// Away from the actor: the rows of a large feed take a second, and others must not wait for it. Thread-safe.
final class ArrivalWriter: Sendable {
    private struct State {
        var waiting: [(show: ArrivingShow, continuation: CheckedContinuation<MergeResult, any Error>)] = []
        var isWriting = false
    }

    private let library: Library
    private let template: NameTemplate
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "podfs.arrivals")

    /// Episodes in one transaction; more than the first show has, so that no small one waits for several large ones.
    private static let batch = 2_000

    /// - Parameter template: of the names of episodes.
    init(library: Library, template: NameTemplate) {
        self.library = library
        self.template = template
    }

    /// Subscribes to a show. Returns when it is in the library.
    ///
    /// - Throws: what `Library.subscribe` throws.
    func store(_ show: ArrivingShow) async throws -> MergeResult {
        try await withCheckedThrowingContinuation { continuation in
            let isFirst = state.withLock { state in
                state.waiting.append((show, continuation))
                defer { state.isWriting = true }
                return !state.isWriting
            }
            if isFirst { queue.async { self.writeAll() } }
        }
    }

    private func writeAll() {
        while true {
            let batch = state.withLock { state in
                var count = 0
                var episodes = 0
                for arrival in state.waiting {
                    episodes += arrival.show.episodes
                    if count > 0, episodes > Self.batch { break }
                    count += 1
                }
                defer { state.waiting.removeFirst(count) }
                state.isWriting = count > 0
                return Array(state.waiting.prefix(count))
            }
            if batch.isEmpty { return }
            for (arrival, result) in zip(batch, write(batch.map(\.show))) { arrival.continuation.resume(with: result) }
        }
    }

    private func write(_ shows: [ArrivingShow]) -> [Result<MergeResult, any Error>] {
        do {
            return try library.subscribe(shows, template: template)
        } catch  where shows.count > 1 {
            // One of them may be to blame; the others are none the worse for it.
            return shows.flatMap { show in write([show]) }
        } catch {
            return [.failure(error)]
        }
    }
}
