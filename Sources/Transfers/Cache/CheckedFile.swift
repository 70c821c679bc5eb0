internal import CLinux
internal import Glibc
internal import SystemPackage

/// An open cache file that has passed the checks of a `CacheExpectation`.
///
/// The daemon and the mounts open every cache file with this type, so that they notice a file that another program has
/// changed or replaced. Symbolic links are not followed, and the open of a pipe does not block. The checks cost one
/// fstat(2) in addition to the open, and one lseek(2) if the file must not have holes.
struct CheckedFile {
    let descriptor: FileDescriptor
    let state: FileState

    /// - Throws: The difference from the expectation; no file is open then.
    init(
        at path: FilePath, _ mode: FileDescriptor.AccessMode, expecting expectation: CacheExpectation
    ) throws(CacheFileDefect) {
        do {
            descriptor = try FileDescriptor.open(path, mode, options: [.closeOnExec, .noFollow, .nonBlocking])
        } catch {
            throw Self.defect(of: error)
        }
        var status = stat()
        let defect: CacheFileDefect? =
            if fstat(descriptor.rawValue, &status) != 0 {
                .unreadable(code: errno)
            } else if clinux_is_regular(status.st_mode) == 0 {
                .notAFile
            } else {
                expectation.defect(of: FileState(status), descriptor)
            }
        state = FileState(status)
        if let defect {
            try? descriptor.close()
            throw defect
        }
    }

    private static func defect(of error: any Error) -> CacheFileDefect {
        switch (error as? Errno) ?? .ioError {
        case .noSuchFileOrDirectory, .notDirectory: .missing
        // In this order: a symbolic link, a folder opened for writing, a socket.
        case .tooManySymbolicLinkLevels, .isDirectory, .noSuchAddressOrDevice: .notAFile
        case let error: .unreadable(code: error.rawValue)
        }
    }
}

/// The expected properties of a cache file.
package enum CacheExpectation: Sendable, Equatable {
    /// A regular file.
    case file
    /// A regular file of this many bytes.
    case size(Int64)
    /// The complete file with this recorded state. Without a recorded state, the defect is `changed` even if the size
    /// is right.
    case recorded(FileState?, size: Int64)
    /// The file in the archive with this recorded state. Only size and mtime are compared: people copy an archive to
    /// another disk, and network file systems change inodes.
    case archived(FileState?, size: Int64)

    func defect(of state: FileState, _ descriptor: FileDescriptor) -> CacheFileDefect? {
        switch self {
        case .file: return nil
        case .size(let size):
            return state.size == size ? nil : .wrongSize(found: state.size, expected: size)
        case .recorded(let recorded, let size):
            if state.size != size { return .wrongSize(found: state.size, expected: size) }
            guard let recorded, recorded.admits(state) else { return .changed }
            // If the file already had holes when its state was recorded, new holes cannot be detected.
            return recorded.isDense && Self.hasHole(descriptor, size) ? .changed : nil
        case .archived(let recorded, let size):
            if state.size != size { return .wrongSize(found: state.size, expected: size) }
            return recorded?.modified == state.modified ? nil : .changed
        }
    }

    /// Whether the file has a hole; `false` if the file system cannot report holes. Moves the descriptor's
    /// file offset, which is harmless since all reads carry their offset.
    private static func hasHole(_ descriptor: FileDescriptor, _ size: Int64) -> Bool {
        guard size > 0 else { return false }
        let hole = clinux_seek_hole(descriptor.rawValue, 0)
        return hole >= 0 && hole < off_t(size)
    }
}

// Checks of files that should be complete.
extension ContentCache {
    /// Returns the first difference between a file and the expectation; `nil` if there is none.
    package func defect(of name: String, expecting expectation: CacheExpectation) -> CacheFileDefect? {
        do throws(CacheFileDefect) {
            let file = try CheckedFile(at: Self.path(of: name, in: directory), .readOnly, expecting: expectation)
            try? file.descriptor.close()
            return nil
        } catch {
            return error
        }
    }

    /// Reads a whole file. If the file's digest equals the one in `checkpoint`, writes a new checkpoint.
    ///
    /// With the new checkpoint, a file whose inode or mtime differs from the recorded one is accepted again, for
    /// example a file restored from a backup. The call takes as long as reading the whole file from the disk.
    ///
    /// - Parameter checkpoint: The checkpoint of the complete file. Its inode, mtime and ranges are ignored.
    /// - Returns: The file's state before the read.
    /// - Throws: `wrongContent` if the digest differs or the checkpoint has none; `checkpointNotWritten` if the content
    ///   is right, but the checkpoint cannot be written, for example on a full disk.
    package func verify(_ name: String, _ checkpoint: Checkpoint) throws(CacheFileDefect) -> FileState {
        guard let size = checkpoint.total, let sha256 = checkpoint.sha256 else { throw .wrongContent }
        let path = Self.path(of: name, in: directory)
        let opened = try CheckedFile(at: path, .readWrite, expecting: .size(size))
        let file = CacheFile(name: name, path: path, descriptor: opened.descriptor)
        let found: String
        do {
            found = try file.sha256(size: size)
        } catch {
            throw .unreadable(code: error.rawValue)
        }
        guard found == sha256 else { throw .wrongContent }
        var fresh = checkpoint
        fresh.complete = true
        let all = RangeSet(0..<size)
        fresh.receivedRanges = all
        fresh.syncedRanges = all
        do {
            // Records the file's state from before the read, so that the next check detects a write during the read.
            try save(fresh, of: file, durably: true, state: opened.state)
        } catch {
            throw .checkpointNotWritten(code: (error as? Errno)?.rawValue ?? EIO)
        }
        return opened.state
    }
}
