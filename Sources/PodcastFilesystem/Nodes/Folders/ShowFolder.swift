internal import Fuse
internal import Platform
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// A subscribed show: its episodes, and the files generated or fetched for them.
struct ShowFolder: NodeBehaviour {
    let place: NodePlace

    /// The files that every show has, and the raw feed, which exists if the daemon has stored it.
    ///
    /// The raw feed has the extension `.txt`, because it is unmodified, and browsers run scripts in XML
    /// (XHTML's `script`, XSLT style sheets). Chromium treats `.xml`, `.rss` and `.atom` from `file:` as XML, and web
    /// servers serve `.xml` as XML; all of them display `.txt` as text.
    private static let files: [(kind: NodeNumber.Kind, name: String)] = [
        (.playlist, "playlist.m3u8"), (.page, "index.html"), (.feedJSON, ".feed.json"), (.feedXML, ".feed.xml.txt"),
    ]

    static func facts(of show: FolderEntry) -> NodeFacts {
        NodeFacts(folder: NodeNumber(kind: .show, row: show.id), of: show)
    }

    var form: NodeForm { .folder }

    func facts(open: OpenFile?) throws -> NodeFacts? { try mount.library.folder(id: node.show).map(Self.facts) }

    func find(_ name: String) throws -> Entry? {
        if let (kind, _) = Self.files.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
            return try mount.entry(of: NodeNumber(kind: kind, row: node.show))
        }
        if let sidecar = Sidecar.all.first(where: { $0.folderName?.utf8.elementsEqual(name.utf8) ?? false }) {
            if sidecar.isOptional, try mount.library.entries(of: node.show, with: sidecar.offered).isEmpty {
                return nil
            }
            return try mount.entry(of: NodeNumber(kind: sidecar.folder, row: node.show))
        }
        if let episode = try mount.findEpisode(name, of: node.show) { return episode }
        if name == ShowFeedFile.name { return try mount.entry(of: NodeNumber(kind: .showFeed, row: node.show)) }
        if name == FolderIconFile.name { return try mount.entry(of: NodeNumber(kind: .folderIcon, row: node.show)) }
        if let cover = try mount.cover(named: name, of: node.show) { return cover }
        if let asset = try mount.asset(name, of: node.show), let found = try mount.entry(of: asset) { return found }
        // The name may be an episode's name as the playlist encodes it for VLC. Invalidations are sent only for the
        // plain name, so the kernel must not cache the encoded name.
        guard let plain = Playlist.fileName(ofEncodedForVLC: name) else { return nil }
        return try mount.findEpisode(plain, of: node.show, entryTimeout: 0)
    }

    func items() throws -> [FolderSnapshot.Item]? {
        guard let show = try mount.library.folder(id: node.show) else { return nil }
        let entries = try mount.library.entries(of: show.id)
        let episodes = entries.map { FolderSnapshot.Item(name: $0.name, facts: mount.facts(of: $0)) }
        let totals = try mount.library.totals(of: show.id)
        let files = Self.files.compactMap { kind, name -> FolderSnapshot.Item? in
            let number = NodeNumber(kind: kind, row: show.id)
            if let totals, let file = mount.behaviour(of: number) as? any FilledFile {
                return FolderSnapshot.Item(name: name, facts: file.facts(totals))
            }
            // `hasStoredFeed` checks whether the daemon has stored the raw feed, without opening the file.
            if kind == .feedXML, !mount.hasStoredFeed(node.show) { return nil }
            return FolderSnapshot.Item(name: name, bare: number)
        }
        let folders = Sidecar.all.compactMap { sidecar in
            if sidecar.isOptional, !entries.contains(where: sidecar.isOffered) { return FolderSnapshot.Item?.none }
            return sidecar.folderName.map {
                FolderSnapshot.Item(
                    name: $0, facts: NodeFacts(folder: NodeNumber(kind: sidecar.folder, row: show.id), of: show))
            }
        }
        return files + folders + episodes + (try sharedFeed(besides: entries))
            + (try mount.assetItems(of: node.show, entries))
    }

    /// Returns the item of the shared feed (a feed for other people's podcast clients); none if the show has no shared
    /// feed, or if an episode has its name.
    private func sharedFeed(besides entries: [EpisodeEntry]) throws -> [FolderSnapshot.Item] {
        guard try ShowFeedFile.exists(for: node.show, mount),
            !entries.contains(where: { $0.name == ShowFeedFile.name })
        else { return [] }
        return [FolderSnapshot.Item(name: ShowFeedFile.name, bare: NodeNumber(kind: .showFeed, row: node.show))]
    }

    var isListingCacheable: Bool { true }

    func extendedAttributes() throws -> [(String, String)] {
        guard let podcast = try mount.library.podcast(id: node.show) else { throw Errno.staleNFSFileHandle }
        var values = AttributeList()
        values.add("user.podfs.feed.state", podcast.state)
        values.add("user.podfs.feed.error", podcast.error.map(PlainText.oneLine))
        values.add("user.podfs.feed.http_status", podcast.httpStatus)
        values.add("user.podfs.feed.last_refresh", podcast.lastRefresh.map(TimeText.iso8601))
        values.add("user.podfs.feed.next_refresh", podcast.nextRefresh.map(TimeText.iso8601))
        values.add("user.podfs.feed.episodes", podcast.episodes)
        values.add("user.podfs.feed.cached", podcast.cached)
        if let count = podcast.unplayable, count > 0 { values.add("user.podfs.feed.unplayable", count) }
        values.add("user.podfs.feed.guid", podcast.guid)
        values.add("user.xdg.origin.url", podcast.visibleURL)
        values.add("user.dublincore.title", podcast.title)
        values.add("user.dublincore.creator", podcast.author)
        values.add("user.dublincore.description", podcast.description)
        values.add("user.dublincore.identifier", podcast.guid)
        values.add("user.dublincore.language", podcast.language)
        return values.items
    }

    func command(setting attribute: ControlAttribute, to value: String) throws -> Command? {
        guard attribute == .task else { return nil }
        if value == "refresh" { return .refresh(podcasts: [node.show]) }
        return try ControlAttribute.action(value).map {
            .act($0, episodes: try mount.library.episodes(of: node.show, for: $0))
        }
    }
}
