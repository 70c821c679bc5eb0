internal import PodcastLibrary

/// The writer of new shows to the library. Shows that arrive during a transaction share the next one, because each
/// transaction rewrites the same index pages.
@ServiceActor
final class ArrivalWriter {
    private nonisolated let library: Library
    private nonisolated let template: NameTemplate
    /// Shows that are not yet in a transaction, oldest first.
    private var waiting: [(show: ArrivingShow, continuation: CheckedContinuation<MergeResult, any Error>)] = []
    private var isWriting = false
    /// The callers of `waitForRoom`.
    private var blocked: [CheckedContinuation<Void, Never>] = []

    /// Maximum number of episodes per transaction. The first show of a transaction may exceed it alone. The limit keeps
    /// a small show from waiting for several large ones.
    private static let batch = 4_000

    /// - Parameter template: the template for episode names.
    nonisolated init(library: Library, template: NameTemplate) {
        self.library = library
        self.template = template
    }

    /// Whether fewer episodes are waiting than a transaction takes.
    private var hasRoom: Bool { waiting.reduce(0) { $0 + $1.show.episodes } < Self.batch }

    /// Waits until fewer episodes are waiting than a transaction takes, so that fetching does not get far ahead of
    /// writing: feeds that wait are in memory.
    func waitForRoom() async {
        if !hasRoom { await withCheckedContinuation { blocked.append($0) } }
    }

    /// Subscribes to a show, and returns when it is in the library.
    ///
    /// - Throws: the errors of `Library.subscribe`.
    func store(_ show: ArrivingShow) async throws -> MergeResult {
        try await withCheckedThrowingContinuation { continuation in
            waiting.append((show, continuation))
            if isWriting { return }
            isWriting = true
            startTask { await self.writeAll() }
        }
    }

    private func writeAll() async {
        // With fewer cached pages, writing only takes longer.
        try? library.cacheManyPages(true)
        while let first = waiting.first {
            var episodes = first.show.episodes
            let further = waiting.dropFirst().prefix { arrival in
                episodes += arrival.show.episodes
                return episodes <= Self.batch
            }
            let batch = [first] + further
            waiting.removeFirst(batch.count)
            if hasRoom {
                for continuation in blocked { continuation.resume() }
                blocked = []
            }
            let results = await write(batch.map(\.show))
            for (arrival, result) in zip(batch, results) { arrival.continuation.resume(with: result) }
        }
        isWriting = false
        try? library.cacheManyPages(false)
    }

    /// Writes outside the actor: inserting the rows of a large feed takes a second.
    @concurrent private nonisolated func write(_ shows: [ArrivingShow]) async -> [Result<MergeResult, any Error>] {
        do {
            return try library.subscribe(shows, template: template)
        } catch {
            if shows.count == 1 { return [.failure(error)] }
            // Retry one by one: a single faulty show must not fail the others.
            var results: [Result<MergeResult, any Error>] = []
            for show in shows { results += await write([show]) }
            return results
        }
    }
}
