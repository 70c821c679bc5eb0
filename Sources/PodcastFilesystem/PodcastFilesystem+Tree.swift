package import Fuse
internal import Glibc
internal import PodcastLibrary
internal import Synchronization
internal import SystemPackage

// Names, attributes and listings: from the library alone.
extension PodcastFilesystem: FilesystemOperations {
    /// The longest name in bytes, as statfs(2) tells it. The kernel asks for names four times as long (FUSE_NAME_MAX), or
    /// as long as a path.
    private static let longestName = Int(NAME_MAX)

    package func lookup(_ request: consuming Request, parent: NodeID, name: String) {
        do {
            guard name.utf8.count <= Self.longestName else { throw Errno.fileNameTooLong }
            if parent == NodeNumber.search.node {
                lookUpTerm(request, name)
                return
            }
            guard let folder = NodeNumber(parent), let found = try find(name, in: folder) else {
                request.reply(error: .noSuchFileOrDirectory)
                return
            }
            request.reply(entry: found)
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    private func find(_ name: String, in folder: NodeNumber) throws -> Entry? {
        switch folder.kind {
        case .fixed:
            guard folder == .root else { return nil }
            if let file = FixedFile(name: name) {
                let size = try render(file).count
                return Entry(
                    node: file.number.node, attributes: attributes(of: file, size: size),
                    attributeTimeout: timeout(of: file), entryTimeout: Self.timeout)
            }
            if name == Self.searchFolder { return searchEntry() }
            if let gathering = Gathering(name: name) { return entry(of: gathering) }
            guard let show = try library.folder(named: name) else { return nil }
            return entry(show: show.id, modified: show.newest ?? show.changed, changed: show.changed)
        case .term:
            return try findShow(name, in: folder)
        case .show:
            if let made = try findMade(name, of: folder.row) { return made }
            if let found = try episode(name, of: folder.row) { return entry(found) }
            return try findAsset(name, of: folder.row) ?? findEncoded(name, of: folder.row)
        case .foundShow:
            return try episode(name, of: folder.row).map { entry($0) }
        case .gathering:
            guard let gathering = Gathering(rawValue: folder.row) else { return nil }
            return try links(of: gathering).first { $0.name.utf8.elementsEqual(name.utf8) }.map { entry($0) }
        case .notesFolder, .chaptersFolder:
            return try findSidecar(name, in: folder)
        case .episode, .search, .latestLink, .downloadedLink, .playlist, .page, .feedJSON, .feedXML, .notes, .chapters,
            .cover, .art, .vtt, .srt:
            return nil
        }
    }

    private func episode(_ name: String, of show: Int64) throws -> EpisodeAttributes? {
        guard let found = try library.entry(of: show, named: name) else { return nil }
        return try upToDate(attributes(of: found))
    }

    /// What the kernel is to be answered of an episode: what was gathered, unless changes have been kept from it.
    private func upToDate(_ episode: EpisodeAttributes) throws -> EpisodeAttributes {
        guard files.asked(episode.number), let entry = try library.entry(id: episode.number.row) else { return episode }
        return attributes(of: entry)
    }

    package func getattr(_ request: consuming Request, node: NodeID, handle: FileHandle?) {
        do {
            guard let number = NodeNumber(node) else {
                request.reply(error: .staleNFSFileHandle)
                return
            }
            switch number.kind {
            case .fixed:
                if number == .root {
                    request.reply(attributes: rootAttributes(), timeout: Self.timeout)
                    return
                }
                guard let file = FixedFile(rawValue: number.row) else { break }
                let content = handle.flatMap { files.file($0)?.content }
                let size = try content?.size ?? Int64(render(file).count)
                request.reply(attributes: attributes(of: file, size: Int(size)), timeout: timeout(of: file))
                return
            case .gathering:
                guard let gathering = Gathering(rawValue: number.row) else { break }
                request.reply(attributes: attributes(of: gathering), timeout: Self.timeout)
                return
            case .latestLink, .downloadedLink:
                guard let link = try link(number) else { break }
                request.reply(attributes: link.attributes(owner: options.owner), timeout: Self.timeout)
                return
            case .notesFolder, .chaptersFolder:
                guard let attributes = try sidecarFolderAttributes(number) else { break }
                request.reply(attributes: attributes, timeout: Self.timeout)
                return
            case .playlist, .page, .feedJSON, .feedXML, .notes, .chapters, .cover, .art, .vtt, .srt:
                guard let made = try made(number) else { break }
                var attributes = attributes(of: made, number)
                // An open one is as it was.
                if let content = handle.flatMap({ files.file($0)?.content }) { attributes.size = content.size }
                request.reply(attributes: attributes, timeout: timeout(ofMade: number))
                return
            case .show:
                guard let show = try library.folder(id: number.row) else { break }
                request.reply(
                    attributes: folderAttributes(
                        number, modified: show.newest ?? show.changed, changed: show.changed),
                    timeout: Self.timeout)
                return
            case .search, .term, .foundShow:
                guard let attributes = try searchAttributes(number) else { break }
                request.reply(attributes: attributes, timeout: Self.searchTimeout)
                return
            case .episode:
                files.asked(number)
                guard let entry = try library.entry(id: number.row) else { break }
                var attributes = attributes(of: entry).attributes(owner: options.owner)
                // A handle of an older rendition has that one's size.
                if entry.generation != number.generation, let handle, let file = files.file(handle) {
                    attributes.size = file.media.withLock { $0.total } ?? attributes.size
                }
                request.reply(attributes: attributes, timeout: Self.timeout)
                return
            }
            request.reply(error: .staleNFSFileHandle)
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    // MARK: Listings

    package func opendir(_ request: consuming Request, node: NodeID) {
        do {
            let number = NodeNumber(node)
            if let number, number.kind == .term || number.kind == .foundShow {
                openFound(request, number)
                return
            }
            guard let number, let snapshot = try snapshot(of: number) else {
                request.reply(error: .noSuchFileOrDirectory)
                return
            }
            let handle = files.add(snapshot)
            if !request.reply(open: OpenReply(handle: handle)) { files.removeFolder(handle) }
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    func snapshot(of number: NodeNumber) throws -> FolderSnapshot? {
        // Before anything is looked at: what changes meanwhile is looked at again.
        let change = files.lastChange
        let basis =
            number.kind == .show
            ? LastListing.Basis(
                folder: number, library: try library.changeCounter(), change: change, accesses: files.accesses,
                feeds: .init(of: options.feeds), assets: .init(of: options.assets)) : nil
        if let basis, let known = lastListing.names(basis) { return known }
        var snapshot = try makeSnapshot(of: number)
        snapshot?.change = change
        if let basis, let snapshot { lastListing.keep(snapshot, basis) }
        return snapshot
    }

    private func makeSnapshot(of number: NodeNumber) throws -> FolderSnapshot? {
        switch number.kind {
        case .fixed:
            guard number == .root else { return nil }
            let shows = try library.folders().map { show in
                FolderSnapshot.Item.show(
                    id: show.id, name: show.name, modified: show.newest ?? show.changed, changed: show.changed)
            }
            let made = FixedFile.allCases.map { FolderSnapshot.Item.made($0) }
            let links = Gathering.allCases.map { gathering in
                let changed = gatherings.changed(gathering) ?? started
                return FolderSnapshot.Item.folder(
                    gathering.number, name: gathering.name, modified: changed, changed: changed)
            }
            return FolderSnapshot(number: number, items: made + [searchItem] + links + shows)
        case .search, .term:
            return try searchSnapshot(of: number)
        case .show, .foundShow:
            guard let show = try library.folder(id: number.row) else { return nil }
            let entries = try library.entries(of: number.row)
            let episodes = entries.map { FolderSnapshot.Item.episode(attributes(of: $0)) }
            // What is found and not subscribed is its episodes alone.
            guard number.kind == .show else { return FolderSnapshot(number: number, items: episodes) }
            let items = madeItems(of: show) + episodes + (try assetItems(of: show.id, entries))
            return FolderSnapshot(number: number, items: items)
        case .gathering:
            guard let gathering = Gathering(rawValue: number.row) else { return nil }
            return FolderSnapshot(number: number, items: try links(of: gathering).map { .link($0) })
        case .notesFolder, .chaptersFolder:
            return try sidecarSnapshot(of: number)
        case .episode, .latestLink, .downloadedLink, .playlist, .page, .feedJSON, .feedXML, .notes, .chapters,
            .cover, .art, .vtt, .srt:
            return nil
        }
    }

    package func readdir(_ request: consuming Request, node: NodeID, page: DirectoryPage) {
        do {
            let known = files.folder(page.handle)
            var folder = known?.names
            // The names are those of opendir(3), and from a rewinddir(3) on those of that moment, as POSIX has it.
            if page.offset == 0, !(known?.isNew ?? false), let number = NodeNumber(node),
                let fresh = try snapshot(of: number)
            {
                files.replace(page.handle, with: fresh)
                folder = fresh
            } else if page.withAttributes, let known = folder, known.change != files.lastChange {
                // The kernel remembers the attributes for long: they may not be those of a time before the last change
                // that it was told of.
                let fresh = try snapshot(of: known.number) ?? FolderSnapshot(number: known.number, items: [])
                let updated = known.updated(by: fresh)
                files.replace(page.handle, with: updated)
                folder = updated
            }
            guard let folder else {
                request.reply(error: .badFileDescriptor)
                return
            }
            request.reply(listing: page) { buffer in fill(&buffer, from: folder, page) }
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    /// Offsets are 1 for `.`, 2 for `..`, then the items in order.
    private func fill(_ buffer: inout DirectoryBuffer, from folder: FolderSnapshot, _ page: DirectoryPage) {
        let offset = page.offset
        if offset < 1 {
            guard buffer.add(name: ".", inode: folder.number.inode, kind: .directory, nextOffset: 1) else { return }
        }
        if offset < 2 {
            let parent = folder.number.parent.inode
            guard buffer.add(name: "..", inode: parent, kind: .directory, nextOffset: 2) else { return }
        }
        let first = Int(max(offset, 2)) - 2
        guard first < folder.items.count else { return }
        for index in first..<folder.items.count {
            let next = UInt64(index) + 3
            let fits: Bool
            switch folder.items[index] {
            case .made(let file):
                // Rendered when it alone is looked at.
                fits = buffer.add(name: file.name, inode: file.number.inode, kind: .regular, nextOffset: next)
            case .show(let id, let name, let modified, let changed):
                fits = buffer.add(
                    name: name, entry: entry(show: id, modified: modified, changed: changed), nextOffset: next)
            case .folder(let number, let name, let modified, let changed):
                let entry = folderEntry(number, modified: modified, changed: changed)
                fits = buffer.add(name: name, entry: entry, nextOffset: next)
            case .file(let number, let name):
                fits = buffer.add(name: name, inode: number.inode, kind: .regular, nextOffset: next)
            case .unknown(let number, let name, let kind):
                fits = buffer.add(name: name, inode: number.inode, kind: kind, nextOffset: next)
            case .asset(let number, let name, let size, let modified, let changed):
                let entry = assetEntry(number, size: size, modified: modified, changed: changed)
                fits = buffer.add(name: name, entry: entry, nextOffset: next)
            case .link(let link):
                fits = buffer.add(name: link.name, entry: entry(link), nextOffset: next)
            case .episode(let episode):
                let known = page.withAttributes ? current(episode, since: folder.change) : episode
                fits = buffer.add(name: episode.name, entry: entry(known), nextOffset: next)
            }
            if !fits { return }
        }
    }

    /// The kernel believes what a listing says for as long as what a lookup does: the names may be those of the snapshot,
    /// the attributes may not.
    private func current(_ episode: EpisodeAttributes, since change: UInt64) -> EpisodeAttributes {
        let wasKept = files.asked(episode.number)
        guard wasKept || files.hasChanged(episode.number.row, since: change),
            let entry = try? library.entry(id: episode.number.row)
        else { return episode }
        return attributes(of: entry)
    }

    package func releasedir(_ request: consuming Request, node: NodeID, handle: FileHandle) {
        files.removeFolder(handle)
        request.replyDone()
    }

    package func statfs(_ request: consuming Request, node: NodeID) {
        let unit: Int64 = 4096
        let used = (try? library.cachedBytes()) ?? 0
        let free = UInt64(max(0, options.cacheLimit - used) / unit)
        request.reply(
            statistics: FilesystemStatistics(
                blockSize: UInt64(unit), blocks: UInt64(options.cacheLimit / unit), freeBlocks: free,
                availableBlocks: free))
    }

    static func errno(of error: any Error) -> Errno {
        switch error {
        case let error as Errno: error
        case LibraryError.busy: .resourceTemporarilyUnavailable
        default: .ioError
        }
    }
}
