internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// Reads the chapters inside complete media files, each file once, and stores them with its rendition.
@ServiceActor
final class ChapterReader: ServicePart {
    nonisolated let driver: CoreDriver
    private let archive: Archive
    private var isReading = false
    /// Called when the chapters of all complete files have been read.
    var finished: () -> Void = {}

    init(_ driver: CoreDriver, _ archive: Archive) {
        self.driver = driver
        self.archive = archive
    }

    /// Starts reading the files whose chapters are not known. While that runs, a further call adds the files that have
    /// been completed since.
    func start() {
        if isReading { return }
        isReading = true
        driver.startWork { [self] in try await readAll() }
    }

    private func readAll() async throws {
        defer { isReading = false }
        // A file that cannot be read now is tried again after the next download.
        var tried: Set<String> = []
        while true {
            let unread = try library.renditionsWithUnreadChapters().filter { tried.insert($0.file).inserted }
            if unread.isEmpty { return finished() }
            for rendition in unread {
                guard let chapters = await chapters(in: rendition),
                    try library.record(chapters: chapters, of: rendition, now: now())
                else { continue }
                driver.changed(episode: rendition.episode)
            }
        }
    }

    private func chapters(in rendition: Rendition) async -> [Chapter]? {
        guard let size = rendition.size else { return nil }
        let state = rendition.fileState.flatMap(FileState.init(text:))
        let cache = FilePath(configuration.paths.cache)
        guard let path = rendition.archived else {
            return await Self.chapters(in: size) {
                // A person may evict the episode meanwhile: no program has it open.
                try MediaReader(
                    name: rendition.file, in: cache, expecting: .recorded(state, size: size), takesLease: false)
            }
        }
        guard let folder = configuration.archiveFolder else { return nil }
        return try? await archive.queue.run { [queue = archive.queue] in
            let reader = try MediaReader(
                archived: FilePath(folder).appending(path), expecting: .archived(state, size: size), on: queue)
            return Self.chapters(of: reader, size) { queue.beat() }
        }
    }

    /// Returns the chapters in a cache file, outside the actor; `nil` if the file is not as the library records it.
    @concurrent private static nonisolated func chapters(
        in size: Int64, _ open: @Sendable () throws -> MediaReader
    ) async -> [Chapter]? {
        (try? open()).map { chapters(of: $0, size) }
    }

    private static nonisolated func chapters(
        of reader: MediaReader, _ size: Int64, beat: @escaping () -> Void = {}
    ) -> [Chapter] {
        EmbeddedChapters.chapters(
            of: MediaBytes(size: size) { offset, count in
                beat()
                let bytes = try? [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                    filled = try reader.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
                }
                return bytes ?? []
            })
    }
}
