internal import Fuse
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import Transfers

// If the setting `tagged` is true, the mount has a folder `Tagged`, which contains the subscribed shows a second time.
// In `Tagged/SHOW/EPISODE`, a tag made from the library replaces the tags at the start of each MP3. The kernel does not
// cache the names and attributes in this folder, so a new version of a file needs no invalidation.

/// The folder `Tagged`.
struct TaggedFolder: NodeBehaviour {
    let place: NodePlace

    var form: NodeForm { .folder.cached(for: 0) }

    func find(_ name: String) throws -> Entry? {
        try mount.library.folder(named: name).map { mount.entry(TaggedShow.facts(of: $0)) }
    }

    func items() throws -> [FolderSnapshot.Item]? {
        try mount.library.folders().map { FolderSnapshot.Item(name: $0.name, facts: TaggedShow.facts(of: $0)) }
    }
}

/// A show in `Tagged`: its episodes and its art.
struct TaggedShow: NodeBehaviour {
    let place: NodePlace

    var form: NodeForm { .folder.cached(for: 0) }

    var parent: NodeNumber { .tagged }

    static func facts(of show: FolderEntry) -> NodeFacts {
        NodeFacts(folder: NodeNumber(kind: .taggedShow, row: show.id), of: show)
    }

    func facts(open: OpenFile?) throws -> NodeFacts? { try mount.library.folder(id: node.show).map(Self.facts) }

    func find(_ name: String) throws -> Entry? {
        if let entry = try mount.library.entry(of: node.show, named: name) {
            guard TaggedFile.isFor(entry.name) else {
                return try mount.findEpisode(name, of: node.show, entryTimeout: 0)
            }
            return mount.entry(TaggedEpisode.facts(of: entry, try mount.library.taggedFile(of: entry.id), mount))
        }
        return try mount.cover(named: name, of: node.show)
    }

    func items() throws -> [FolderSnapshot.Item]? {
        guard let show = try mount.library.podcast(id: node.show) else { return nil }
        let known = try mount.library.taggedFiles(of: show.id)
        let episodes = try mount.library.entries(of: show.id).map { entry in
            // Other files are listed without attributes. With attributes (READDIRPLUS), the kernel would cache the
            // names for up to a day, as in the show's own folder.
            TaggedFile.isFor(entry.name)
                ? FolderSnapshot.Item(name: entry.name, facts: TaggedEpisode.facts(of: entry, known[entry.id], mount))
                : FolderSnapshot.Item(name: entry.name, bare: NodeNumber(entry))
        }
        let cover = NodeNumber(kind: .cover, row: show.id)
        return episodes + (show.coverName.map { [FolderSnapshot.Item(name: $0, bare: cover)] } ?? [])
    }
}

/// An MP3 episode whose tags are replaced by a tag made from the library. A node is one version of the file; see
/// `TaggedFile`.
struct TaggedEpisode: NodeBehaviour {
    let place: NodePlace

    /// The assumed size in bytes of a tag that has not been made yet. It is generous, like the estimated size of an
    /// asset: some programs trust the size from before the open, and would miss the end of a file that is larger.
    private static let estimatedTag: Int64 = 256 << 10

    var form: NodeForm {
        NodeForm(kind: .regular, permissions: 0o444, blockSize: 128 * 1024, attributeTimeout: 0, entryTimeout: 0)
    }

    /// The episode's own file.
    private var original: EpisodeFile {
        get throws {
            guard let entry = try mount.library.entry(id: node.episode) else { throw Errno.noSuchFileOrDirectory }
            return EpisodeFile(place: NodePlace(node: NodeNumber(entry), mount: mount))
        }
    }

    static func facts(of entry: EpisodeEntry, _ known: TaggedFile?, _ mount: PodcastFilesystem) -> NodeFacts {
        var facts = mount.facts(of: entry)
        let current = known.flatMap { $0.content.rendition == entry.generation ? $0 : nil }
        // The first open of a new rendition (version of the original file) will make a version with the next number.
        let generation = current?.generation ?? known.map { $0.generation + 1 } ?? 0
        facts.number = NodeNumber(kind: .taggedEpisode, generation: generation, row: entry.id)
        facts.size = current?.content.size ?? (facts.size > 0 ? facts.size + estimatedTag : 0)
        return facts
    }

    func facts(open: OpenFile?) throws -> NodeFacts? {
        guard let entry = try mount.library.entry(id: node.episode) else { return nil }
        var facts = Self.facts(of: entry, try mount.library.taggedFile(of: entry.id), mount)
        facts.number = node
        // The size of an open file does not change.
        facts.size = open?.taggedSize ?? facts.size
        return facts
    }

    func opening(by caller: Caller, flags: Int32) throws -> Opening {
        .tag(try original.opening(by: caller, flags: flags))
    }

