internal import Logging
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// Reads the chapters inside complete media files, each file once, and stores them with its rendition.
@ServiceActor
final class ChapterReader: ServicePart {
    nonisolated let context: ServiceContext
    private let driver: CoreDriver
    private var isReading = false

    init(_ driver: CoreDriver) {
        context = driver.context
        self.driver = driver
    }

    /// Starts reading the files whose chapters are not known. While that runs, a further call adds the files that have
    /// been completed since.
    func start() {
        if isReading { return }
        isReading = true
        startTask { [self] in await driver.underWay { await readAll() } }
    }

    private func readAll() async {
        defer { isReading = false }
        // A file that cannot be read now is tried again after the next download.
        var tried: Set<String> = []
        do {
            while true {
                let unread = try library.renditionsWithUnreadChapters().filter { tried.insert($0.file).inserted }
                if unread.isEmpty { return }
                for rendition in unread {
                    guard let chapters = await Self.chapters(in: rendition, FilePath(configuration.paths.cache)),
                        try library.record(chapters: chapters, of: rendition, now: now())
                    else { continue }
                    driver.changed(episode: rendition.episode)
                }
            }
        } catch {
            log.error("\(error)")
        }
    }

    /// Returns the chapters in a file, outside the actor; `nil` if the file is not as the library records it.
    @concurrent private static nonisolated func chapters(
        in rendition: Rendition, _ folder: FilePath
    ) async -> [Chapter]? {
        guard let size = rendition.size,
            let reader = try? MediaReader(
                name: rendition.file, in: folder,
                expecting: CacheVerifier.expectation(isComplete: true, size: size, state: rendition.fileState))
        else { return nil }
        return EmbeddedChapters.chapters(
            of: MediaBytes(size: size) { offset, count in
                let bytes = try? [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                    filled = try reader.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
                }
                return bytes ?? []
            })
    }
}
