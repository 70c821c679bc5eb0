internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage

/// The web page of a show: `index.html` in its folder.
struct PageFile: FilledFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    static func size(of show: ShowTotals) -> Int { ShowPage.size(of: show) }

    static func modified(of show: ShowTotals) -> Int64 { show.changed }

    func bytes(_ totals: ShowTotals) throws -> [UInt8]? {
        guard let show = try mount.library.podcast(id: node.show), let folder = try mount.library.folder(id: node.show)
        else { return nil }
        var page = ShowPage(
            show, newest: folder.newest, details: try mount.library.details(ofShow: node.show),
            notice: try TroubleNotice(of: show, in: mount.library), totals: totals,
            views: try mount.library.viewFolders().map(\.name))
        let cached = mount.cachedAssets()
        var chapters = SummaryLimits.page.chaptersInAll
        try mount.library.summaries(of: node.show, limits: .page) { episode in
            var episode = episode
            let name = AssetKind.chapters.fileName(episode.id.rawValue)
            let limit = max(0, min(SummaryLimits.page.chapters, chapters))
            if episode.sidecars.contains(.chapters), cached.contains(name) {
                let fetched = mount.fetchedChapters(name, limit: limit)
                if !fetched.isEmpty { episode.chapters = fetched }
            }
            episode.chapters = episode.chapters.playable(until: episode.duration)
            chapters -= episode.chapters.count
            page.add(episode)
        }
        return page.finish()
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
        return ChapterList.chapters(of: (try? content.bytes) ?? [], limit: limit)
    }
}
