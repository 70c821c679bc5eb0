internal import ContentCache
internal import Fuse
internal import SystemPackage

/// Open files and folders by handle: a plain table, with what the handles of a node share.
struct OpenFiles: Sendable {
    /// The files that the handles of a node share until the last one is closed.
    struct Node: Sendable {
        /// The cache file, once a handle knows it: reads of the other handles may all have been answered by the kernel.
        var held: HeldFile?
        /// The cache file that the kernel reads by itself.
        var backed: BackedFile?
    }

    /// Closed files of which the name is remembered.
    private static let capacity = 4_096

    private var files: [FileHandle: OpenFile] = [:]
    var folders: [FileHandle: OpenFolder] = [:]
    private var last: UInt64 = 0
    /// By node, while it is open.
    var nodes: [NodeNumber: Node] = [:]
    /// The last name of each node's cache file: the library has a file a moment after its first reader.
    private var names: [NodeNumber: String] = [:]
    /// The opens that wait until the kernel has been told of a size.
    var waiting: [NodeNumber: [@Sendable () -> Void]] = [:]

    subscript(handle: FileHandle) -> OpenFile? { files[handle] }

    private mutating func nextHandle() -> FileHandle {
        last += 1
        return FileHandle(rawValue: last)
    }

    mutating func add(_ file: OpenFile) -> FileHandle {
        let handle = nextHandle()
        files[handle] = file
        if nodes[file.number] == nil { nodes[file.number] = Node() }
        hold(file)
        return handle
    }

    mutating func remove(_ handle: FileHandle) -> OpenFile? { files.removeValue(forKey: handle) }

    /// Keeps the cache file that a handle has come to know until the node's last handle is closed.
    mutating func hold(_ file: OpenFile) {
        // The response to a read may arrive after the last close.
        guard file.number.kind == .episode, let node = nodes[file.number], node.held == nil, let held = file.held else {
            return
        }
        nodes[file.number]?.held = held
        if names.count >= Self.capacity { names = names.filter { nodes[$0.key] != nil } }
        names[file.number] = held.name
    }

    /// Returns the leased cache file of a node's handles, or the name of the last one.
    func held(_ number: NodeNumber) -> (file: HeldFile?, name: String?) { (nodes[number]?.held, names[number]) }

    mutating func add(_ folder: FolderSnapshot) -> FileHandle {
        let handle = nextHandle()
        folders[handle] = OpenFolder(names: folder)
        return handle
    }

    /// The stream goes on with these names.
    mutating func replace(_ handle: FileHandle, with names: FolderSnapshot) { folders[handle]?.names = names }
}

/// A cache file with a lease, which the daemon cannot remove.
struct HeldFile: Sendable {
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

    /// `nil` where the file is not complete, or the kernel does not take it.
    init?(_ file: OpenFile, _ taker: (any BackingFileTaker)?) {
        guard let taker, let (reader, name, total) = file.whole,
            let backing = reader.withDescriptor({ taker.register($0) })
        else { return nil }
        (self.backing, self.reader, self.name, self.total) = (backing, reader, name, total)
    }
}
