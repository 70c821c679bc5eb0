package import Fuse
package import SystemPackage

/// The registration of files for passthrough with the kernel.
package protocol BackingFileRegistry: Sendable {
    /// Registers a file; `nil` if the kernel does not accept it. Called with a lock held: must neither block nor call
    /// the filesystem.
    func register(_ file: FileDescriptor) -> BackingFile?
}

extension BackingFiles: BackingFileRegistry {}
