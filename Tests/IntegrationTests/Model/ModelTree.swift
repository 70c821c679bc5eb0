import Foundation
import Synchronization
import TestSupport

/// A cache of folder listings, valid as long as the library is unchanged.
private final class ModelNames: Sendable {
    private let known = Mutex<[[String]: [ModelName]?]>([:])

    func names(in path: [String], make: () -> [ModelName]?) -> [ModelName]? {
        if let names = known.withLock({ $0[path] }) { return names }
        let names = make()
        known.withLock { $0[path] = .some(names) }
        return names
    }
}

/// The tree that a mount is expected to have, derived from a model of the library. It does not read the mount.
struct ModelTree: Sendable {
    var library: ModelLibrary {
        didSet { known = ModelNames() }
    }
    private var known = ModelNames()
    var url: @Sendable (String) -> String
    /// The earliest and the latest time at which the mount may have started, in seconds since 1970.
    var started: ClosedRange<Int64>
    /// Returns the SHA-256 digest of a complete file.
    var digest: @Sendable (TestContent) -> String?

    init(
        library: ModelLibrary, started: ClosedRange<Int64>, url: @escaping @Sendable (String) -> String,
        digest: @escaping @Sendable (TestContent) -> String?
    ) {
        self.library = library
        self.started = started
        self.url = url
        self.digest = digest
    }

    /// Returns an inode number: `kind (6 bits) | generation (18) | row (40)`. The generation is 0 in numbers that
    /// programs see.
    static func inode(_ kind: UInt64, _ row: Int64) -> UInt64 { kind << 58 | UInt64(row) }

    private static let fixed = [
        ".status", ".status.json", ".nomedia", ".trackerignore", ".subscriptions.opml", ".status.html", "index.html",
    ]

    // MARK: Names

    /// Returns a folder's listing in order, without `.` and `..`; `nil` if the folder does not exist.
    func names(in path: [String]) -> [ModelName]? { known.names(in: path) { makeNames(in: path) } }

    private func makeNames(in path: [String]) -> [ModelName]? {
        switch path.count {
        case 0:
            let made = Self.fixed.enumerated().map {
                ModelName(name: $0.element, inode: UInt64($0.offset + 2), kind: .file)
            }
            let folders = [
                ModelName(name: ".find", inode: Self.inode(35, 1), kind: .folder),
                ModelName(name: ".search", inode: Self.inode(16, 1), kind: .folder),
                ModelName(name: "Tags", inode: Self.inode(24, 1), kind: .folder),
                ModelName(name: "Tagged", inode: Self.taggedInode, kind: .folder),
            ]
            let views = library.views.sorted { $0.name.lowercased() < $1.name.lowercased() }.map {
                ModelName(name: $0.name, inode: Self.inode(4, $0.id), kind: .folder)
            }
            let shows = library.listed.map { ModelName(name: $0.name, inode: Self.inode(1, $0.id), kind: .folder) }
            return made + folders + views + shows
        case 1:
            switch path[0] {
            case ".find", ".search": return []
            case "Tags":
                return library.visibleTags.map {
                    ModelName(name: $0, inode: Self.inode(25, library.tagRows[$0] ?? 0), kind: .folder)
                }
            case "Tagged":
                return library.listed.map { ModelName(name: $0.name, inode: Self.inode(28, $0.id), kind: .folder) }
            default:
                guard let view = library.view(path[0]) else { return show(path[0]).map(names) }
                return [("playlist.m3u8", 22), (".nomedia", 23), ("index.html", 34)].map {
                    ModelName(name: $0, inode: Self.inode($1, view.id), kind: .file)
                } + links(view).map { ModelName(name: $1, inode: Self.inode(5, $0.id), kind: .link) }
            }
        case 2:
            if path[0] == "Tags" { return tagLinks(path[1]) }
            if path[0] == "Tagged" { return show(path[1]).map(taggedNames) }
            guard let show = show(path[0]) else { return nil }
            switch path[1] {
            case ".notes":
                return show.listed.filter { $0.item.notes != nil }.map {
                    ModelName(name: "\($0.stem).html", inode: Self.inode(12, $0.id), kind: .file)
                }
            case ".chapters":
                return show.listed.filter { !$0.item.chapters.isEmpty }.map {
                    ModelName(name: "\($0.stem).json", inode: Self.inode(13, $0.id), kind: .file)
                }
            default: return nil
            }
        default: return nil
        }
    }

