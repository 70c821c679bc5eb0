/// The number by which the kernel refers to an inode of this filesystem.
///
/// The filesystem chooses it in the reply to a lookup or to a listing with attributes, and receives it in every later
/// request. It need not equal `Attributes.inode`. A number must not be reused for another file while the kernel may
/// still refer to it, that is until `FilesystemOperations.forget(node:count:)` has subtracted every lookup.
package struct NodeID: RawRepresentable, Sendable, Hashable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The root folder: FUSE_ROOT_ID of `fuse_lowlevel.h`. The kernel never looks it up.
    package static let root = NodeID(rawValue: 1)

    /// No node: a negative entry in a lookup reply, a name without attributes in a readdirplus reply.
    static let none = NodeID(rawValue: 0)
}

/// The number of an open file or folder, chosen by the filesystem in its reply to open or opendir.
package struct FileHandle: RawRepresentable, Sendable, Hashable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The caller of the system call behind a request. The corresponding C type is `struct fuse_ctx`.
package struct Caller: Sendable, Hashable {
    package var uid: UInt32
    package var gid: UInt32
    /// The calling *thread's* id, 0 if it is not visible in this process's PID namespace.
    package var pid: Int32
}
