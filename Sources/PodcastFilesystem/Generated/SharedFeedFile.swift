internal import Fuse
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// The feed of a show for other people's podcast clients. It exists if the configuration has the URL under which the
/// mount is shared (`share.base_url`) and the show may be shared.
struct ShowFeedFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    static let name = "feed.xml"

    /// The form of the shared feeds of shows and of views. The kernel caches neither their names nor their attributes,
    /// because a change of a setting may add or remove the files.
    fileprivate static let form: NodeForm = {
        var form = NodeForm.file.cached(for: 0)
        form.pushesSize = false
        return form
    }()

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
        try mount.library.summaries(of: show.id, limits: SharedFeed.limits) { episode in
            moment = max(moment, episode.changed)
            if sharesAll || episode.details?.isBlocked != true {
                feed.add(episode, folder: show.name, isPrivate: show.hasCredentials)
            }
        }
        return Rendering(GeneratedContent(feed.finish()), modified: moment, changed: moment)
    }
}

/// The feed of a view (a folder of links to episodes) for other people's podcast clients. It contains those episodes of
/// the view whose shows may be shared.
struct ViewFeedFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

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
        try mount.library.summaries(of: view.id, limits: SharedFeed.limits) { episodes.append($0) }
        for episode in episodes {
            guard let show = try show(episode.podcast), show.sharesAll || episode.details?.isBlocked != true else {
                continue
            }
            moment = max(moment, episode.changed)
            feed.add(episode, folder: show.folder, show: show.title, isPrivate: show.isPrivate)
        }
        return Rendering(GeneratedContent(feed.finish()), modified: moment, changed: moment)
    }
}
