package import Fuse
internal import Glibc
internal import PodcastLibrary
internal import Synchronization
internal import SystemPackage
internal import TransferCore

// Names and attributes: from the library alone.
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
            if let made = try findMade(name, of: folder.show) { return made }
            if let found = try episode(name, of: folder.show) { return entry(found) }
            return try findAsset(name, of: folder.show) ?? findEncoded(name, of: folder.show)
        case .foundShow:
            return try episode(name, of: folder.show).map { entry($0) }
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

    private func episode(_ name: String, of show: ShowID) throws -> EpisodeAttributes? {
        guard let found = try library.entry(of: show, named: name) else { return nil }
        return try upToDate(attributes(of: found))
    }

    /// What the kernel is to be answered of an episode: what was gathered, unless changes have been kept from it.
    private func upToDate(_ episode: EpisodeAttributes) throws -> EpisodeAttributes {
        guard files.asked(episode.number), let entry = try library.entry(id: episode.number.episode) else {
            return episode
        }
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
                guard let show = try library.folder(id: number.show) else { break }
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
                guard let entry = try library.entry(id: number.episode) else { break }
                var attributes = attributes(of: entry).attributes(owner: options.owner)
                // A handle of an older rendition has that one's size.
                if entry.generation != number.generation, let handle, let file = files.file(handle) {
                    attributes.size = file.media.withLock { $0.total } ?? attributes.size
                }
                files.tell(attributes.size, of: number)
                request.reply(attributes: attributes, timeout: Self.timeout)
                return
            }
            request.reply(error: .staleNFSFileHandle)
        } catch {
            request.reply(error: Self.errno(of: error))
        }
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
