internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage
internal import TransferCore

// The pages for a browser: all shows in the root, each show in its folder.
extension PodcastFilesystem {
    func renderShelf() throws -> [UInt8] {
        var newest: [ShowID: Int64] = [:]
        for folder in try library.folders() { newest[folder.id] = folder.newest }
        return ShelfPage(try library.podcasts(), newest: newest).bytes
    }

    /// `nil` when there is no such show (any more).
    func madePage(of podcast: ShowID) throws -> Made? {
        guard let show = try library.podcast(id: podcast), let folder = try library.folder(id: podcast) else {
            return nil
        }
        var page = ShowPage(show, newest: folder.newest)
        // The page has the time of the last change of anything on it: a program that copies what is new goes by that.
        var moment = show.changed
        let cached = cachedAssets()
        var chapters = ShowPage.limits.chaptersInAll
        try library.summaries(of: podcast, limits: ShowPage.limits) { episode in
            var episode = episode
            moment = max(moment, episode.changed)
            let name = AssetKind.chapters.fileName(episode.id.rawValue)
            if episode.chapters.isEmpty, episode.sidecars.contains(.chapters), cached.contains(name) {
                episode.chapters = fetchedChapters(name, limit: min(ShowPage.limits.chapters, chapters))
                chapters -= episode.chapters.count
            }
            page.add(episode)
        }
        return Made(content: MadeContent(page.finish()), modified: moment, changed: moment)
    }

    /// Chapters longer than this are not looked at for a page: 200 with a picture's address each are some 30 KiB.
    private static let chaptersLimit: Int64 = 256 << 10

    /// Those of a file that was fetched for somebody who opened it.
    private func fetchedChapters(_ name: String, limit: Int) -> [Chapter] {
        guard let content = MadeContent.file(options.assets.appending(name)), content.size <= Self.chaptersLimit else {
            return []
        }
        let bytes = try? [UInt8](unsafeUninitializedCapacity: Int(content.size)) { buffer, count in
            count = try content.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
        return ChapterList.chapters(of: bytes ?? [], limit: limit)
    }
}
