internal import Fuse
internal import Glibc
internal import Platform
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage

/// Art or a transcript on a server. It is listed if the feed names it, and the daemon fetches it when it is opened.
/// Until then its size is an estimate, not 0, because programs that trust the size in a listing (Samba, media servers)
/// would treat it as an empty file. The kernel is told the true size before the reply to the open.
struct AssetFile: GeneratedFile {
    let place: NodePlace

    private var asset: AssetKind { node.kind.asset ?? .cover }

    var form: NodeForm { Sidecar.form }

    /// Returns the cached asset, or empty content if it is not cached; `nil` if the feed does not name the asset.
    func render() throws -> Rendering? {
        if node.kind == .cover {
            guard let show = try mount.library.podcast(id: node.show), show.image != nil else { return nil }
            return mount.rendering(asset, node.row, modified: show.changed, changed: show.changed)
        }
        guard let entry = try mount.library.entry(id: node.episode),
            Sidecar.all.contains(where: { $0.kind == node.kind && $0.isOffered(by: entry) })
        else { return nil }
        return mount.rendering(asset, node.row, modified: entry.modified, changed: entry.changed)
    }

    func opening(by caller: Caller, flags: Int32) throws -> Opening {
        // Image viewers map files into memory, which direct I/O does not allow.
        try mount.openingOfAsset(asset, node.kind == .cover || node.kind == .art ? .cached : .direct, by: caller)
    }

    func extendedAttributes() throws -> [(String, String)] { mount.assetFailures.attributes(of: node) }
}

/// The icon of a show's folder for KDE's file manager: its cover, once that is cached.
struct FolderIconFile: GeneratedFile {
    let place: NodePlace

    static let name = ".directory"

    var form: NodeForm { .changing }

    func render() throws -> Rendering? {
        guard let show = try mount.library.podcast(id: node.show), show.cover != nil, let cover = show.coverName else {
            return nil
        }
        let text = "[Desktop Entry]\nIcon=./\(cover)\n"
        return Rendering(content: GeneratedContent(Array(text.utf8)), modified: show.changed, changed: show.changed)
    }
}

extension NodeNumber.Kind {
    /// The daemon's kind of asset; `nil` for other nodes.
    fileprivate var asset: AssetKind? {
        switch self {
        case .cover: .cover
        case .art: .art
        case .vtt: .vtt
        case .srt: .srt
        default: nil
        }
    }
}

extension AssetKind {
    /// The size in bytes that is listed before the first fetch. Generous, because a program that trusts the listed size
    /// would miss the end of a larger file, but reads a smaller file completely. Art is a few hundred kilobytes in
    /// size, the transcript of a long episode less than one megabyte.
    fileprivate var estimatedSize: Int64 {
        switch self {
        case .cover, .art: 2 << 20
        case .vtt, .srt: 1 << 20
        case .chapters, .stream: 64 << 10
        }
    }
}

extension PodcastFilesystem {
    /// Looks up a show's cover; `nil` if this is not its name. The kernel must not cache the name, since its extension
    /// changes when another image arrives.
    func cover(named name: String, of show: ShowID) throws -> Entry? {
        guard name.utf8.starts(with: Podcast.coverPrefix.utf8), let podcast = try library.podcast(id: show),
            let cover = podcast.coverName, name.utf8.elementsEqual(cover.utf8)
        else { return nil }
        let file = AssetFile(place: NodePlace(node: NodeNumber(kind: .cover, row: show), mount: self))
        return try file.facts(open: nil).map { entry($0, entryTimeout: 0) }
    }

    /// Returns the node of the asset that a name in a show's folder denotes: an episode's name with the extension of an
    /// asset; `nil` for other names. The feed need not name that asset.
    func asset(_ name: String, of show: ShowID) throws -> NodeNumber? {
        let fileExtension = FileName.fileExtension(of: name)
        guard let sidecar = Sidecar.all.first(where: { $0.folder == .show && $0.fileExtension == fileExtension }),
            let entry = try library.entry(of: show, stem: FileName.stem(ofFile: name))
        else { return nil }
        return NodeNumber(kind: sidecar.kind, row: entry.id)
    }

