/// The number by which the kernel knows an inode of this filesystem.
///
/// The filesystem chooses it when it answers a lookup or lists a folder with attributes, and gets it back in every
/// later request. It need not equal `Attributes.inode`. A number must not be used for another file as long as the
/// kernel may still hold it, that is until `FilesystemOperations.forget(node:count:)` has taken back every lookup.
package struct NodeID: RawRepresentable, Sendable, Hashable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The root folder: FUSE_ROOT_ID of `fuse_lowlevel.h`. The kernel never looks it up.
    package static let root = NodeID(rawValue: 1)

    /// "No node": a negative entry in a lookup's answer, "name only" in a listing with attributes.
    static let none = NodeID(rawValue: 0)
}

/// The number by which an open file or folder is known, chosen by the filesystem when it answers open or opendir.
package struct FileHandle: RawRepresentable, Sendable, Hashable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// Who made the system call behind a request. The corresponding C type is `struct fuse_ctx`.
package struct Caller: Sendable, Hashable {
    package var uid: UInt32
    package var gid: UInt32
    /// The calling *thread's* id, 0 when it is not visible from this process's PID namespace.
    package var pid: Int32

    package init(uid: UInt32, gid: UInt32, pid: Int32) {
        self.uid = uid
        self.gid = gid
        self.pid = pid
    }
}
