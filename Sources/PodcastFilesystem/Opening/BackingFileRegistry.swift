package import Fuse
package import SystemPackage

/// The registration of files with the kernel for passthrough.
package protocol BackingFileRegistry: Sendable {
    /// Registers a file; returns `nil` if the kernel does not accept it. Called with a lock held, so it must neither
    /// block nor call the filesystem.
    func register(_ file: FileDescriptor) -> BackingFile?
}

extension BackingFiles: BackingFileRegistry {}
