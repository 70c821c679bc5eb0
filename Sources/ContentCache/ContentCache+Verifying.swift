internal import Glibc
internal import SystemPackage

// Whether a file that ought to be whole is.
extension ContentCache {
    /// What is wrong with a file at a first look; `nil` when it is as expected.
    package func defect(of name: String, expecting expectation: CacheExpectation) -> CacheFileDefect? {
        do {
            try CheckedFile(at: Self.path(of: name, in: directory), .readOnly, expecting: expectation).descriptor
                .close()
            return nil
        } catch let defect as CacheFileDefect {
            return defect
        } catch {
            return nil
        }
    }

    /// How a file looks of which all is there as far as the file system tells.
    package func state(of name: String, size: Int64) throws(CacheFileDefect) -> FileState {
        let file = try CheckedFile(
            at: Self.path(of: name, in: directory), .readOnly, expecting: .dense(size: size))
        try? file.descriptor.close()
        return file.state
    }

    /// Reads all of a file, and gives it a new checkpoint when its digest is the one that `checkpoint` has.
    ///
    /// A file that was copied back from a backup has another inode or another time: it is as good as it was. Takes as long
    /// as the disk takes to read it.
    ///
    /// - Parameter checkpoint: of the whole file; what it says of inode, time and ranges does not matter.
    package func verify(_ name: String, _ checkpoint: Checkpoint) throws(CacheFileDefect) -> FileState {
        guard let size = checkpoint.total, let sha256 = checkpoint.sha256 else { throw .wrongContent }
        let path = Self.path(of: name, in: directory)
        let opened = try CheckedFile(at: path, .readWrite, expecting: .size(size))
        let file = CacheFile(name: name, path: path, descriptor: opened.descriptor)
        do {
            guard try file.sha256(size: size) == sha256 else { throw CacheFileDefect.wrongContent }
            var fresh = checkpoint
            fresh.complete = true
            let all = RangeSet(0..<size)
            fresh.setReceived(all)
            fresh.setSynced(all)
            try save(fresh, of: file, durably: true)
        } catch let defect as CacheFileDefect {
            throw defect
        } catch {
            throw .unreadable(code: (error as? Errno)?.rawValue ?? EIO)
        }
        // As it was before it was read: what was written to it meanwhile is seen the next time.
        return opened.state
    }
}
