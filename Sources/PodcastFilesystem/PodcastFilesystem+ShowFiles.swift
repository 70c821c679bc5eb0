internal import Fuse
internal import Glibc
internal import PodcastLibrary
internal import PodcastPages
internal import SystemPackage
internal import TransferCore

// What is made in a show's folder beside its episodes: from the library, and for the feed from the documents that the
// daemon keeps. Nothing of it is rendered for a listing.
extension PodcastFilesystem {
    /// The folders of sidecars, and what is in them.
    enum SidecarFolder: CaseIterable {
        case notes
        case chapters

        init?(_ kind: NodeNumber.Kind) {
            guard let folder = Self.allCases.first(where: { $0.kind == kind }) else { return nil }
            self = folder
        }

        var kind: NodeNumber.Kind {
            switch self {
            case .notes: .notesFolder
            case .chapters: .chaptersFolder
            }
        }

        var name: String {
            switch self {
            case .notes: ".notes"
            case .chapters: ".chapters"
            }
        }

        var sidecar: Sidecars {
            switch self {
            case .notes: .notes
            case .chapters: .chapters
            }
        }

        /// Of the files in it.
        var fileKind: NodeNumber.Kind {
            switch self {
            case .notes: .notes
            case .chapters: .chapters
            }
        }

        var fileExtension: String {
            switch self {
            case .notes: "html"
            case .chapters: "json"
            }
        }
    }

    /// The files that every show has, and the feed's document, which is there when the daemon has one.
    ///
    /// That document is text by its name: it is the feed's byte for byte, and browsers run the scripts that any XML may
    /// have (XHTML's `script`, a style sheet of XSLT). Chromium takes `.xml`, `.rss` and `.atom` for XML from `file:`, and
    /// web servers tell it of `.xml`; `.txt` all of them show.
    private static let showFiles: [(kind: NodeNumber.Kind, name: String)] = [
        (.playlist, "playlist.m3u8"), (.page, "index.html"), (.feedJSON, ".feed.json"), (.feedXML, ".feed.xml.txt"),
    ]

    /// How long the kernel believes the size of notes and chapters, in seconds: a refresh may change those of many
    /// episodes, and tells of the show alone. Opening one makes sure.
    static let sidecarTimeout: Double = 60

    // MARK: Names

