import Glibc

/// What stat(2) told.
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

/// A name as readdir told it.
package struct ModelListed: Sendable, Equatable {
    package var entry: ModelName
    /// Where to go on after it.
    package var next: Int64
    /// Of readdirplus, where it told one.
    package var size: Int64?

    package init(entry: ModelName, next: Int64, size: Int64? = nil) {
        self.entry = entry
        self.next = next
        self.size = size
    }
}

/// What statfs(2) told, in blocks of 4 KiB.
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

/// A call that would change the tree.
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

/// What is compared with the model: a mount through the system's calls, or the file system without a kernel.
///
/// Paths are names from the mount's root. All calls throw `ModelErrno` for what the file system answers, and anything
/// else when the run itself fails.
package protocol ModelSubject: Sendable {
    associatedtype File: Sendable
    associatedtype Folder: Sendable

    func status(_ path: [String]) async throws -> ModelStatus
    func open(_ path: [String]) async throws -> File
    func status(of file: File) async throws -> ModelStatus
    func read(_ file: File, offset: Int64, count: Int) async throws -> [UInt8]
    func close(_ file: File) async throws
    func openFolder(_ path: [String]) async throws -> Folder
    /// Names from `offset` on, as many as fit; none at the end.
    func list(_ folder: Folder, from offset: Int64, size: Int, plus: Bool) async throws -> [ModelListed]
    func closeFolder(_ folder: Folder) async throws
    func target(_ path: [String]) async throws -> String
    func attribute(_ name: String, _ path: [String]) async throws -> String
    func attributeNames(_ path: [String]) async throws -> [String]
    func setAttribute(_ name: String, _ value: String, _ path: [String]) async throws
    func statistics() async throws -> ModelStatistics
    /// `nil` when such a call cannot be made of this subject.
    func modify(_ modification: ModelModification, _ path: [String]) async throws -> ModelErrno?
    /// Ends the mount, in which nothing is open, and makes it anew.
    func remount() async throws
    func end() async throws

    /// Of the owner of everything.
    var owner: UInt32 { get }
    /// Whether more is read than was asked for, at a time of its own: the kernel's read-ahead begins a download anew that
    /// was cancelled, as every read does.
    var readsAhead: Bool { get }
    var home: PodfsHome { get }
}
