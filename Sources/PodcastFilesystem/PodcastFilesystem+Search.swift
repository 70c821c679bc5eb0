package import Fuse
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage

// `.search/TERM/SHOW/EPISODE`: the catalogues of the web as folders. The folder itself lists empty, and every name in it is
// a folder, at no cost: whoever walks over the tree asks nobody. Opening a term or a show below it asks the daemon, and
// that the network, while the opener waits, parked and interruptible.
extension PodcastFilesystem {
    static let searchFolder = ".search"
    /// How long the kernel believes what is below `.search`, in seconds: search results go without a word.
    static let searchTimeout: Double = 60
    /// How old the feed of a found show may be when its folder is opened, in seconds; the daemon goes by the same.
    private static let freshness: Int64 = 3_600

    // MARK: Names and attributes

    var searchItem: FolderSnapshot.Item {
        .folder(.search, name: Self.searchFolder, modified: started, changed: started)
    }

    func searchEntry() -> Entry { folderEntry(.search, modified: started, changed: started) }

    /// A folder of any kind.
    func folderEntry(_ number: NodeNumber, modified: Int64, changed: Int64) -> Entry {
        let isFound = number.kind == .term || number.kind == .foundShow
        let timeout = isFound ? Self.searchTimeout : Self.timeout
        return Entry(
            node: number.node, attributes: folderAttributes(number, modified: modified, changed: changed),
            attributeTimeout: timeout, entryTimeout: timeout)
    }

    /// Any name but a hidden one: what programs look for by themselves (`.hidden`, `.git`) begins with a dot.
    func lookUpTerm(_ request: consuming Request, _ name: String) {
        guard !name.isEmpty, name.utf8.first != UInt8(ascii: ".") else {
            request.reply(error: .noSuchFileOrDirectory)
            return
        }
        guard let (number, dropped) = terms.lookUp(name) else {
            request.reply(error: .tooManyOpenFilesInSystem)
            return
        }
        if let dropped { announceRemoval(ofTerm: dropped) }
        let node = NodeNumber(kind: .term, row: Int64(number))
        if !request.reply(entry: folderEntry(node, modified: started, changed: started)) {
            terms.forget(number, count: 1)
        }
    }

    package func forget(node: NodeID, count: UInt64) {
        kernelListings.forget(node)
        guard let number = NodeNumber(node), number.kind == .term else { return }
        terms.forget(Int(number.row), count: count)
    }

    /// A show that the term has found. Before the term's folder was opened in this mount, any show that was found of late
    /// by that name, so that a path is good after a restart as well; the kernel is to ask again for such a one.
    func findShow(_ name: String, in term: NodeNumber) throws -> Entry? {
        guard let found = terms.found(by: Int(term.row)) else {
            guard terms.name(of: Int(term.row)) != nil, let show = try library.foundFolder(named: name) else {
                return nil
            }
            var entry = folderEntry(
                NodeNumber(kind: .foundShow, generation: Int(term.row), row: show.id),
                modified: show.newest ?? show.changed, changed: show.changed)
            entry.entryTimeout = 0
            return entry
        }
        guard let folder = found.first(where: { $0.name.utf8.elementsEqual(name.utf8) }),
            let show = try library.folder(id: folder.podcast)
        else { return nil }
        return folderEntry(
            NodeNumber(kind: .foundShow, generation: Int(term.row), row: show.id),
            modified: show.newest ?? show.changed, changed: show.changed)
    }

    /// `nil` when it is no more.
    func searchAttributes(_ number: NodeNumber) throws -> Attributes? {
        switch number.kind {
        case .term:
            guard terms.name(of: Int(number.row)) != nil else { return nil }
            return folderAttributes(number, modified: started, changed: started)
        case .foundShow:
            return try library.folder(id: number.show).map {
                folderAttributes(number, modified: $0.newest ?? $0.changed, changed: $0.changed)
            }
        case .search where number == .search:
            return folderAttributes(number, modified: started, changed: started)
        default:
            return nil
        }
    }

    // MARK: Listings

    func searchSnapshot(of number: NodeNumber) throws -> FolderSnapshot? {
        guard number.kind == .term else {
            return number == .search ? FolderSnapshot(number: number, items: []) : nil
        }
        return try terms.found(by: Int(number.row)).map { try snapshot(of: number, found: $0) }
    }

    private func snapshot(of number: NodeNumber, found: [FoundFolder]) throws -> FolderSnapshot {
        let items = try found.compactMap { folder -> FolderSnapshot.Item? in
            guard let show = try library.folder(id: folder.podcast) else { return nil }
            return .folder(
                NodeNumber(kind: .foundShow, generation: Int(number.row), row: show.id), name: folder.name,
                modified: show.newest ?? show.changed, changed: show.changed)
        }
        return FolderSnapshot(number: number, items: items)
    }

    /// Opens a term's folder, which searches, or a found show's, which fetches its feed unless it is fresh.
    func openFound(_ request: consuming Request, _ number: NodeNumber) {
        let command: Command
        do {
            switch number.kind {
            case .term:
                guard let name = terms.name(of: Int(number.row)) else { throw Errno.staleNFSFileHandle }
                command = .searchFolder(term: name)
            case .foundShow:
                guard let show = try library.podcast(id: number.show) else { throw Errno.staleNFSFileHandle }
                let age = now - (show.lastRefresh ?? 0)
                if !show.ephemeral || age >= 0 && age < Self.freshness {
                    reply(request, Result { try snapshot(of: number) })
                    return
                }
                command = .fetchShow(podcast: show.id)
            default:
                throw Errno.notDirectory
            }
        } catch {
            request.reply(error: Self.errno(of: error))
            return
        }
        // A program that looks into every folder is not to search the web.
        if isIndexer(request.caller.pid) {
            request.reply(error: .permissionDenied)
            return
        }
        let waiting = ParkedRequest(request)
        ask(.command, WireJSON.encode(command), for: waiting) { [self] result in
            let outcome = Result { try answered(result, number) }
            guard let request = waiting.take() else { return }
            reply(request, outcome)
        }
    }

    /// What the folder holds, by the daemon's answer.
    private func answered(_ result: Result<Frame, Failure>, _ number: NodeNumber) throws -> FolderSnapshot? {
        switch result {
        case .success(let frame):
            switch WireJSON.decode(Reply.self, frame.payload) {
            case .foundFolders(let folders):
                terms.set(found: folders, by: Int(number.row))
                return try snapshot(of: number, found: folders)
            case .done: return try snapshot(of: number)
            default: throw Errno.ioError
            }
        case .failure(let failure):
            throw Self.errno(of: failure)
        }
    }

    private func reply(_ request: consuming Request, _ outcome: Result<FolderSnapshot?, any Error>) {
        switch outcome {
        case .success(let snapshot?):
            let handle = files.add(snapshot)
            if !request.reply(open: OpenReply(handle: handle)) { files.removeFolder(handle) }
        case .success(nil): request.reply(error: .staleNFSFileHandle)
        case .failure(let error): request.reply(error: Self.errno(of: error))
        }
    }
}