    /// What has this name in a show's folder and is no episode.
    func findMade(_ name: String, of show: ShowID) throws -> Entry? {
        if let (kind, _) = Self.showFiles.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
            return try madeEntry(NodeNumber(kind: kind, row: show))
        }
        guard let folder = SidecarFolder.allCases.first(where: { $0.name.utf8.elementsEqual(name.utf8) }),
            let row = try library.folder(id: show)
        else { return nil }
        return folderEntry(
            NodeNumber(kind: folder.kind, row: show), modified: row.newest ?? row.changed, changed: row.changed)
    }

    /// The episode that the playlist calls by this name. The kernel is told of changes of the other one alone, and so it
    /// is to ask again each time.
    func findEncoded(_ name: String, of show: ShowID) throws -> Entry? {
        guard let plain = Playlist.fileName(ofEncoded: name), let found = try library.entry(of: show, named: plain)
        else {
            return nil
        }
        var entry = entry(attributes(of: found))
        entry.entryTimeout = 0
        return entry
    }

    func findSidecar(_ name: String, in number: NodeNumber) throws -> Entry? {
        guard let folder = SidecarFolder(number.kind), FileName.fileExtension(of: name) == folder.fileExtension,
            let entry = try library.entry(of: number.show, stem: FileName.stem(ofFile: name))
        else { return nil }
        return try madeEntry(NodeNumber(kind: folder.fileKind, row: entry.id))
    }

    private func madeEntry(_ number: NodeNumber) throws -> Entry? {
        guard let made = try made(number) else { return nil }
        return Entry(
            node: number.node, attributes: attributes(of: made, number), attributeTimeout: timeout(ofMade: number),
            entryTimeout: Self.timeout)
    }

    /// The items of a show's folder that are no episodes.
    func madeItems(of show: FolderEntry) -> [FolderSnapshot.Item] {
        var items: [FolderSnapshot.Item] = []
        for (kind, name) in Self.showFiles {
            // The document is looked for by its name alone.
            if kind == .feedXML, !Self.exists(document(of: show.id, "xml")) { continue }
            items.append(.file(NodeNumber(kind: kind, row: show.id), name: name))
        }
        for folder in SidecarFolder.allCases {
            items.append(
                .folder(
                    NodeNumber(kind: folder.kind, row: show.id), name: folder.name,
                    modified: show.newest ?? show.changed, changed: show.changed))
        }
        return items
    }

    func sidecarSnapshot(of number: NodeNumber) throws -> FolderSnapshot? {
        guard let folder = SidecarFolder(number.kind), try library.folder(id: number.show) != nil else { return nil }
        let items = try library.entries(of: number.show, with: folder.sidecar).map { entry in
            FolderSnapshot.Item.file(
                NodeNumber(kind: folder.fileKind, row: entry.id),
                name: "\(FileName.stem(ofFile: entry.name)).\(folder.fileExtension)")
        }
        return FolderSnapshot(number: number, items: items)
    }

    func sidecarFolderAttributes(_ number: NodeNumber) throws -> Attributes? {
        try library.folder(id: number.show).map {
            folderAttributes(number, modified: $0.newest ?? $0.changed, changed: $0.changed)
        }
    }

    // MARK: Content

    /// A made file of this moment.
    struct Made {
        var content: MadeContent
        /// Seconds.
        var modified: Int64
        var changed: Int64
    }

    /// `nil` when there is no such file (any more).
    func made(_ number: NodeNumber) throws -> Made? {
        switch number.kind {
        case .playlist:
            guard let show = try library.podcast(id: number.show), let folder = try library.folder(id: number.show)
            else { return nil }
            let playlist = Playlist(
                title: show.title, tracks: try library.tracks(of: show.id), isSerial: show.type == "serial")
            let modified = max(folder.newest ?? 0, show.changed)
            return Made(content: MadeContent(playlist.bytes), modified: modified, changed: show.changed)
        case .page: return try madePage(of: number.show)
        case .feedJSON:
            guard let show = try library.podcast(id: number.show) else { return nil }
            let moment = max(show.changed, show.lastRefresh ?? 0)
            return Made(content: feedJSON(of: show), modified: moment, changed: moment)
        case .feedXML:
            guard let show = try library.podcast(id: number.show),
                let content = MadeContent.file(document(of: show.id, "xml"))
            else { return nil }
            let moment = show.lastRefresh ?? show.changed
            return Made(content: content, modified: moment, changed: moment)
        case .notes:
            guard let episode = try library.episode(id: number.episode), let notes = episode.notes, !notes.isEmpty,
                let show = try library.podcast(id: episode.podcast)
            else { return nil }
            let page = NotesPage(episode, notes: notes, show: show)
            return Made(content: MadeContent(page.bytes), modified: episode.modified, changed: episode.changed)
        case .chapters:
            guard let episode = try library.episode(id: number.episode) else { return nil }
            let extras = try library.extras(of: episode.id)
            if extras.chapters.isEmpty, extras.chaptersURL != nil { return try madeAsset(number) }
            let chapters = extras.chapters
            guard !chapters.isEmpty else { return nil }
            let list = ChapterList(chapters, title: episode.title)
            return Made(content: MadeContent(list.bytes), modified: episode.modified, changed: episode.changed)
        case .cover, .art, .vtt, .srt: return try madeAsset(number)
        default: return nil
        }
    }

    /// What the feed says, as the daemon has written it down, with the show's health before it.
    private func feedJSON(of show: Podcast) -> MadeContent {
        let health = FeedHealth(show)
        let opening = FeedHealth.documentOpening
        if let content = MadeContent.file(
            document(of: show.id, "json"), head: health.openingBytes, skipping: Int64(opening.count))
        {
            return content
        }
        return MadeContent(health.bytes)
    }

    func attributes(of made: Made, _ number: NodeNumber) -> Attributes {
        files.tell(made.content.size, of: number)
        let isPrivate = number.kind == .feedJSON || number.kind == .feedXML
        return Attributes(
            inode: number.inode, kind: .regular, permissions: isPrivate ? 0o400 : 0o444, size: made.content.size,
            blocks: (made.content.size + 511) / 512, uid: options.owner.uid, gid: options.owner.gid,
            accessed: Timestamp(seconds: made.modified), modified: Timestamp(seconds: made.modified),
            changed: Timestamp(seconds: made.changed))
    }

    /// The feed's files change without a word: a refresh that brings nothing new is one all the same.
    func timeout(ofMade number: NodeNumber) -> Double {
        switch number.kind {
        case .feedJSON, .feedXML: 0
        case .notes, .chapters, .cover, .art, .vtt, .srt: Self.sidecarTimeout
        default: Self.timeout
        }
    }

    /// Whether somebody else may not open it: the feed may hold what its address keeps secret.
    func refuses(_ number: NodeNumber, to uid: UInt32) -> Bool {
        (number.kind == .feedJSON || number.kind == .feedXML) && !mayControl(uid) && uid != 0
    }

    private func document(of show: ShowID, _ fileExtension: String) -> FilePath {
        options.feeds.appending("\(show).\(fileExtension)")
    }

    private static func exists(_ path: FilePath) -> Bool { path.withPlatformString { Glibc.access($0, F_OK) == 0 } }
}

extension Episode {
    /// Without a date, an episode was published when it was first seen.
    fileprivate var modified: Int64 { published ?? firstSeen }
}
