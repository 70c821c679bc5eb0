package import Fuse
package import SystemPackage
internal import Transfers

/// The table of open files and folders by handle. It also stores the cache file that all handles of a node share.
struct OpenFiles: Sendable {
    /// The cache file that all handles of a node share until the last handle is closed.
    struct Node: Sendable {
        /// The cache file; `nil` until one of the handles has it. A handle that was opened before the cache file
        /// existed gets it when a read of the handle reaches this filesystem. It has none as long as the kernel answers
        /// all its reads from cached pages.
        var leased: LeasedFile?
        /// The cache file registered for passthrough.
        var backed: BackedFile?
    }

    /// The number of `names` at which the names of closed nodes are dropped.
    private static let capacity = 4_096

    private var files: [FileHandle: OpenFile] = [:]
    var folders: [FileHandle: OpenFolder] = [:]
    private var lastHandle: UInt64 = 0
    /// The shared cache file of each open node.
    var nodes: [NodeNumber: Node] = [:]
    /// The last known name of each node's cache file. An open uses it if the library has no name yet: the library
    /// records a new file only a moment after its first read.
    private var names: [NodeNumber: String] = [:]
    /// The completions of the opens that wait for the invalidation of a node's attributes.
    var pendingOpens: [NodeNumber: [@Sendable (_ isInvalidated: Bool) -> Void]] = [:]

    subscript(handle: FileHandle) -> OpenFile? { files[handle] }

    private mutating func nextHandle() -> FileHandle {
        lastHandle += 1
        return FileHandle(rawValue: lastHandle)
    }

    mutating func add(_ file: OpenFile) -> FileHandle {
        let handle = nextHandle()
        files[handle] = file
        if nodes[file.number] == nil { nodes[file.number] = Node() }
        lease(file)
        return handle
    }

    mutating func remove(_ handle: FileHandle) -> OpenFile? { files.removeValue(forKey: handle) }

    /// Stores the cache file of a handle, if it is known, for all handles of the node. The file stays leased until the
    /// node's last handle is closed.
    mutating func lease(_ file: OpenFile) {
        // The node is missing if the daemon's response to a read arrives after the last close.
        guard file.isEpisode, let node = nodes[file.number], node.leased == nil, let leased = file.leased else {
            return
        }
        nodes[file.number]?.leased = leased
        if names.count >= Self.capacity { names = names.filter { nodes[$0.key] != nil } }
        names[file.number] = leased.name
    }

    /// Returns the leased cache file of a node, and the last known name of its cache file.
    func leasedFile(of number: NodeNumber) -> (file: LeasedFile?, name: String?) {
        (nodes[number]?.leased, names[number])
    }

    mutating func add(_ folder: FolderSnapshot) -> FileHandle {
        let handle = nextHandle()
        folders[handle] = OpenFolder(names: folder)
        return handle
    }

    /// Replaces the names of an open folder, for its further requests.
    mutating func replace(_ handle: FileHandle, with names: FolderSnapshot) { folders[handle]?.names = names }
}

/// A cache file on which its reader has a lease, a lock that prevents the daemon from evicting the file.
struct LeasedFile: Sendable {
    let reader: MediaReader
    let name: String
}

/// A complete cache file registered for passthrough.
struct BackedFile: Sendable {
    let backing: BackingFile
    let reader: MediaReader
    let name: String
    /// The size in bytes.
    let total: Int64

    /// Registers an open file. Fails if the file is not complete, or the kernel does not accept it.
    init?(_ file: OpenFile, _ registry: (any BackingFileRegistry)?) {
        guard let registry, let (reader, name, total) = file.whole,
            let backing = reader.withDescriptor({ registry.register($0) })
        else { return nil }
        (self.backing, self.reader, self.name, self.total) = (backing, reader, name, total)
    }
}

/// The registration of files with the kernel for passthrough.
package protocol BackingFileRegistry: Sendable {
    /// Registers a file; returns `nil` if the kernel does not accept it. Called with a lock held, so it must neither
    /// block nor call the filesystem.
    func register(_ file: FileDescriptor) -> BackingFile?
}

extension BackingFiles: BackingFileRegistry {}
