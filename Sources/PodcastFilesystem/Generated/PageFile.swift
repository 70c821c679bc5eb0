internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// The web page of a show: `index.html` in its folder.
struct PageFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    func render() throws -> Rendering? {
        guard let show = try mount.library.podcast(id: node.show), let folder = try mount.library.folder(id: node.show)
        else { return nil }
        var page = ShowPage(
            show, newest: folder.newest, details: try mount.library.details(ofShow: node.show))
        // The page's mtime is the time of the last change of the show, an episode or an alternate on it, for programs
        // that copy changed files.
        var moment = show.changed
        let cached = mount.cachedAssets()
        var chapters = ShowPage.limits.chaptersInAll
        try mount.library.summaries(of: node.show, limits: ShowPage.limits) { episode in
            var episode = episode
            moment = max(moment, episode.changed, episode.alternates.lazy.map(\.changed).max() ?? 0)
            let name = AssetKind.chapters.fileName(episode.id.rawValue)
            let limit = max(0, min(ShowPage.limits.chapters, chapters))
            if episode.sidecars.contains(.chapters), cached.contains(name) {
                let fetched = mount.fetchedChapters(name, limit: limit)
                if !fetched.isEmpty { episode.chapters = fetched }
            }
            if episode.chapters.isEmpty, episode.complete, limit > 0, !episode.sidecars.contains(.chapters) {
                episode.chapters = Array(try mount.embeddedChapters(of: episode.id).prefix(limit))
            }
            episode.chapters = episode.chapters.playable(until: episode.duration)
            chapters -= episode.chapters.count
            page.add(episode)
        }
        return Rendering(GeneratedContent(page.finish()), modified: moment, changed: moment)
    }

}

extension PodcastFilesystem {
    /// The maximum size in bytes of a chapter file that is read: 200 chapters with image addresses take about 30 KiB.
    private static let chaptersLimit: Int64 = 256 << 10

    /// Returns the chapters in a file of the assets folder; empty if the file is too large, or missing because no
    /// program has opened the episode's chapters yet.
    func fetchedChapters(_ name: String, limit: Int) -> [Chapter] {
        guard let content = GeneratedContent.file(options.assets.appending(name)),
            content.size <= Self.chaptersLimit
        else { return [] }
        let bytes = try? [UInt8](unsafeUninitializedCapacity: Int(content.size)) { buffer, count in
            count = try content.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
        return ChapterList.chapters(of: bytes ?? [], limit: limit)
    }
}