    /// Returns the assets in a show's folder. Reads the assets folder, which contains the cached assets of all shows,
    /// once.
    func assetItems(of show: ShowID, _ entries: [EpisodeEntry]) throws -> [FolderSnapshot.Item] {
        guard let podcast = try library.podcast(id: show) else { return [] }
        let cached = cachedAssets()
        var items: [FolderSnapshot.Item] = []
        // Without attributes, with which the kernel would cache the name.
        if let name = podcast.coverName {
            items.append(FolderSnapshot.Item(name: name, bare: NodeNumber(kind: .cover, row: show)))
        }
        if podcast.cover != nil {
            items.append(FolderSnapshot.Item(name: FolderIconFile.name, bare: NodeNumber(kind: .folderIcon, row: show)))
        }
        let sidecars = Sidecar.all.filter { $0.folder == .show }
        for entry in entries where !entry.sidecars.isEmpty {
            for sidecar in sidecars where sidecar.isOffered(by: entry) {
                guard let asset = sidecar.kind.asset else { continue }
                let file = asset.fileName(entry.id.rawValue)
                let size = cached.contains(file) ? cachedSize(file) : nil
                var facts = NodeFacts(
                    NodeNumber(kind: sidecar.kind, row: entry.id), size: size ?? asset.estimatedSize,
                    modified: entry.modified, changed: entry.changed)
                if size == nil { facts.blocks = 1 }
                items.append(FolderSnapshot.Item(name: sidecar.name(of: entry.name), facts: facts))
            }
        }
        return items
    }

    /// Returns the next step of opening an asset, which is to have the daemon check whether the cached file is current.
    /// Throws EACCES for an indexer, a program that reads every file.
    func openingOfAsset(_ asset: AssetKind, _ preference: HandleMode.Preference, by caller: Caller) throws -> Opening {
        if isIndexer(caller.pid) { throw Errno.permissionDenied }
        return .requestAsset(asset, preference)
    }

    // MARK: The cache

    /// Returns the cached content of an asset; empty content with an estimated size if it is not cached.
    func rendering(_ asset: AssetKind, _ row: Int64, modified: Int64, changed: Int64) -> Rendering {
        let content = GeneratedContent.file(options.assets.appending(asset.fileName(row)))
        var rendering = Rendering(content: content ?? GeneratedContent([]), modified: modified, changed: changed)
        if content == nil { rendering.estimate = asset.estimatedSize }
        return rendering
    }

    /// Returns the names of all files in the assets folder.
    func cachedAssets() -> Set<String> { Set(names(inFolder: options.assets.string) ?? []) }

    private func cachedSize(_ name: String) -> Int64? {
        var status = stat()
        guard stat(options.assets.appending(name).string, &status) == 0 else { return nil }
        return Int64(status.st_size)
    }
}

/// The reasons of the last failed opens of art, transcripts, chapters and streams, for which the library has no column.
final class AssetFailures: Sendable {
    private let reasons = Mutex<[NodeNumber: String]>([:])

    /// The maximum number of stored reasons. A reason beyond it replaces all the others, which are stored again when
    /// the next open of their asset fails.
    private static let capacity = 1_000

    func set(_ reason: String?, of number: NodeNumber) {
        reasons.withLock { reasons in
            if reasons.count >= Self.capacity, reason != nil { reasons = [:] }
            reasons[number] = reason
        }
    }

    /// Returns the extended attributes of an asset or stream: the reason of its last failed open, if no later one has
    /// succeeded.
    func attributes(of number: NodeNumber) -> [(String, String)] {
        reasons.withLock { $0[number] }.map { [("user.podfs.error", PlainText.oneLine($0))] } ?? []
    }
}
