internal import ContentCache
internal import Fuse
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage
internal import TransferCore

/// An episode's chapters, from the first source that has any: the file to which the feed refers (`podcast:chapters`),
/// the feed itself, times in the notes, or the media file once it is completely cached.
struct ChaptersFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { Sidecar.form }

    func render() throws -> Rendering? {
        guard let episode = try mount.library.episode(id: node.episode) else { return nil }
        let extras = try mount.library.extras(of: episode.id)
        if extras.chaptersURL != nil {
            let asset = mount.rendering(
                .chapters, node.row, modified: episode.modified, changed: episode.changed)
            if asset.content.size > 0 || extras.chapters.isEmpty { return asset }
        }
        return try content(episode, extras).map { rendering($0, episode) }
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
        return try content(episode, try mount.library.extras(of: episode.id))
    }

    func extendedAttributes() throws -> [(String, String)] { mount.assetFailures.attributes(of: node) }

    private func rendering(_ content: GeneratedContent, _ episode: Episode) -> Rendering {
        Rendering(content, modified: episode.modified, changed: episode.changed)
    }

    private func content(_ episode: Episode, _ extras: EpisodeExtras) throws -> GeneratedContent? {
        let chapters = extras.chapters.isEmpty ? try mount.embeddedChapters(of: episode.id) : extras.chapters
        guard !chapters.isEmpty else { return nil }
        let list = ChapterList(chapters, title: episode.title, duration: episode.duration)
        return GeneratedContent(list.bytes)
    }
}

extension PodcastFilesystem {
    /// Returns the chapters inside an episode's media file; empty unless the file is completely cached.
    func embeddedChapters(of episode: EpisodeID) throws -> [Chapter] {
        guard let opening = try library.opening(of: episode), opening.isComplete, let name = opening.file,
            let size = opening.fileSize ?? opening.size,
            let reader = try? MediaReader(
                name: name, in: options.cache,
                expecting: .recorded(opening.fileState.flatMap(FileState.init(text:)), size: size))
        else { return [] }
        let media = MediaBytes(size: size) { offset, count in
            let bytes = try? [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                filled = try reader.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            }
            return bytes ?? []
        }
        return EmbeddedChapters.chapters(of: media)
    }

    /// Returns the completely cached episodes of a show that have chapters only in their media files.
    func entriesWithEmbeddedChapters(of show: ShowID) throws -> [EpisodeEntry] {
        try library.entries(of: show).filter {
            try $0.complete && !$0.sidecars.contains(.chapters) && !embeddedChapters(of: $0.id).isEmpty
        }
    }
}
