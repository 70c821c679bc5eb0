internal import Glibc
internal import PodcastLibrary
internal import PodcastPages
internal import SystemPackage
internal import TransferCore

/// The raw feed as last fetched, for the owner alone: it may hold what its address keeps secret.
struct FeedXMLFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    /// Changes without a word: a refresh that brings nothing new is one all the same.
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

/// The feed's content as the daemon has stored it, with the show's health before it.
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
    /// Whether the daemon has the show's feed.
    func hasDocument(_ show: ShowID) -> Bool {
        document(of: show, "xml").withPlatformString { Glibc.access($0, F_OK) == 0 }
    }

    fileprivate func document(of show: ShowID, _ fileExtension: String) -> FilePath {
        options.feeds.appending("\(show).\(fileExtension)")
    }
}
