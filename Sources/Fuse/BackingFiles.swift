internal import CFuse
import Glibc
package import SystemPackage

/// The number by which the kernel knows a file that it reads by itself.
package struct BackingID: RawRepresentable, Sendable, Hashable {
    package var rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }
}

/// A file that the kernel reads by itself for handles that are opened with its id: "passthrough". See
/// Documentation/filesystems/fuse/fuse-passthrough.rst of the kernel.
///
/// The kernel keeps the open file description, and with it the locks on it, as long as this object or a handle that was
/// opened with the id lives, whatever becomes of this process. Safe to release on any thread.
package final class BackingFile: Sendable {
    package let id: BackingID
    private let end: @Sendable (BackingID) -> Void

    /// - Parameter end: gives the id back; called once, when the object is released.
    package init(id: BackingID, end: @escaping @Sendable (BackingID) -> Void) {
        self.id = id
        self.end = end
    }

    deinit { end(id) }
}

/// Hands files to the kernel that it is to read by itself.
package final class BackingFiles: Sendable {
    private let core: SessionCore

    /// Whether the kernel may still take one.
    var areTaken: Bool { core.takesBackingFiles }

    init(core: SessionCore) {
        self.core = core
    }

    /// Hands over a regular file that is open for reading; its descriptor may be closed afterwards.
    ///
    /// Does not block. `nil` where that cannot be: passthrough was not agreed upon (`Connection.passthrough`), the
    /// filesystem of the file is not fit for it, or memory is short. After a failure that would repeat itself the kernel is
    /// not asked again.
    /// The corresponding system call is ioctl(2) with FUSE_DEV_IOC_BACKING_OPEN on /dev/fuse.
    package func register(_ file: FileDescriptor) -> BackingFile? {
        guard areTaken else { return nil }
        let id = cfuse_backing_open(fuse_session_fd(core.handle), file.rawValue)
        guard id > 0 else {
            // No such call (ENOTTY, EOPNOTSUPP), not this process (EPERM), or not from such a filesystem (ELOOP).
            if [EPERM, ENOTTY, EOPNOTSUPP, ENOSYS, ELOOP].contains(errno) { core.refuseBackingFiles() }
            return nil
        }
        // The session's descriptor stays open with the core; after an unmount it leads elsewhere, and the call fails.
        return BackingFile(id: BackingID(rawValue: id)) { [core] id in
            _ = cfuse_backing_close(fuse_session_fd(core.handle), id.rawValue)
        }
    }
}
