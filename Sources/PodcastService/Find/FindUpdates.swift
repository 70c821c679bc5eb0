internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol

/// The updates of the search index, after titles, notes or cached transcripts have changed.
///
/// An update runs outside the actor, in short steps with a pause after each, so that it uses half of one processor at
/// most while programs read and the library is written.
@ServiceActor
final class FindUpdates: ServicePart {
    nonisolated let driver: CoreDriver
    private var update: Task<Void, Never>?
    /// Whether something has changed since the running update began.
    private var isOutdated = false
    /// The index, opened at the first update. A damaged or removed one is replaced at the next update.
    private var writer: FindIndexWriter?

    init(_ driver: CoreDriver) { self.driver = driver }

    /// Brings the index up to date.
    func run() {
        isOutdated = true
        guard update == nil else { return }
        update = startTask { [self] in
            await driver.underWay {
                while isOutdated, !Task.isCancelled {
                    isOutdated = false
                    do {
                        writer = try await Self.update(writer, configuration.paths, from: library)
                    } catch {
                        writer = nil
                        log.error("the search index was not updated: \(error)")
                    }
                }
                // In one step with the last look at `isOutdated`.
                update = nil
            }
        }
    }

    /// Ends the update after the current step.
    func stop() async {
        update?.cancel()
        await update?.value
    }

    @concurrent private nonisolated static func update(
        _ opened: FindIndexWriter?, _ paths: InstallationPaths, from library: Library
    ) async throws -> FindIndexWriter {
        let usable = opened.flatMap { $0.isGone ? nil : $0 }
        let index =
            try usable
            ?? FindIndexWriter(path: paths.findIndex, transcripts: TranscriptFiles(folder: paths.assets))
        var update = try index.update(from: library)
        while !Task.isCancelled {
            let start = SystemClock.monotonic.now
            guard try update.perform() else { break }
            await Timers.sleep(for: SystemClock.monotonic.now - start)
        }
        return index
    }
}
