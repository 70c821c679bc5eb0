internal import Fuse
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import Transfers

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

/// The chapters found in complete media files, so that each file is parsed once, also one without chapters.
struct MediaChapters: Sendable {
    /// The maximum number of files, and of chapters in all of them: some 10 MB.
    private static let capacity = (files: 65_536, chapters: 50_000)

    private var known: [EpisodeID: (file: String, chapters: [Chapter])] = [:]
    private var count = 0

    /// Returns the chapters of a file, which its name and state identify; `nil` if it is not known.
    subscript(episode: EpisodeID, file: String) -> [Chapter]? {
        known[episode].flatMap { $0.file == file ? $0.chapters : nil }
    }

    mutating func add(_ chapters: [Chapter], of episode: EpisodeID, in file: String) {
        if known.count >= Self.capacity.files || count + chapters.count > Self.capacity.chapters {
            (known, count) = ([:], 0)
        }
        let replaced = known.updateValue((file, chapters), forKey: episode)
        count += chapters.count - (replaced?.chapters.count ?? 0)
    }
}

extension PodcastFilesystem {
    /// Returns the chapters inside an episode's media file; empty unless the file is completely cached.
    func embeddedChapters(of episode: EpisodeID) throws -> [Chapter] {
        guard let opening = try library.opening(of: episode), opening.isComplete, let name = opening.file,
            let size = opening.fileSize ?? opening.size
        else { return [] }
        let file = "\(name) \(opening.fileState ?? "")"
        if let known = mediaChapters.withLock({ $0[episode, file] }) { return known }
        guard
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
        let chapters = EmbeddedChapters.chapters(of: media)
        mediaChapters.withLock { $0.add(chapters, of: episode, in: file) }
        return chapters
    }

    /// Returns the completely cached episodes of a show that have chapters only in their media files.
    func entriesWithEmbeddedChapters(of show: ShowID) throws -> [EpisodeEntry] {
        try library.entries(of: show).filter {
            try $0.complete && !$0.sidecars.contains(.chapters) && !embeddedChapters(of: $0.id).isEmpty
        }
    }
}
