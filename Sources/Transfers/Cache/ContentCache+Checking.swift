internal import Glibc
internal import SystemPackage

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
        fresh.setReceived(all)
        fresh.setSynced(all)
        do {
            // Records the file's state from before the read, so that the next check detects a write during the read.
            try save(fresh, of: file, durably: true, state: opened.state)
        } catch {
            throw .checkpointNotWritten(code: (error as? Errno)?.rawValue ?? EIO)
        }
        return opened.state
    }
}