    /// Returns the extended attributes of the original, except those that describe its bytes.
    func extendedAttributes() throws -> [(String, String)] {
        let ofBytes = ["user.podfs.sha256", "user.podfs.ranges", "user.podfs.integrity"]
        return try original.extendedAttributes().filter { !ofBytes.contains($0.0) }
    }

    func command(setting attribute: ControlAttribute, to value: String) throws -> Command? {
        try original.command(setting: attribute, to: value)
    }
}

extension TaggedFile {
    /// Whether an episode with this name gets a tag. The open decides again by the content.
    static func isFor(_ name: String) -> Bool { FileName.fileExtension(of: name).lowercased() == "mp3" }
}

// Opens of files in `Tagged`, the folder in which a tag made by podfs replaces the tags of each MP3 episode. The mount
// first opens the original, which is the episode's own file. Then it finds the end of the original's tags, makes the
// new tag, and has the daemon record this version of the file, which consists of the new tag and the rest of the
// original. If the size is known, it is pushed to the kernel before the open is answered. The content of an open file
// does not change, even if there is a new version meanwhile.

/// The original of a file in `Tagged` that is being opened. If the open fails before there is a handle, the daemon is
/// notified of the original's close.
private final class PendingOriginal: Sendable {
    let file: OpenFile
    private let mount: PodcastFilesystem
    private let isAdopted = Atomic(false)

    init(_ file: OpenFile, _ mount: PodcastFilesystem) {
        self.file = file
        self.mount = mount
    }

    /// Returns the file for a handle; from now on the handle's owner notifies the daemon of the close.
    func adopted() -> OpenFile {
        isAdopted.store(true, ordering: .releasing)
        return file
    }

    deinit {
        if file.isCounted, !isAdopted.load(ordering: .acquiring) { mount.notifyClose(of: file) }
    }
}

extension PodcastFilesystem {
    /// Opens a file in `Tagged`.
    ///
    /// - Parameter original: The next step of opening the original.
    func openTagged(_ number: NodeNumber, _ original: Opening, flags: Int32, _ request: consuming Request) {
        let waiting = ParkedRequest(request)
        answerInterrupt(of: waiting)
        switch original {
        case .open(let file, _): findAudio(PendingOriginal(file, self), for: number, waiting)
        case .requestOpen(_, let kind):
            sendPart(.open, ReadRequest(episode: number.episode, kind: kind).payload, for: waiting) { [self] result in
                waiting.answerError {
                    let grant = try result.grant()
                    let medium = NodeNumber(kind: .episode, generation: grant.generation, row: number.row)
                    let file = openFile(medium, as: kind, flags: flags, grant)
                    findAudio(PendingOriginal(file, self), for: number, waiting)
                }
            }
        case .openArchived(let opening):
            openArchived(opening, for: waiting) { [self] file in
                findAudio(PendingOriginal(file, self), for: number, waiting)
            }
        case .requestAsset, .tag: waiting.take()?.reply(error: .ioError)
        }
    }

    private func findAudio(_ original: PendingOriginal, for number: NodeNumber, _ waiting: ParkedRequest) {
        findAudio(LeadingTags(total: original.file.media.withLock { $0.total }), original, for: number, waiting)
    }

    /// Continues the search for the end of the original's tags, and requests bytes that are not cached. Marks these
    /// requests as reads of a probe (a program that only reads tags), since an open must not start a download.
    private func findAudio(
        _ search: LeadingTags, _ original: PendingOriginal, for number: NodeNumber, _ waiting: ParkedRequest
    ) {
        var search = search
        while case .read(let range) = search.step, let bytes = presentBytes(of: original.file, range) {
            search.receive(bytes)
        }
        switch search.step {
        case .audio(let offset): tag(original, skipping: offset, for: number, waiting)
        case .other: tag(original, skipping: nil, for: number, waiting)
        case .read(let range):
            let read = ReadRequest(
                episode: number.episode, generation: original.file.medium.generation, range: range, takesHead: true,
                kind: .probe)
            sendPart(.read, read.payload, for: waiting) { [self, search] result in
                waiting.answerError {
                    var search = search
                    search.receive(try bytes(in: result.grant(), of: original.file, range))
                    findAudio(search, original, for: number, waiting)
                }
            }
        }
    }

    /// Applies the daemon's response to a read request, and returns the bytes of `range`.
    private func bytes(in grant: Grant, of file: OpenFile, _ range: Range<Int64>) throws(Errno) -> [UInt8] {
        guard grant.generation == file.medium.generation else { throw .staleNFSFileHandle }
        try apply(grant, to: file)
        guard let bytes = presentBytes(of: file, range) else { throw .ioError }
        return bytes
    }

