import Glibc

/// The result of stat(2).
package struct ModelStatus: Sendable, Equatable {
    package var inode: UInt64
    package var kind: ModelNode.Kind
    package var permissions: UInt32
    package var links: UInt32
    package var size: Int64
    package var blocks: Int64
    package var modified: Int64
    package var changed: Int64
    package var uid: UInt32

    package init(
        inode: UInt64, kind: ModelNode.Kind, permissions: UInt32, links: UInt32, size: Int64, blocks: Int64,
        modified: Int64, changed: Int64, uid: UInt32
    ) {
        self.inode = inode
        self.kind = kind
        self.permissions = permissions
        self.links = links
        self.size = size
        self.blocks = blocks
        self.modified = modified
        self.changed = changed
        self.uid = uid
    }
}

/// A name returned by readdir.
package struct ModelListed: Sendable, Equatable {
    package var entry: ModelName
    /// The offset of the next name.
    package var next: Int64
    /// The size from readdirplus, if it returned one.
    package var size: Int64?

    package init(entry: ModelName, next: Int64, size: Int64? = nil) {
        self.entry = entry
        self.next = next
        self.size = size
    }
}

/// The result of statfs(2). Sizes are in blocks of 4 KiB.
package struct ModelStatistics: Sendable, Equatable {
    package var blocks: Int64
    package var free: Int64
    package var longestName: Int64

    package init(blocks: Int64, free: Int64, longestName: Int64) {
        self.blocks = blocks
        self.free = free
        self.longestName = longestName
    }
}

/// An errno as an error.
package struct ModelErrno: Error, Equatable, CustomStringConvertible {
    package var code: Int32

    package init(_ code: Int32) { self.code = code }

    package var description: String { code == 0 ? "success" : String(cString: strerror(code)) }
}

/// A system call that would change the tree if the filesystem allowed it.
package enum ModelModification: String, Sendable, CaseIterable {
    case create
    case makeFolder
    case makeNode
    case makeLink
    case makeHardLink
    case remove
    case removeFolder
    case rename
    case truncate
    case openForWriting
    case changeMode
    case changeOwner
    case changeTimes
    case removeAttribute
}

/// The subject of a comparison with the model (`ModelTree`, the expected tree): a mount accessed by system calls, or
/// the filesystem without a kernel.
///
/// A path is the list of names below the mount's root. All calls throw `ModelErrno` for errors of the filesystem, and
/// other errors when the run itself fails.
package protocol ModelSubject: Sendable {
    associatedtype File: Sendable
    associatedtype Folder: Sendable

    func status(_ path: [String]) async throws -> ModelStatus
    func open(_ path: [String]) async throws -> File
    func status(of file: File) async throws -> ModelStatus
    func read(_ file: File, offset: Int64, count: Int) async throws -> [UInt8]
    func close(_ file: File) async throws
    func openFolder(_ path: [String]) async throws -> Folder
    /// Returns the names from `offset` on that fit into a buffer of `size` bytes; an empty array at the end.
    func list(_ folder: Folder, from offset: Int64, size: Int, plus: Bool) async throws -> [ModelListed]
    func closeFolder(_ folder: Folder) async throws
    func target(_ path: [String]) async throws -> String
    func attribute(_ name: String, _ path: [String]) async throws -> String
    func attributeNames(_ path: [String]) async throws -> [String]
    func setAttribute(_ name: String, _ value: String, _ path: [String]) async throws
    func statistics() async throws -> ModelStatistics
    /// Attempts a modification, and returns its errno, or 0; `nil` if this subject does not support the call.
    func modify(_ modification: ModelModification, _ path: [String]) async throws -> ModelErrno?
    /// Unmounts and mounts again. No file may be open.
    func remount() async throws
    func end() async throws

    /// The owner of all files.
    var owner: UInt32 { get }
    /// Whether the kernel reads ahead, at unpredictable times. Like every read, readahead restarts a cancelled
    /// download.
    var readsAhead: Bool { get }
    var home: PodfsHome { get }
}
