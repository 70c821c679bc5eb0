internal import Glibc
package import SystemPackage

/// The lock that makes a process the only writer of a folder: `flock` on a file in the folder. The lock is released
/// with the object, or when the process exits or is killed.
package final class FolderLock: Sendable {
    private let descriptor: FileDescriptor

    /// Creates the file if necessary, and acquires the lock; `nil` if another process holds it. Throws `Errno`.
    package init?(file path: FilePath) throws {
        descriptor = try FileDescriptor.open(
            path, .readWrite, options: [.create, .closeOnExec], permissions: [.ownerReadWrite])
        if flock(descriptor.rawValue, LOCK_EX | LOCK_NB) != 0 {
            // The object is complete, so `deinit` closes the file. Closing it twice could close one of another thread.
            let error = Errno(rawValue: errno)
            if error == .wouldBlock { return nil }
            throw error
        }
    }

    /// Acquires the lock of a folder that the daemon writes, as above.
    package convenience init?(folder: String) throws { try self.init(file: FilePath(folder + "/daemon.lock")) }

    deinit {
        // A child process has a copy of the descriptor until it executes its program. Until then, closing only this
        // descriptor would not release the lock.
        flock(descriptor.rawValue, LOCK_UN)
        try? descriptor.close()
    }
}
