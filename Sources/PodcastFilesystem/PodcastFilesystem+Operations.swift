package import Fuse
internal import Glibc
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import Transfers

// Names and attributes, without requests to the daemon.
extension PodcastFilesystem: FilesystemOperations {
    /// The maximum length of a name in bytes, as reported by statfs(2). The kernel also sends longer names: up to 1,024
    /// bytes (FUSE_NAME_MAX), newer kernels up to the length of a path.
    private static let longestName = Int(NAME_MAX)

    package func lookup(_ request: consuming Request, parent: NodeID, name: String) {
        do {
            guard name.utf8.count <= Self.longestName else { throw Errno.fileNameTooLong }
            let change = state.withLock { $0.kernel.changes.last }
            // The kernel resolves `.` and `..` itself, except for the file handles of an exported mount (NFS).
            let isOfHandle = name == "." || name == ".."
            guard let node = NodeNumber(parent),
                let found = isOfHandle
                    ? try entry(ofHandle: node, parent: name == "..") : try behaviour(of: node).find(name)
            else { throw Errno.noSuchFileOrDirectory }
            if !request.reply(entry: found), let number = NodeNumber(found.node) {
                state.withLock { $0.kernel.forgetTerm(number, lookups: 1) }
            }
            // A change during the lookup may have invalidated the name before the kernel cached it. For a handle it
            // caches no name.
            if !isOfHandle, found.entryTimeout > 0, state.withLock({ $0.kernel.changes.last }) != change {
                send([.entry(parent: node, name: name)])
            }
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    package func forget(node: NodeID, count: UInt64) {
        guard let number = NodeNumber(node) else { return }
        state.withLock { $0.kernel.forget(number, lookups: count) }
    }

    package func getattr(_ request: consuming Request, node: NodeID, handle: FileHandle?) {
        do {
            let open = handle.flatMap { handle in state.withLock { $0.files[handle] } }
            guard let number = NodeNumber(node) else { throw Errno.staleNFSFileHandle }
            let behaviour = behaviour(of: number)
            guard let facts = try behaviour.facts(open: open) else { throw Errno.staleNFSFileHandle }
            let (attributes, timeout) = attributesAndTimeout(facts, behaviour.form)
            request.reply(attributes: attributes, timeout: timeout)
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    package func readlink(_ request: consuming Request, node: NodeID) {
        do {
            guard let number = NodeNumber(node), let target = try behaviour(of: number).target() else {
                throw Errno.staleNFSFileHandle
            }
            request.reply(link: target)
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    /// Answers access(2) as on a disk that is mounted read-only. Without this handler the kernel would allow
    /// everything, and shells and file managers would offer operations that then fail. Opens and changes are checked by
    /// their own handlers, independently of this one.
    package func access(_ request: consuming Request, node: NodeID, mask: Int32) {
        guard let number = NodeNumber(node) else { return request.reply(error: .staleNFSFileHandle) }
        if mask & W_OK != 0 { return request.reply(error: .readOnlyFileSystem) }
        // All users including root are denied to execute a file, since no file here is a program.
        let isDenied =
            mask & X_OK != 0 && behaviour(of: number).form.kind == .regular
            || mask & R_OK != 0 && refuses(number, to: request.caller.uid)
        if isDenied { request.reply(error: .permissionDenied) } else { request.replyDone() }
    }

    package func statfs(_ request: consuming Request, node: NodeID) {
        let unit: Int64 = 4096
        let used = (try? library.cachedBytes()) ?? 0
        request.reply(
            statistics: FilesystemStatistics(
                blockSize: UInt64(unit), blocks: UInt64(options.cacheLimit / unit),
                freeBlocks: UInt64(max(0, options.cacheLimit - used) / unit)))
    }

    static func errno(of error: any Error) -> Errno {
        switch error {
        case let error as Errno: error
        case let failure as Failure where failure.errorNumber != 0: Errno(rawValue: failure.errorNumber)
        case LibraryError.busy: .resourceTemporarilyUnavailable
        default: .ioError
        }
    }
}

// Lookups by node id, which the kernel sends for the handles of an exported mount (NFS, open_by_handle_at(2)) when it
// no longer has the node. Node ids are computed from library rows, so a handle stays valid after a remount, and after
// the kernel has forgotten the node.
extension PodcastFilesystem {
    /// Returns the reply to a lookup of `.` or `..` in a node.
    ///
    /// - Returns: `nil` if the node does not exist any more, has another generation, or belongs to a search: the kernel
    ///   then reports ESTALE. Never an entry of another node.
    func entry(ofHandle node: NodeNumber, parent: Bool) throws -> Entry? {
        guard try isExported(node) else { return nil }
        let behaviour = behaviour(of: node)
        guard parent else { return try entry(of: node) }
        return behaviour.form.kind == .directory ? try entry(of: behaviour.parent) : nil
    }

    /// Whether a node may be found by its id. For a node of a show or an episode, this also checks that the show or the
    /// episode exists. For any other node, only `entry(of:)` checks that the node exists.
    private func isExported(_ node: NodeNumber) throws -> Bool {
        switch node.kind {
        // Search results disappear, and a mount knows only the terms that were looked up in it.
        case .search, .term, .foundShow, .find, .findTerm, .findPlaylist, .findNoMedia, .findLink: return false
        case .fixed, .view, .viewLink, .viewPlaylist, .viewNoMedia, .viewFeed, .viewPage, .tags, .tag, .tagLink,
            .tagged:
            return true
        case .show, .taggedShow, .showFeed, .playlist, .page, .feedJSON, .feedXML, .notesFolder, .chaptersFolder,
            .alternates, .cover, .folderIcon:
            return try library.podcast(id: node.show).map { !$0.ephemeral } ?? false
        case .episode:
            guard let episode = try library.opening(of: node.episode), !episode.isEphemeral else { return false }
            return NodeNumber(kind: .episode, generation: episode.generation, row: node.row) == node
        case .taggedEpisode:
            guard let entry = try library.entry(id: node.episode) else { return false }
            return TaggedEpisode.facts(of: entry, try library.taggedFile(of: entry.id), self).number == node
        case .notes, .chapters, .art, .vtt, .srt, .episodeAlternates:
            return try library.opening(of: node.episode).map { !$0.isEphemeral } ?? false
        }
    }
}
