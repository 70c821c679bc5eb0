package import Fuse
internal import PodcastLibrary
internal import SystemPackage

// Listings of folders, from opendir(3) to closedir(3).
extension PodcastFilesystem {
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
            let kept = kernelListings.open(node, handle, snapshot) { files.lastChange }
            if let end = kept.end { files.setEnd(end, of: handle) }
            let open = OpenReply(handle: handle, keepCache: kept.way.keeps, cacheReaddir: kept.way.caches)
            if !request.reply(open: open) {
                kernelListings.abandon(node, handle)
                files.removeFolder(handle)
            }
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    func snapshot(of number: NodeNumber) throws -> FolderSnapshot? {
        // Before anything is looked at: what changes meanwhile is looked at again.
        let change = files.lastChange
        let basis = try basis(of: number, change)
        if let basis, let known = lastListing.names(basis) { return known }
        var snapshot = try makeSnapshot(of: number)
        snapshot?.change = change
        guard let basis, let snapshot else { return snapshot }
        return lastListing.keep(snapshot, basis, isCertain: try self.basis(of: number, files.lastChange) == basis)
    }

    /// What the names of a folder go by; `nil` for one whose names are not kept.
    private func basis(of number: NodeNumber, _ change: UInt64) throws -> LastListing.Basis? {
        switch number.kind {
        case .show, .notesFolder, .chaptersFolder:
            LastListing.Basis(
                folder: number, library: try library.changeCounter(), change: change, accesses: files.accesses,
                feeds: .init(of: options.feeds), assets: .init(of: options.assets))
        default: nil
        }
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
            guard let show = try library.folder(id: number.show) else { return nil }
            let entries = try library.entries(of: number.show)
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
            let isOutdated = kernelListings.asked(node, page.handle)
            guard var folder = files.folder(page.handle) else {
                request.reply(error: .badFileDescriptor)
                return
            }
            // The names are those of opendir(3), and from a rewinddir(3) on those of that moment, as POSIX has it.
            if page.offset == 0, !folder.isNew || isOutdated, var fresh = try snapshot(of: folder.names.number) {
                if fresh.base == folder.names.base { fresh.end = folder.names.end }
                folder.names = fresh
                files.replace(page.handle, with: folder)
                kernelListings.rewind(node, page.handle, to: fresh)
            } else if page.withAttributes, folder.names.change != files.lastChange {
                folder.names = try upToDate(folder.names)
                files.replace(page.handle, with: folder)
            }
            var names = folder.names
            if names.position(of: page.offset) == nil, let others = kernelListings.names(of: node, at: page.offset) {
                names = page.withAttributes && others.change != files.lastChange ? try upToDate(others) : others
            }
            guard let position = names.position(of: page.offset) else {
                // As from a folder that is no more: the end for readdir(3), and not for what the kernel keeps.
                request.reply(error: .noSuchFileOrDirectory)
                return
            }
            let isStale = position == names.items.count + 2 && kernelListings.ended(node, page.handle)
            request.reply(listing: page) { buffer in
                guard let reached = fill(&buffer, from: names, position, page) else { return }
                kernelListings.answered(node, page.handle, to: reached)
            }
            if isStale { dropListing(node) }
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    /// The same names with the attributes of now: the kernel remembers these for long, and they may not be those of a time
    /// before the last change that it was told of.
    private func upToDate(_ names: FolderSnapshot) throws -> FolderSnapshot {
        names.updated(by: try snapshot(of: names.number) ?? FolderSnapshot(number: names.number, items: []))
    }

    /// Adds `.`, `..` and the items in order, from a position on.
    ///
    /// - Returns: the offset of what follows; `nil` when nothing was added.
    private func fill(
        _ buffer: inout DirectoryBuffer, from folder: FolderSnapshot, _ position: Int, _ page: DirectoryPage
    ) -> UInt64? {
        var last: UInt64?
        if position < 1 {
            let (own, next) = (folder.number.inode, folder.base + 1)
            guard buffer.add(name: ".", inode: own, kind: .directory, nextOffset: next) else { return last }
            last = next
        }
        if position < 2 {
            let (parent, next) = (folder.number.parent.inode, folder.base + 2)
            guard buffer.add(name: "..", inode: parent, kind: .directory, nextOffset: next) else { return last }
            last = next
        }
        let first = max(position, 2) - 2
        guard first < folder.items.count else { return last }
        let isUpToDate = !page.withAttributes || files.isQuiet(since: folder.change)
        for index in first..<folder.items.count {
            let next = folder.nextOffset(index)
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
                let known = isUpToDate ? episode : current(episode, since: folder.change)
                fits = buffer.add(name: episode.name, entry: entry(known), nextOffset: next)
            }
            if !fits { return last }
            last = next
        }
        return last
    }

    /// The kernel believes what a listing says for as long as what a lookup does: the names may be those of the snapshot,
    /// the attributes may not.
    private func current(_ episode: EpisodeAttributes, since change: UInt64) -> EpisodeAttributes {
        let wasKept = files.asked(episode.number)
        guard wasKept || files.hasChanged(episode.number.episode, since: change),
            let entry = try? library.entry(id: episode.number.episode)
        else { return episode }
        return attributes(of: entry)
    }

    package func releasedir(_ request: consuming Request, node: NodeID, handle: FileHandle) {
        kernelListings.close(node, handle)
        files.removeFolder(handle)
        options.onWork()
        request.replyDone()
    }
}
