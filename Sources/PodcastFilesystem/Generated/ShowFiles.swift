internal import Fuse
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage

/// A file generated from all episodes of a show. Its size follows from the show's totals, and empty lines at its end
/// fill it to that size. So neither stat(2) nor the listing of the folder renders it.
protocol FilledFile: GeneratedFile {
    static func size(of show: ShowTotals) -> Int

    /// Returns the mtime.
    static func modified(of show: ShowTotals) -> Int64

    /// Renders the content, which should not exceed `size(of: totals)`; `nil` if the show does not exist.
    func bytes(_ totals: ShowTotals) throws -> [UInt8]?
}

extension FilledFile {
    func facts(open: OpenFile?) throws -> NodeFacts? {
        guard var facts = try mount.library.totals(of: node.show).map(facts) else { return nil }
        if let size = open?.content?.size { facts.size = size }
        return facts
    }

    func facts(_ totals: ShowTotals) -> NodeFacts {
        NodeFacts(
            node, size: Int64(Self.size(of: totals)), modified: Self.modified(of: totals), changed: totals.changed)
    }

    func render() throws -> Rendering? {
        guard let totals = try mount.library.totals(of: node.show), let bytes = try bytes(totals) else { return nil }
        return Rendering(
            content: GeneratedContent(bytes, filledTo: Self.size(of: totals)), modified: Self.modified(of: totals),
            changed: totals.changed)
    }
}

/// The episodes of a show as a playlist.
struct PlaylistFile: FilledFile {
    let place: NodePlace

    static func size(of show: ShowTotals) -> Int { Playlist.size(tracks: show.episodes, text: show.bytes) }

    /// A download or progress in an episode does not change the list.
    static func modified(of show: ShowTotals) -> Int64 { show.newest }

    func bytes(_ totals: ShowTotals) throws -> [UInt8]? {
        guard let show = try mount.library.podcast(id: node.show) else { return nil }
        return Playlist.bytes(
            title: show.title, tracks: try mount.library.tracks(of: show.id), isSerial: show.type == "serial")
    }
}

/// The web page of a show: `index.html` in its folder.
struct PageFile: FilledFile {
    let place: NodePlace

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
