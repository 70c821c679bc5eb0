package import Fuse
package import SystemPackage

/// The part of the kernel that takes files to read by itself.
package protocol BackingFileTaker: Sendable {
    /// `nil` where the kernel does not take it. Called with a lock held: must neither block nor call the file system.
    func register(_ file: FileDescriptor) -> BackingFile?
}

extension BackingFiles: BackingFileTaker {}
