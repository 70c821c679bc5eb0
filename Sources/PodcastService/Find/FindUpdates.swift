internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

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
    private let writer: Writer

    init(_ driver: CoreDriver) {
        self.driver = driver
        let paths = driver.context.configuration.paths
        writer = Writer(path: paths.findIndex, transcripts: TranscriptFiles(folder: paths.assets))
    }

    /// Brings the index up to date.
    func run() {
        isOutdated = true
        guard update == nil else { return }
        update = startTask { [self] in
            await driver.underWay {
                while isOutdated, !Task.isCancelled {
                    isOutdated = false
                    do {
                        try await writer.update(from: library)
                    } catch {
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

    /// The index, opened at the first update. A damaged or removed one is replaced at the next update.
    private final class Writer: Sendable {
        private let path: String
        private let transcripts: TranscriptFiles
        private let opened = Mutex<FindIndexWriter?>(nil)

        init(path: String, transcripts: TranscriptFiles) {
            self.path = path
            self.transcripts = transcripts
        }

        @concurrent func update(from library: Library) async throws {
            do {
                var update = try open().update(from: library)
                while !Task.isCancelled {
                    let start = SystemClock.monotonic.now
                    guard try update.perform() else { return }
                    await Timers.sleep(for: SystemClock.monotonic.now - start)
                }
            } catch {
                opened.withLock { $0 = nil }
                throw error
            }
        }

        private func open() throws -> FindIndexWriter {
            try opened.withLock { opened in
                if let opened, !opened.isGone { return opened }
                let writer = try FindIndexWriter(path: path, transcripts: transcripts)
                opened = writer
                return writer
            }
        }
    }
}