    private func names(of show: ModelShow) -> [ModelName] {
        var names = [
            ModelName(name: "playlist.m3u8", inode: Self.inode(7, show.id), kind: .file),
            ModelName(name: "index.html", inode: Self.inode(21, show.id), kind: .file),
            ModelName(name: ".feed.json", inode: Self.inode(8, show.id), kind: .file),
            ModelName(name: ".feed.xml.txt", inode: Self.inode(9, show.id), kind: .file),
            ModelName(name: ".notes", inode: Self.inode(10, show.id), kind: .folder),
            ModelName(name: ".chapters", inode: Self.inode(11, show.id), kind: .folder),
        ]
        let episodes = show.listed
        names += episodes.map { ModelName(name: $0.name, inode: Self.inode(2, $0.id), kind: .file) }
        if show.feed.hasCover {
            names.append(ModelName(name: "cover.jpg", inode: Self.inode(14, show.id), kind: .file))
            names.append(ModelName(name: ".directory", inode: Self.inode(40, show.id), kind: .file))
        }
        for episode in episodes {
            if episode.item.hasArt {
                names.append(ModelName(name: "\(episode.stem).jpg", inode: Self.inode(15, episode.id), kind: .file))
            }
            if episode.item.hasTranscript {
                names.append(ModelName(name: "\(episode.stem).vtt", inode: Self.inode(19, episode.id), kind: .file))
            }
        }
        return names
    }

    private func taggedNames(of show: ModelShow) -> [ModelName] {
        let cover = ModelName(name: "cover.jpg", inode: Self.inode(14, show.id), kind: .file)
        return show.listed.map { ModelName(name: $0.name, inode: Self.inode($0.hasTag ? 29 : 2, $0.id), kind: .file) }
            + (show.feed.hasCover ? [cover] : [])
    }

    /// Returns the inode number of `..` in a folder.
    func parentInode(of path: [String]) -> UInt64 {
        guard path.count == 2 else { return Self.rootInode }
        switch path[0] {
        case "Tags": return Self.inode(24, 1)
        case "Tagged": return Self.taggedInode
        default: return show(path[0]).map { Self.inode(1, $0.id) } ?? Self.rootInode
        }
    }

    static let rootInode: UInt64 = 0x8000_0001
    /// The inode number of `Tagged`. Its lower 32 bits differ from those of the root and of shows, because mpd compares
    /// only these; see `NodeNumber.inode`.
    private static let taggedInode = inode(27, 0x8000_0002)

    private func show(_ name: String) -> ModelShow? { library.shows.first { $0.name.utf8.elementsEqual(name.utf8) } }

    /// Returns the links to the shows with a tag; `nil` if none has it.
    private func tagLinks(_ tag: String) -> [ModelName]? {
        let shows = library.listed.filter { $0.tags.contains { $0.utf8.elementsEqual(tag.utf8) } }
        return shows.isEmpty ? nil : shows.map { ModelName(name: $0.name, inode: Self.inode(26, $0.id), kind: .link) }
    }

    /// Returns the links of a view with their names.
    func links(_ view: ModelView) -> [(ModelEpisode, String)] {
        let episodes = library.episodes(of: view)
        let names = Self.linkNames(episodes)
        return episodes.compactMap { episode, _ in names[episode.id].map { (episode, $0) } }
    }

    /// Returns the names of links, keyed by the episode's row. If several episodes would have the same name, the one
    /// with the lowest row gets it, and the others get numbers.
    private static func linkNames(_ links: [(ModelEpisode, ModelShow)]) -> [Int64: String] {
        var taken: Set<String> = []
        var names: [Int64: String] = [:]
        for (episode, show) in links.sorted(by: { $0.0.id < $1.0.id }) {
            var stem = "\(episode.stem) - \(show.name)"
            while stem.utf8.count > 235 { stem.removeLast() }
            while stem.last?.isWhitespace == true { stem.removeLast() }
            stem = ModelLibrary.unique(stem, among: taken)
            taken.insert(stem.lowercased())
            names[episode.id] = "\(stem).\(episode.item.kind.fileExtension)"
        }
        return names
    }

    // MARK: Nodes

