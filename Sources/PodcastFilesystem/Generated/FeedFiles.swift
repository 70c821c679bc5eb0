internal import Fuse
internal import Glibc
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// The raw feed as last fetched. Readable only by the owner, because a feed with a secret in its URL may contain that
/// URL.
struct FeedXMLFile: GeneratedFile {
    let place: NodePlace

    /// The `NodeForm` of this file and of `FeedJSONFile`. The kernel must not cache the attributes: a refresh changes
    /// the file's times even if the feed is unchanged, and the daemon then sends no event.
    fileprivate static let form = NodeForm(kind: .regular, permissions: 0o400, attributeTimeout: 0, pushesSize: false)

    var form: NodeForm { Self.form }

    func render() throws -> Rendering? {
        guard let show = try mount.library.podcast(id: node.show),
            let content = GeneratedContent.file(mount.storedFeed(of: node.show, "xml"))
        else { return nil }
        let moment = show.lastRefresh ?? show.changed
        return Rendering(content: content, modified: moment, changed: moment)
    }
}

/// The refresh state of the show's feed, followed by the parsed feed as stored by the daemon, in one JSON object.
/// Without a stored feed, the refresh state only.
struct FeedJSONFile: GeneratedFile {
    let place: NodePlace

    var form: NodeForm { FeedXMLFile.form }

    func render() throws -> Rendering? {
        guard let show = try mount.library.podcast(id: node.show) else { return nil }
        let content = GeneratedContent.file(
            mount.storedFeed(of: node.show, "json"), head: FeedHealth.openingBytes(of: show),
            skipping: Int64(FeedHealth.documentOpening.count))
        let moment = max(show.changed, show.lastRefresh ?? 0)
        return Rendering(
            content: content ?? GeneratedContent(FeedHealth.bytes(of: show)), modified: moment, changed: moment)
    }
}

extension PodcastFilesystem {
    /// Whether the daemon has stored the show's feed.
    func hasStoredFeed(_ show: ShowID) -> Bool {
        storedFeed(of: show, "xml").withPlatformString { Glibc.access($0, F_OK) == 0 }
    }

    /// Returns the path of a show's feed as stored by the daemon: `xml` for the raw feed, `json` for the parsed one.
    fileprivate func storedFeed(of show: ShowID, _ fileExtension: String) -> FilePath {
        options.feeds.appending("\(show).\(fileExtension)")
    }
}

/// The feed of a show for other people's podcast clients. It exists if the configuration has the URL under which the
/// mount is shared (`share.base_url`) and the show may be shared.
struct ShowFeedFile: GeneratedFile {
    let place: NodePlace

    static let name = "feed.xml"

    /// The form of the shared feeds of shows and of views. The kernel caches neither their names nor their attributes,
    /// because a change of a setting may add or remove the files.
    fileprivate static let form = NodeForm(
        kind: .regular, permissions: 0o444, attributeTimeout: 0, entryTimeout: 0, pushesSize: false)

    var form: NodeForm { Self.form }

    /// Whether a show has the file.
    static func exists(for show: ShowID, _ mount: PodcastFilesystem) throws -> Bool {
        guard mount.options.shareBase != nil, let show = try mount.library.podcast(id: show) else { return false }
        return try mount.library.isShared(show)
    }

    func render() throws -> Rendering? {
        guard let base = mount.options.shareBase, let show = try mount.library.podcast(id: node.show),
            try mount.library.isShared(show)
        else { return nil }
        let sharesAll = try mount.library.sharesAll(of: show.id)
        var feed = SharedFeed(show, base: base)
        var moment = show.changed
        try mount.library.summaries(of: show.id, limits: .feed) { episode in
            moment = max(moment, episode.changed)
            if sharesAll || episode.details?.isBlocked != true {
                feed.add(episode, folder: show.name, isPrivate: show.hasCredentials)
            }
        }
        return Rendering(content: GeneratedContent(feed.finish()), modified: moment, changed: moment)
    }
}

/// The feed of a view (a folder of links to episodes) for other people's podcast clients. It contains those episodes of
/// the view whose shows may be shared.
struct ViewFeedFile: GeneratedFile {
    let place: NodePlace

    var form: NodeForm { ShowFeedFile.form }

    /// A show with episodes in the view.
    private struct Show {
        var folder: String
        var title: String
        var sharesAll: Bool
        var isPrivate: Bool
    }

    func render() throws -> Rendering? {
        guard let base = mount.options.shareBase, let view = try mount.library.viewFolder(id: node.view) else {
            return nil
        }
        var moment = view.changed > 0 ? view.changed : mount.started
        var shows: [ShowID: Show?] = [:]
        func show(_ id: ShowID) throws -> Show? {
            if let known = shows[id] { return known }
            let found = try mount.library.podcast(id: id).flatMap { show -> Show? in
                // The feed contains the show's folder and title. The change of a show that is not shared counts too,
                // because the change may be that it is no longer shared.
                moment = max(moment, show.changed)
                return try mount.library.isShared(show)
                    ? Show(
                        folder: show.name, title: show.title, sharesAll: try mount.library.sharesAll(of: id),
                        isPrivate: show.hasCredentials) : nil
            }
            shows.updateValue(found, forKey: id)
            return found
        }
        var feed = SharedFeed(view: view.name, base: base)
        // Collected first, since the shows cannot be queried inside the query of the episodes.
        var episodes: [EpisodeSummary] = []
        try mount.library.summaries(of: view.id, limits: .feed) { episodes.append($0) }
        for episode in episodes {
            guard let show = try show(episode.podcast), show.sharesAll || episode.details?.isBlocked != true else {
                continue
            }
            moment = max(moment, episode.changed)
            feed.add(episode, folder: show.folder, show: show.title, isPrivate: show.isPrivate)
        }
        return Rendering(content: GeneratedContent(feed.finish()), modified: moment, changed: moment)
    }
}
