internal import Fuse
internal import Glibc
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import TransferCore

// Art, transcripts and chapters that lie on a server. They are listed by what the feed says, and fetched by the daemon when
// they are opened: their size is 0 until then, and told to the kernel before the opening is answered.
extension PodcastFilesystem {
    static let coverName = "cover.jpg"

    private static let sidecars: [(sidecar: Sidecars, kind: NodeNumber.Kind, fileExtension: String)] = [
        (.art, .art, "jpg"), (.vtt, .vtt, "vtt"), (.srt, .srt, "srt"),
    ]

    // MARK: Names and attributes

    /// The names of all that may lie beside an episode, and the kinds of the folders that they are in.
    static func sidecarNames(ofEpisode name: String) -> [(folder: NodeNumber.Kind, name: String)] {
        let stem = FileName.stem(ofFile: name)
        return sidecars.map { (NodeNumber.Kind.show, "\(stem).\($0.fileExtension)") }
            + SidecarFolder.allCases.map { ($0.kind, "\(stem).\($0.fileExtension)") }
    }

    func findAsset(_ name: String, of show: ShowID) throws -> Entry? {
        if name.utf8.elementsEqual(Self.coverName.utf8) {
            return try assetEntry(NodeNumber(kind: .cover, row: show))
        }
        let fileExtension = FileName.fileExtension(of: name)
        guard let (sidecar, kind, _) = Self.sidecars.first(where: { $0.fileExtension == fileExtension }),
            let entry = try library.entry(of: show, stem: FileName.stem(ofFile: name)), entry.sidecars.contains(sidecar)
        else { return nil }
        return try assetEntry(NodeNumber(kind: kind, row: entry.id))
    }

    private func assetEntry(_ number: NodeNumber) throws -> Entry? {
        guard let made = try madeAsset(number) else { return nil }
        return assetEntry(number, size: made.content.size, modified: made.modified, changed: made.changed)
    }

    func assetEntry(_ number: NodeNumber, size: Int64, modified: Int64, changed: Int64) -> Entry {
        files.tell(size, of: number)
        return Entry(
            node: number.node,
            attributes: Attributes(
                inode: number.inode, kind: .regular, permissions: 0o444, size: size, blocks: (size + 511) / 512,
                uid: options.owner.uid, gid: options.owner.gid, accessed: Timestamp(seconds: modified),
                modified: Timestamp(seconds: modified), changed: Timestamp(seconds: changed)),
            attributeTimeout: Self.sidecarTimeout, entryTimeout: Self.timeout)
    }

    /// The assets of a show's folder. What is in the cache is looked at once for all of them.
    func assetItems(of show: ShowID, _ entries: [EpisodeEntry]) throws -> [FolderSnapshot.Item] {
        guard let podcast = try library.podcast(id: show) else { return [] }
        let cached = cachedAssets()
        func size(_ kind: NodeNumber.Kind, _ row: Int64) -> Int64 {
            kind.asset.flatMap { cached.contains($0.fileName(row)) ? assetSize($0, row) : nil } ?? 0
        }
        var items: [FolderSnapshot.Item] = []
        if podcast.image != nil {
            items.append(
                .asset(
                    NodeNumber(kind: .cover, row: show), name: Self.coverName, size: size(.cover, show.rawValue),
                    modified: podcast.changed, changed: podcast.changed))
        }
        for entry in entries {
            for (sidecar, kind, fileExtension) in Self.sidecars where entry.sidecars.contains(sidecar) {
                items.append(
                    .asset(
                        NodeNumber(kind: kind, row: entry.id),
                        name: "\(FileName.stem(ofFile: entry.name)).\(fileExtension)",
                        size: size(kind, entry.id.rawValue),
                        modified: entry.published ?? entry.firstSeen, changed: entry.changed))
            }
        }
        return items
    }

    /// An asset as it is in the cache; empty when it is not. `nil` when the feed does not offer it.
    func madeAsset(_ number: NodeNumber) throws -> Made? {
        guard let kind = number.kind.asset else { return nil }
        let modified: Int64
        let changed: Int64
        if kind == .cover {
            guard let show = try library.podcast(id: number.show), show.image != nil else { return nil }
            (modified, changed) = (show.changed, show.changed)
        } else {
            guard let entry = try library.entry(id: number.episode) else { return nil }
            if let sidecar = Self.sidecars.first(where: { $0.kind == number.kind })?.sidecar,
                !entry.sidecars.contains(sidecar)
            {
                return nil
            }
            (modified, changed) = (entry.published ?? entry.firstSeen, entry.changed)
        }
        let content = MadeContent.file(options.assets.appending(kind.fileName(number.row))) ?? MadeContent([])
        return Made(content: content, modified: modified, changed: changed)
    }

    // MARK: The cache

    /// Which asset a node is; `nil` when it is none, or none that lies elsewhere.
    func assetKind(of number: NodeNumber) throws -> AssetKind? {
        guard number.kind == .chapters else { return number.kind.asset }
        let extras = try library.extras(of: number.episode)
        return extras.chapters.isEmpty && extras.chaptersURL != nil ? .chapters : nil
    }

    func cachedAssets() -> Set<String> {
        guard let folder = Glibc.opendir(options.assets.string) else { return [] }
        defer { closedir(folder) }
        var names: Set<String> = []
        while let entry = Glibc.readdir(folder) {
            names.insert(
                withUnsafePointer(to: entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names
    }

    private func assetSize(_ kind: AssetKind, _ row: Int64) -> Int64? {
        var status = stat()
        guard stat(options.assets.appending(kind.fileName(row)).string, &status) == 0 else { return nil }
        return Int64(status.st_size)
    }
}

/// Why art, transcripts and chapters could not be opened last: they have no rows of their own that would say it.
final class AssetTroubles: Sendable {
    private let reasons = Mutex<[NodeNumber: String]>([:])

    /// Of more than so many none is kept: whoever opens one again has its reason again.
    private static let most = 1_000

    func set(_ reason: String?, of number: NodeNumber) {
        reasons.withLock { reasons in
            if reasons.count >= Self.most, reason != nil { reasons = [:] }
            reasons[number] = reason
        }
    }

    func reason(of number: NodeNumber) -> String? { reasons.withLock { $0[number] } }
}

extension NodeNumber.Kind {
    /// What the daemon calls it.
    fileprivate var asset: AssetKind? {
        switch self {
        case .cover: .cover
        case .art: .art
        case .vtt: .vtt
        case .srt: .srt
        case .chapters: .chapters
        default: nil
        }
    }
}

extension NodeNumber {
    /// Programs that show images map them into memory, which files read with direct I/O do not allow.
    var isArt: Bool { kind == .cover || kind == .art }
}
