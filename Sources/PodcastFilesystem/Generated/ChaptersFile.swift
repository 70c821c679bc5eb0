internal import Fuse
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage

/// An episode's chapters, from the first source that has any: the file to which the feed refers (`podcast:chapters`),
/// the feed itself, times in the notes, or the media file, in which the daemon looks for them once it is completely
/// cached.
struct ChaptersFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { Sidecar.form }

    func render() throws -> Rendering? {
        guard let episode = try mount.library.episode(id: node.episode) else { return nil }
        let extras = try mount.library.extras(of: episode.id)
        if extras.chaptersURL != nil {
            let asset = mount.rendering(.chapters, node.row, modified: episode.modified, changed: episode.changed)
            if asset.content.size > 0 || extras.chapters.isEmpty { return asset }
        }
        return content(episode, extras).map {
            Rendering(content: $0, modified: episode.modified, changed: episode.changed)
        }
    }

    func opening(by caller: Caller, flags: Int32) throws -> Opening {
        if try mount.library.extras(of: node.episode).chaptersURL != nil {
            return try mount.openingOfAsset(.chapters, .direct, by: caller)
        }
        guard let rendering = try render() else { throw Errno.staleNFSFileHandle }
        return .open(OpenFile(number: node, content: rendering.content), .direct)
    }

    /// Returns the chapters from the sources other than the file to which the feed refers, for the case that this file
    /// cannot be fetched; `nil` if these sources have no chapters.
    func contentWithoutServer() throws -> GeneratedContent? {
        guard let episode = try mount.library.episode(id: node.episode) else { return nil }
        return content(episode, try mount.library.extras(of: episode.id))
    }

    func extendedAttributes() throws -> [(String, String)] { mount.assetFailures.attributes(of: node) }

    private func content(_ episode: Episode, _ extras: EpisodeExtras) -> GeneratedContent? {
        guard !extras.chapters.isEmpty else { return nil }
        let list = ChapterList(extras.chapters, title: episode.title, duration: episode.duration)
        return GeneratedContent(list.bytes)
    }
}
