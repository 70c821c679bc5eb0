internal import CFuse
import Glibc
package import SystemPackage

/// The kernel's id of a backing file: a file that the kernel reads by itself, without a request to the filesystem.
package struct BackingID: RawRepresentable, Sendable, Hashable {
    package var rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }
}

/// A file that the kernel reads itself for handles opened with its id ("passthrough"). See
/// Documentation/filesystems/fuse/fuse-passthrough.rst of the kernel.
///
/// The kernel holds the open file description, and with it the file's locks, until this object is released and all
/// handles opened with the id are closed. If this process dies, the open handles still hold the file description. This
/// object may be released on any thread.
package final class BackingFile: Sendable {
    package let id: BackingID
    private let end: @Sendable (BackingID) -> Void

    /// - Parameter end: Unregisters the id; called once, when the object is released.
    package init(id: BackingID, end: @escaping @Sendable (BackingID) -> Void) {
        self.id = id
        self.end = end
    }

    deinit { end(id) }
}

/// The registration of files with the kernel for passthrough.
package final class BackingFiles: Sendable {
    private let core: SessionCore

    /// Whether the kernel accepts registrations: passthrough was negotiated, and no registration has failed for a
    /// permanent reason.
    var areAccepted: Bool { core.acceptsBackingFiles }

    init(core: SessionCore) { self.core = core }

    /// Registers a regular file that is open for reading; its descriptor may be closed afterwards.
    ///
    /// Does not block. Returns `nil` if passthrough was not negotiated (`Connection.passthrough`), the file's
    /// filesystem does not support it, or memory is short. After a permanent failure no further registration is
    /// attempted.
    /// The corresponding system call is ioctl(2) with FUSE_DEV_IOC_BACKING_OPEN on /dev/fuse.
    package func register(_ file: FileDescriptor) -> BackingFile? {
        guard areAccepted else { return nil }
        let id = cfuse_backing_open(fuse_session_fd(core.handle), file.rawValue)
        guard id > 0 else {
            // The call does not exist (ENOTTY, EOPNOTSUPP, ENOSYS), or is not permitted to this process (EPERM) or for
            // the file's filesystem (ELOOP).
            if [EPERM, ENOTTY, EOPNOTSUPP, ENOSYS, ELOOP].contains(errno) { core.refuseBackingFiles() }
            return nil
        }
        // The core keeps the session's descriptor open; after an unmount it refers to /dev/null, and the call fails.
        return BackingFile(id: BackingID(rawValue: id)) { [core] id in
            _ = cfuse_backing_close(fuse_session_fd(core.handle), id.rawValue)
        }
    }
}