    /// Returns the node at a path; `nil` if there is none.
    func node(at path: [String]) -> ModelNode? {
        guard let last = path.last else { return ModelNode(folder: Self.rootInode, modified: ModelRange(started)) }
        if path.count == 2, path[0] == ".search" || path[0] == ".find" {
            let kind: UInt64 = path[0] == ".search" ? 17 : 36
            return last.hasPrefix(".") || last.isEmpty || last.utf8.count > 255 ? nil : termNode(kind)
        }
        let folder = Array(path.dropLast())
        let listed = names(in: folder)?.first { $0.name.utf8.elementsEqual(last.utf8) }
        guard let listed else { return encodedLink(path) ?? encoded(path).flatMap { episodeNode($0.0, $0.1) } }
        let row = Int64(listed.inode & (1 << 40 - 1))
        switch listed.inode >> 58 {
        case 0: return fixedNode(last, listed.inode)
        case 1: return library[show: row].map(showNode)
        case 2:
            guard let episode = library[episode: row], let show = library.show(of: row) else { return nil }
            return episodeNode(episode, show)
        case 4: return ModelNode(folder: listed.inode, modified: .between(0, .max))
        case 22: return library.view(path[0]).map { viewPlaylist($0, listed.inode) }
        case 23: return ModelNode(file: listed.inode, .bytes([]), modified: ModelRange(started))
        case 24, 25, 27: return ModelNode(folder: listed.inode, modified: ModelRange(started))
        case 26: return library[show: row].map { tagLink(listed, $0) }
        case 28: return library[show: row].map { ModelNode(folder: listed.inode, modified: ModelRange($0.newest)) }
        case 29:
            guard let episode = library[episode: row], let show = library.show(of: row) else { return nil }
            return taggedNode(episode, show)
        case 34:
            return ModelNode(file: listed.inode, .judged { Self.judgeView($0) }, modified: .between(0, .max))
        case 16, 35: return ModelNode(folder: listed.inode, modified: ModelRange(started))
        case 5: return linkNode(listed, row)
        case 7, 8, 9, 14, 21, 40: return library[show: row].flatMap { showFile($0, listed) }
        case 10, 11:
            guard let show = show(path[0]) else { return nil }
            return ModelNode(folder: listed.inode, modified: ModelRange(show.newest))
        default: return library[episode: row].flatMap { sidecar(of: $0, listed) }
        }
    }

    private func termNode(_ kind: UInt64) -> ModelNode {
        var node = ModelNode(folder: 0, modified: ModelRange(started))
        // Terms are numbered in the order of their lookups, so the row is unknown.
        node.inode = Self.inode(kind, 0)
        return node
    }

    private func linkNode(_ listed: ModelName, _ row: Int64) -> ModelNode? {
        guard let episode = library[episode: row], let show = library.show(of: row) else { return nil }
        return link(listed, to: "../\(show.name)/\(episode.name)", modified: ModelRange(episode.modified))
    }

    private func tagLink(_ listed: ModelName, _ show: ModelShow) -> ModelNode {
        link(listed, to: "../../\(show.name)", modified: ModelRange(show.newest))
    }

    private func link(_ listed: ModelName, to target: String, modified: ModelRange) -> ModelNode {
        var node = ModelNode(file: listed.inode, .none, modified: modified)
        node.kind = .link
        node.permissions = 0o777
        node.target = target
        node.sizes = .exactly(Int64(target.utf8.count))
        node.blocks = .exactly(0)
        return node
    }

    private func showNode(_ show: ModelShow) -> ModelNode {
        var node = ModelNode(folder: Self.inode(1, show.id), modified: ModelRange(show.newest))
        node.show = show.id
        node.attributes = attributes(of: show)
        return node
    }

    private func episodeNode(_ episode: ModelEpisode, _ show: ModelShow) -> ModelNode {
        var node = ModelNode(
            file: Self.inode(2, episode.id), .media(episode.content), modified: ModelRange(episode.modified))
        node.episode = episode.id
        node.sizes = .oneOf(Set(episode.sizes.map(Int64.init)))
        let received = episode.received
        node.blocks = ModelRange(
            Int64(max(1, (received.lowerBound + 511) / 512))...Int64(max(1, (received.upperBound + 511) / 512)))
        node.attributes = attributes(of: episode, show)
        return node
    }

    private func taggedNode(_ episode: ModelEpisode, _ show: ModelShow) -> ModelNode {
        var node = episodeNode(episode, show)
        node.inode = Self.inode(29, episode.id)
        node.content = .tagged(episode.content, title: episode.item.title)
        node.sizes = .oneOf(Set(episode.taggedSizes.map(Int64.init)))
        // The file lacks the attributes that describe the bytes of the original.
        for name in ["sha256", "ranges"] { node.attributes["user.podfs." + name] = nil }
        return node
    }

    /// Returns the episode whose percent-encoded file name is the last component of `path`. A mount also finds files by
    /// these names, for players that do not decode the lines of a playlist.
    private func encoded(_ path: [String]) -> (ModelEpisode, ModelShow)? {
        guard path.count == 2, let show = show(path[0]) else { return nil }
        return show.episodes.first {
            let line = Self.playlistName($0.name)
            return line != $0.name && line.utf8.elementsEqual(path[1].utf8)
        }.map { ($0, show) }
    }

