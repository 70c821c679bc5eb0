internal import Glibc
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// The raw feed as last fetched. Readable only by the owner, because a feed with a secret in its URL may contain that
/// URL.
struct FeedXMLFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    /// The `NodeForm` of this file and of `FeedJSONFile`. The kernel must not cache the attributes: a refresh changes
    /// the file's times even if the feed is unchanged, and the daemon then sends no event.
    fileprivate static let form: NodeForm = {
        var form = NodeForm.file
        (form.permissions, form.attributeTimeout, form.pushesSize) = (0o400, 0, false)
        return form
    }()

    var form: NodeForm { Self.form }

    func render() throws -> Rendering? {
        guard let show = try mount.library.podcast(id: node.show),
            let content = GeneratedContent.file(mount.storedFeed(of: node.show, "xml"))
        else { return nil }
        let moment = show.lastRefresh ?? show.changed
        return Rendering(content, modified: moment, changed: moment)
    }
}

/// The refresh state of the show's feed, followed by the parsed feed as stored by the daemon, in one JSON object.
/// Without a stored feed, the refresh state only.
struct FeedJSONFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { FeedXMLFile.form }

    func render() throws -> Rendering? {
        guard let show = try mount.library.podcast(id: node.show) else { return nil }
        let health = FeedHealth(show)
        let content = GeneratedContent.file(
            mount.storedFeed(of: node.show, "json"), head: health.openingBytes,
            skipping: Int64(FeedHealth.documentOpening.count))
        let moment = max(show.changed, show.lastRefresh ?? 0)
        return Rendering(content ?? GeneratedContent(health.bytes), modified: moment, changed: moment)
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
