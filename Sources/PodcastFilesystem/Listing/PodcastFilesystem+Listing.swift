package import Fuse
internal import Glibc
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage

// Listings of folders, from opendir(3) to closedir(3).
extension PodcastFilesystem {
    package func opendir(_ request: consuming Request, node: NodeID) {
        do {
            guard let number = NodeNumber(node) else { throw Errno.noSuchFileOrDirectory }
            guard let command = try behaviour(of: number).commandBeforeListing() else {
                return reply(request, number, Result { try snapshot(of: number) }, ifGone: .noSuchFileOrDirectory)
            }
            // Indexers open every folder, and must neither search the web nor fetch feeds.
            if isIndexer(request.caller.pid) { throw Errno.permissionDenied }
            let waiting = ParkedRequest(request)
            send(.command, WireJSON.encode(command), for: waiting) { [self] result in
                let outcome = Result { try listed(number, by: result) }
                guard let request = waiting.take() else { return }
                reply(request, number, outcome, ifGone: .staleNFSFileHandle)
            }
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    /// Returns a folder's snapshot after the daemon's response to `commandBeforeListing`.
    private func listed(_ number: NodeNumber, by result: Result<Frame, Failure>) throws -> FolderSnapshot? {
        switch try result.reply() {
        case .foundFolders(let folders):
            state.withLock { $0.kernel.terms.set(found: folders, by: Int(number.row)) }
        case .done: break
        default: throw Errno.ioError
        }
        return try snapshot(of: number)
    }

    private func reply(
        _ request: consuming Request, _ number: NodeNumber, _ outcome: Result<FolderSnapshot?, any Error>,
        ifGone: Errno
    ) {
        switch outcome {
        case .success(let snapshot?):
            let (handle, use) = state.withLock { state in
                let handle = state.files.add(snapshot)
                let isCurrent = snapshot.change == state.kernel.changes.last
                return (handle, state.kernel.directories.open(handle, snapshot, isCurrent: isCurrent))
            }
            var open = OpenReply(handle: handle)
            (open.keepCache, open.cacheReaddir) = (use.keepsCache, use.usesCache)
            if !request.reply(open: open) {
                state.withLock { state in
                    state.kernel.directories[number]?.abandon(handle.rawValue)
                    state.files.folders[handle] = nil
                }
            }
        case .success(nil): request.reply(error: ifGone)
        case .failure(let error): request.reply(error: Self.errno(of: error))
        }
    }

    /// Returns the names in a folder; `nil` if the folder does not exist. For a folder whose listing is cacheable,
    /// these are the stored names of the last call if nothing that determines them has changed since.
    func snapshot(of number: NodeNumber) throws -> FolderSnapshot? {
        let behaviour = behaviour(of: number)
        // The basis (the inputs that determine the names) is read before any row, so that concurrent changes are
        // detected.
        let basis = behaviour.isListingCacheable ? try basis(of: number) : nil
        if let basis, let known = state.withLock({ $0.kernel.directories.names(basis) }) { return known }
        let change = basis?.change ?? state.withLock { $0.kernel.changes.last }
        guard let items = try behaviour.items() else { return nil }
        // If the basis has changed meanwhile, another listing with it may have different names.
        let stable = try basis.flatMap { try self.basis(of: number) == $0 ? $0 : nil }
        let snapshot = FolderSnapshot(number: number, items: items, change: change, basis: stable)
        if stable != nil { state.withLock { $0.kernel.directories.store(snapshot) } }
        return snapshot
    }

    /// Reads the inputs that determine a folder's names.
    private func basis(of number: NodeNumber) throws -> DirectoryCaches.Basis {
        let (change, accesses) = state.withLock { ($0.kernel.changes.last, $0.kernel.accessTimes.changes) }
        return DirectoryCaches.Basis(
            folder: number, library: try library.changeCounter(), change: change, accesses: accesses,
            feeds: DirectoryCaches.Basis.moment(of: options.feeds),
            assets: DirectoryCaches.Basis.moment(of: options.assets))
    }

    package func readdir(_ request: consuming Request, node: NodeID, page: DirectoryPage) {
        do {
            guard let number = NodeNumber(node) else { throw Errno.badFileDescriptor }
            let (isOutdated, open, lastChange) = state.withLock { state in
                let isOutdated = state.kernel.directories[number]?.requested(page.handle.rawValue) ?? false
                defer { state.files.folders[page.handle]?.isNew = false }
                return (isOutdated, state.files.folders[page.handle], state.kernel.changes.last)
            }
            guard let folder = open else { throw Errno.badFileDescriptor }
            var names = folder.names
            // The names are those at the time of opendir(3) or the last rewinddir(3), as in POSIX.
            if page.offset == 0, !folder.isNew || isOutdated, let fresh = try snapshot(of: number) {
                names = fresh
                state.withLock { state in
                    state.files.replace(page.handle, with: fresh)
                    state.kernel.directories[number]?.rewind(page.handle.rawValue, to: fresh.basis)
                }
            } else if page.withAttributes, names.change != lastChange {
                // The kernel caches attributes from a listing for up to a day, so they must not be older than the last
                // change of which the kernel has been notified.
                names = names.updated(
                    by: try snapshot(of: number) ?? FolderSnapshot(number: number, items: [], change: lastChange))
                state.withLock { $0.files.replace(page.handle, with: names) }
            }
            let position = names.position(of: page.offset)
            let isStale =
                position == names.items.count + 2
                && state.withLock { $0.kernel.directories[number]?.finished(page.handle.rawValue) ?? false }
            var sent: ArraySlice<FolderSnapshot.Item> = []
            let change = state.withLock { $0.kernel.changes.last }
            request.reply(listing: page) { buffer in
                guard let reached = fill(&buffer, from: names, position, page) else { return }
                sent = names.items[max(position - 2, 0)..<max(names.position(of: reached) - 2, 0)]
            }
            if page.withAttributes { invalidate(sent, changedSince: change) }
            if isStale { send([.data(number)]) }
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    /// Invalidates the attributes of items that have changed while they were being sent. The invalidation that each
    /// change itself causes may have reached the kernel before the reply with the old attributes.
    private func invalidate(_ items: ArraySlice<FolderSnapshot.Item>, changedSince change: UInt64) {
        let changed = state.withLock { state in
            if state.kernel.changes.last == change { return [] as [NodeNumber] }
            return items.lazy.filter { !$0.isBare }.map(\.facts.number).filter {
                $0.kind == .episode && state.kernel.isOutdated($0, since: change) || $0.kind.coversShow
            }
        }
        send(changed.map { .attributes($0) })
    }

    /// Adds `.`, `..` and the items in order, starting at a position.
    ///
    /// - Returns: The next offset; `nil` if nothing was added.
    private func fill(
        _ buffer: inout DirectoryBuffer, from folder: FolderSnapshot, _ position: Int, _ page: DirectoryPage
    ) -> UInt64? {
        var last: UInt64?
        if position < 1 {
            let (own, next) = (folder.number.inode, UInt64(1))
            guard buffer.add(name: ".", inode: own, kind: .directory, nextOffset: next) else { return last }
            last = next
        }
        if position < 2 {
            let (parent, next) = (behaviour(of: folder.number).parent.inode, UInt64(2))
            guard buffer.add(name: "..", inode: parent, kind: .directory, nextOffset: next) else { return last }
            last = next
        }
        let first = max(position, 2) - 2
        guard first < folder.items.count else { return last }
        let isCurrent = !page.withAttributes || state.withLock { $0.kernel.isCurrent(since: folder.change) }
        for index in first..<folder.items.count {
            let item = folder.items[index]
            let next = item.offset
            let number = item.facts.number
            if item.isBare || !page.withAttributes || !isCurrent && number.kind.coversShow {
                let kind = behaviour(of: number).form.kind
                guard buffer.add(name: item.name, inode: number.inode, kind: kind, nextOffset: next) else {
                    return last
                }
            } else {
                let entry = entry(isCurrent ? item.facts : current(item.facts, since: folder.change))
                guard buffer.add(name: item.name, entry: entry, nextOffset: next) else { return last }
            }
            last = next
        }
        return last
    }

    /// Returns an item's current attributes. They are read from the library again if the item may have changed since
    /// the snapshot, because the kernel caches attributes from a listing as long as those from a lookup. The item's
    /// name remains the one in the snapshot.
    private func current(_ facts: NodeFacts, since change: UInt64) -> NodeFacts {
        guard facts.number.kind == .episode,
            state.withLock({ $0.kernel.isOutdated(facts.number, since: change) }),
            let entry = try? library.entry(id: facts.number.episode)
        else { return facts }
        return self.facts(of: entry)
    }

    package func releasedir(_ request: consuming Request, node: NodeID, handle: FileHandle) {
        state.withLock { state in
            if let number = NodeNumber(node) { state.kernel.directories[number]?.close(handle.rawValue) }
            state.files.folders[handle] = nil
        }
        options.onWork()
        request.replyDone()
    }
}

/// The state of an open directory: the names that readdir returns.
struct OpenFolder: Sendable {
    var names: FolderSnapshot
    /// Whether readdir has not been called yet.
    var isNew = true
}

/// The names in a folder at one time, with their attributes.
struct FolderSnapshot: Sendable {
    /// An entry of a folder.
    struct Item: Sendable {
        let name: String
        let facts: NodeFacts
        /// Whether the item is listed without attributes. If a program needs them, the kernel then looks up the name.
        var isBare = false
        /// The place of the item among those with a rank, only in folders that are not exported over NFS (see
        /// `offset`); `nil` sorts it by its node.
        var rank: Int?

        /// The offset after the item. It is computed from the node's kind and row alone, so that it means the same in
        /// each listing of the folder: an NFS server opens the folder again for each part of a listing. Rows below 33
        /// million fit into the `off_t` of a 32-bit program. An item with a rank has an offset computed from it.
        var offset: UInt64 {
            let kind = UInt64(facts.number.kind.rawValue)
            if let rank { return UInt64(rank + 1) << 6 | kind }
            return facts.number.kind.isUniqueInFolder ? kind : UInt64(facts.number.row) << 6 | kind
        }
    }

    /// The folder's node.
    let number: NodeNumber
    /// The items in the order of their offsets.
    private(set) var items: [Item]
    /// The number of the last change that the items reflect; see `ChangeLog`. The attributes of an item that changed
    /// later are outdated.
    private(set) var change: UInt64
    /// The inputs of the listing, if the kernel may cache the names.
    private(set) var basis: DirectoryCaches.Basis?
    /// Whether the names would fill the kernel's cached pages to the last byte. With such a cache, the kernel
    /// reports the end of the folder to a stream whose position is not in the cache, instead of sending a request
    /// (fuse_readdir_cached).
    let fillsPages: Bool

    init(number: NodeNumber, items: [Item], change: UInt64, basis: DirectoryCaches.Basis? = nil) {
        self.number = number
        self.items = items.sorted { $0.offset < $1.offset }
        self.change = change
        self.basis = basis
        fillsPages = basis != nil && Self.fillsPages(self.items)
    }

    private static func fillsPages(_ items: [Item]) -> Bool {
        let page = sysconf(Int32(_SC_PAGESIZE))
        var size = 0
        for length in [1, 2] + items.lazy.map(\.name.utf8.count) {
            // FUSE_DIRENT_SIZE. No entry spans two pages.
            let entry = (24 + length + 7) & ~7
            let rest = page - size % page
            size += entry > rest ? rest + entry : entry
        }
        return size % page == 0
    }

    /// Returns the number of names, including `.` and `..`, that precede an offset. If the name of the offset is gone,
    /// the listing continues with the next one.
    func position(of offset: UInt64) -> Int {
        if offset < 2 { return Int(offset) }
        var (low, high) = (0, items.count)
        while low < high {
            let middle = (low + high) / 2
            if items[middle].offset <= offset { low = middle + 1 } else { high = middle }
        }
        return low + 2
    }

    /// Returns these names in their order with the attributes of `other`, a later snapshot of the same folder.
    ///
    /// Items that `other` does not contain, or contains under another name, are listed without attributes.
    func updated(by other: FolderSnapshot) -> FolderSnapshot {
        let fresh = Dictionary(other.items.map { ($0.offset, $0) }, uniquingKeysWith: { first, _ in first })
        var copy = self
        copy.change = other.change
        copy.items = items.map { item in
            if let now = fresh[item.offset], now.name.utf8.elementsEqual(item.name.utf8) { return now }
            return Item(name: item.name, bare: item.facts.number)
        }
        return copy
    }
}

extension FolderSnapshot.Item {
    /// Creates an item without attributes, for a file that is rendered only on access, or whose attributes are unknown.
    init(name: String, bare number: NodeNumber) {
        self.init(name: name, facts: NodeFacts(number, size: 0, modified: 0, changed: 0), isBare: true)
    }
}