    /// Makes the tag, and has the daemon record the version unless it is recorded already.
    ///
    /// - Parameter skipped: The size in bytes of the original's tags; `nil` if it is not MP3.
    private func tag(
        _ original: PendingOriginal, skipping skipped: Int64?, for number: NodeNumber, _ waiting: ParkedRequest
    ) {
        waiting.answerError {
            let tag =
                try skipped.map { try makeTag(of: number.episode, skipped: $0) }
                ?? ReplacementTag(content: GeneratedContent([]), skipped: 0)
            let content = TaggedFile.Content(
                rendition: original.file.medium.generation, tagSize: tag.size, fingerprint: try tag.fingerprint(),
                skipped: tag.skipped, total: original.file.media.withLock { $0.total })
            if let known = try library.taggedFile(of: number.episode), known.content == content {
                return finish(original, tag, version: known.generation, for: number, waiting)
            }
            let command = Command.setTaggedFile(
                episode: number.episode, rendition: content.rendition, tagSize: content.tagSize,
                fingerprint: content.fingerprint, skipped: content.skipped, total: content.total)
            sendPart(.command, WireJSON.encode(command), for: waiting) { [self] result in
                waiting.answerError {
                    guard case .taggedFile(let version) = try result.reply() else { throw Errno.ioError }
                    finish(original, tag, version: version, for: number, waiting)
                }
            }
        }
    }

    /// Answers the open, with ESTALE if `number` is the node of another version.
    private func finish(
        _ original: PendingOriginal, _ tag: ReplacementTag, version: Int, for number: NodeNumber,
        _ waiting: ParkedRequest
    ) {
        // On ESTALE the kernel looks the name up again, and finds the node of this version.
        guard NodeNumber(kind: .taggedEpisode, generation: version, row: number.row) == number else {
            waiting.take()?.reply(error: .staleNFSFileHandle)
            return
        }
        let file = OpenFile(number: number, tag: tag, original.adopted())
        pushAndOpen(waiting, file, file.taggedSize == nil ? .direct : .cached, size: file.taggedSize)
    }
}

/// The tag at the start of an open file in the folder `Tagged`. It replaces the tags of the original, the episode's own
/// file. It consists of bytes made here, followed by those of a cached picture, if there is one.
struct ReplacementTag: Sendable {
    /// The tag's bytes; empty for a file that is served unchanged.
    let content: GeneratedContent
    /// The size in bytes of the original's tags.
    let skipped: Int64

    /// The size in bytes, with the picture.
    var size: Int64 { content.size }

    /// Returns the part of a read that is in the tag, and the rest as a range of the original.
    func split(_ range: Range<Int64>) -> (tag: Range<Int64>, original: Range<Int64>) {
        (
            min(range.lowerBound, size)..<min(range.upperBound, size),
            original(range.lowerBound)..<original(range.upperBound)
        )
    }

    /// Returns the offset in the original. A program may choose any offset, so the sum is limited.
    private func original(_ offset: Int64) -> Int64 { min(max(0, offset - size), .max - skipped) + skipped }

    /// Returns a hash of all bytes.
    func fingerprint() throws -> Int64 { Int64(bitPattern: FNV1a.hash64(try content.bytes)) }
}

extension PodcastFilesystem {
    /// Makes the tag of an episode from the library, the known chapters, and a cached picture: the episode's art,
    /// otherwise the show's cover.
    ///
    /// - Parameter skipped: The size in bytes of the original's tags.
    func makeTag(of id: EpisodeID, skipped: Int64) throws -> ReplacementTag {
        guard let episode = try library.episode(id: id), let show = try library.podcast(id: episode.podcast) else {
            throw Errno.noSuchFileOrDirectory
        }
        let tag = ID3Tag(episode, of: show, chapters: try knownChapters(of: episode))
        for (kind, row) in [(AssetKind.art, id.rawValue), (.cover, show.id.rawValue)] {
            let path = options.assets.appending(kind.fileName(row))
            guard let content = GeneratedContent.file(path), (1...Self.largestPicture).contains(content.size),
                let type = Self.imageType(of: content)
            else { continue }
            let head = tag.bytes(before: (type, Int(content.size)))
            return ReplacementTag(content: content.preceded(by: head), skipped: skipped)
        }
        return ReplacementTag(content: GeneratedContent(tag.bytes(before: nil)), skipped: skipped)
    }

    /// The maximum size in bytes of the picture in a tag.
    private static let largestPicture: Int64 = 1 << 20

    /// Returns the MIME type of a picture from its first bytes; `nil` for a format that players may not know.
    private static func imageType(of content: GeneratedContent) -> String? {
        var head = [UInt8](repeating: 0, count: Int(min(content.size, 16)))
        let count = head.withUnsafeMutableBytes { (try? content.read(into: $0, at: 0)) ?? 0 }
        return ID3Tag.pictureType(of: head.prefix(count))
    }

    /// Returns the chapters of an episode from the first local source that has any; sends no request.
    private func knownChapters(of episode: Episode) throws -> [Chapter] {
        let fetched = fetchedChapters(AssetKind.chapters.fileName(episode.id.rawValue), limit: 1_000)
        let chapters = fetched.isEmpty ? try library.extras(of: episode.id).chapters : fetched
        return chapters.playable(until: episode.duration)
    }
}
