package import Fuse
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
                reply(request, number, Result { try snapshot(of: number) }, ifGone: .noSuchFileOrDirectory)
                return
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
