internal import Glibc
internal import PodcastLibrary
internal import PodcastPages
internal import SystemPackage
internal import TransferCore

/// The raw feed as last fetched, readable only by the owner: it may contain what is secret in its address.
struct FeedXMLFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    /// Not cached by the kernel: a refresh changes the file's time without an event, even if the feed is unchanged.
    fileprivate static let form: NodeForm = {
        var form = NodeForm.file
        (form.permissions, form.attributeTimeout, form.pushesSize) = (0o400, 0, false)
        return form
    }()

    var form: NodeForm { Self.form }

    func render() throws -> Rendering? {
        guard let show = try mount.library.podcast(id: node.show),
            let content = GeneratedContent.file(mount.document(of: node.show, "xml"))
        else { return nil }
        let moment = show.lastRefresh ?? show.changed
        return Rendering(content, modified: moment, changed: moment)
    }
}

/// The parsed feed as stored by the daemon, preceded by the state of the show's refreshes.
struct FeedJSONFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { FeedXMLFile.form }

    func render() throws -> Rendering? {
        guard let show = try mount.library.podcast(id: node.show) else { return nil }
        let health = FeedHealth(show)
        let content = GeneratedContent.file(
            mount.document(of: node.show, "json"), head: health.openingBytes,
            skipping: Int64(FeedHealth.documentOpening.count))
        let moment = max(show.changed, show.lastRefresh ?? 0)
        return Rendering(content ?? GeneratedContent(health.bytes), modified: moment, changed: moment)
    }
}

extension PodcastFilesystem {
    /// Whether the daemon has stored the show's feed.
    func hasDocument(_ show: ShowID) -> Bool {
        document(of: show, "xml").withPlatformString { Glibc.access($0, F_OK) == 0 }
    }

    fileprivate func document(of show: ShowID, _ fileExtension: String) -> FilePath {
        options.feeds.appending("\(show).\(fileExtension)")
    }
}