    /// Returns the link in a view whose percent-encoded name is the last component of `path`.
    private func encodedLink(_ path: [String]) -> ModelNode? {
        guard path.count == 2, let view = library.view(path[0]) else { return nil }
        let link = links(view).first { _, name in
            let line = Self.playlistName(name)
            return line != name && line.utf8.elementsEqual(path[1].utf8)
        }
        guard let (episode, name) = link else { return nil }
        return linkNode(ModelName(name: name, inode: Self.inode(5, episode.id), kind: .link), episode.id)
    }

    // MARK: Files

    private func fixedNode(_ name: String, _ inode: UInt64) -> ModelNode {
        let always = ModelRange.between(started.lowerBound, .max)
        switch name {
        case ".status":
            return ModelNode(file: inode, .judged { [self] in judgeStatus($0) }, modified: always)
        case ".status.json":
            return ModelNode(file: inode, .judged { [self] in judgeStatusJSON($0) }, modified: always)
        case ".status.html":
            return ModelNode(file: inode, .judged { [self] in judgeStatusPage($0) }, modified: always)
        case "index.html":
            return ModelNode(file: inode, .judged { [self] in judgeShelf($0) }, modified: .between(0, .max))
        case ".subscriptions.opml":
            return ModelNode(file: inode, .judged { [self] in judgeSubscriptions($0) }, modified: .between(0, .max))
        default: return ModelNode(file: inode, .bytes([]), modified: ModelRange(started))
        }
    }

    private func showFile(_ show: ModelShow, _ listed: ModelName) -> ModelNode? {
        switch listed.name {
        case "playlist.m3u8":
            let text = playlist(show)
            return ModelNode(
                file: listed.inode,
                .judged { found in
                    // Empty lines fill the file.
                    let rest = found.dropFirst(text.utf8.count)
                    return found.starts(with: text.utf8) && rest.allSatisfy { $0 == 10 } ? nil : text
                }, modified: .between(show.changed.lowerBound, .max))
        case "index.html":
            // Its mtime is that of the last change of any episode.
            return ModelNode(
                file: listed.inode, .judged { Self.judgePage($0, show) },
                modified: .between(show.changed.lowerBound, .max))
        case ".feed.json":
            let moment = show.changed.lowerBound...max(show.changed.upperBound, show.refreshed.upperBound)
            var node = ModelNode(
                file: listed.inode, .judged { [self] in judgeFeed($0, show) }, modified: ModelRange(moment))
            node.permissions = 0o400
            return node
        case ".feed.xml.txt":
            var node = ModelNode(
                file: listed.inode, .bytes(Array(show.document.utf8)), modified: ModelRange(show.refreshed))
            node.permissions = 0o400
            return node
        case ".directory":
            return ModelNode(
                file: listed.inode, .bytes(Array("[Desktop Entry]\nIcon=./cover.jpg\n".utf8)),
                modified: ModelRange(show.changed))
        case "cover.jpg":
            var node = ModelNode(file: listed.inode, .bytes(show.feed.cover), modified: ModelRange(show.changed))
            if !show.hasCoverCached { (node.sizes, node.blocks) = (.exactly(2 << 20), .exactly(1)) }
            node.show = show.id
            return node
        default: return nil
        }
    }

    private func sidecar(of episode: ModelEpisode, _ listed: ModelName) -> ModelNode? {
        let modified = ModelRange(episode.modified)
        switch listed.inode >> 58 {
        case 12:
            let number = episode.item.number
            return ModelNode(
                file: listed.inode,
                .judged { bytes in
                    let text = String(decoding: bytes, as: UTF8.self)
                    return text.contains("Notes of \(number) with <b>bold</b> words") ? nil : "its notes"
                }, modified: modified)
        case 13: return ModelNode(file: listed.inode, .judged { Self.judgeChapters($0, episode) }, modified: modified)
        case 15:
            var node = ModelNode(file: listed.inode, .bytes(episode.item.art), modified: modified)
            if !episode.hasArtCached { (node.sizes, node.blocks) = (.exactly(2 << 20), .exactly(1)) }
            node.episode = episode.id
            return node
        case 19:
            var node = ModelNode(file: listed.inode, .bytes(episode.item.transcript), modified: modified)
            if !episode.hasTranscriptCached { (node.sizes, node.blocks) = (.exactly(1 << 20), .exactly(1)) }
            node.episode = episode.id
            return node
        default: return nil
        }
    }
}
