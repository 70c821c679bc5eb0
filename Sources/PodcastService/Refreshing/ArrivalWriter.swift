internal import Dispatch
internal import PodcastLibrary
internal import Synchronization

/// The writer of new shows to the library. Shows that arrive during a transaction share the next one, because each
/// transaction rewrites the same index pages.
///
/// Writes on a queue of its own, so that no actor waits: inserting the rows of a large feed takes a second.
///
/// Thread-safe.
final class ArrivalWriter: Sendable {
    private struct State {
        /// Shows that are not yet in a transaction, oldest first.
        var waiting: [(show: ArrivingShow, continuation: CheckedContinuation<MergeResult, any Error>)] = []
        var isWriting = false
        /// The callers of `waitForRoom`.
        var blocked: [CheckedContinuation<Void, Never>] = []

        /// Whether fewer episodes are waiting than a transaction takes.
        var hasRoom: Bool { waiting.reduce(0) { $0 + $1.show.episodes } < ArrivalWriter.batch }
    }

    private let library: Library
    private let template: NameTemplate
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "podfs.arrivals")

    /// Maximum number of episodes per transaction. The first show of a transaction may exceed it alone. The limit keeps
    /// a small show from waiting for several large ones.
    private static let batch = 4_000

    /// - Parameter template: the template for episode names.
    init(library: Library, template: NameTemplate) {
        self.library = library
        self.template = template
    }

    /// Waits until fewer episodes are waiting than a transaction takes, so that fetching does not get far ahead of
    /// writing: feeds that wait are in memory.
    func waitForRoom() async {
        await withCheckedContinuation { continuation in
            let hasRoom = state.withLock { state in
                if state.hasRoom { return true }
                state.blocked.append(continuation)
                return false
            }
            if hasRoom { continuation.resume() }
        }
    }

    /// Subscribes to a show, and returns when it is in the library.
    ///
    /// - Throws: the errors of `Library.subscribe`.
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
        // With fewer cached pages, writing only takes longer.
        try? library.cacheManyPages(true)
        defer { try? library.cacheManyPages(false) }
        while true {
            let (batch, blocked) = state.withLock { state in
                var count = 0
                var episodes = 0
                for arrival in state.waiting {
                    episodes += arrival.show.episodes
                    if count > 0, episodes > Self.batch { break }
                    count += 1
                }
                let batch = Array(state.waiting.prefix(count))
                state.waiting.removeFirst(count)
                state.isWriting = count > 0
                let blocked = state.hasRoom ? state.blocked : []
                state.blocked.removeFirst(blocked.count)
                return (batch, blocked)
            }
            for continuation in blocked { continuation.resume() }
            if batch.isEmpty { return }
            for (arrival, result) in zip(batch, write(batch.map(\.show))) { arrival.continuation.resume(with: result) }
        }
    }

    private func write(_ shows: [ArrivingShow]) -> [Result<MergeResult, any Error>] {
        do {
            return try library.subscribe(shows, template: template)
        } catch  where shows.count > 1 {
            // Retry one by one: a single faulty show must not fail the others.
            return shows.flatMap { show in write([show]) }
        } catch {
            return [.failure(error)]
        }
    }
}
