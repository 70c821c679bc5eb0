internal import CLinux
internal import Glibc
internal import Synchronization
package import SystemPackage

/// The sparse cache file of one rendition (the media of an episode as defined by one server response), open in the one
/// process that writes it.
///
/// Each byte is written at its final offset, and again only if a failed sync or a crash may have lost it. The file is
/// never truncated, and no holes are punched. If the size is known, the file has that size from the start, so that
/// readers may map it. Thread-safe, since `pread` and `pwrite` carry their offset.
package final class CacheFile: Sendable {
    /// The name in the cache's media folder.
    package let name: String
    package let path: FilePath
    private let descriptor: FileDescriptor
    /// Locked during a sync, so that a failure is counted before the next sync of this file begins.
    private let syncing = Mutex(())
    private let syncFailures = Atomic(0)

    init(name: String, path: FilePath, descriptor: FileDescriptor) {
        self.name = name
        self.path = path
        self.descriptor = descriptor
    }

    deinit { try? descriptor.close() }

    /// Writes all of `bytes` at `offset`. Throws the errno of `pwrite`, for example ENOSPC.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
        try descriptor.write(bytes, at: offset)
    }

    /// Fills the buffer with the file's bytes from `offset` on. Returns the number of bytes read, which is less than
    /// the buffer's size only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        try descriptor.readFully(into: buffer, at: offset)
    }

    /// Extends the file to `size` bytes if it is shorter; never shortens it. The corresponding C function is
    /// `ftruncate`.
    package func extend(to size: Int64) throws(Errno) {
        guard try currentState().size < size else { return }
        guard ftruncate(descriptor.rawValue, off_t(size)) == 0 else { throw Errno(rawValue: errno) }
    }

    /// The number of syncs that have failed.
    package var failedSyncs: Int { syncFailures.load(ordering: .acquiring) }

    /// Waits until all written bytes are on the disk. The corresponding C function is `fdatasync`.
    ///
    /// The kernel reports a failed write to one sync only (fsync(2)); the next sync succeeds although bytes are lost.
    /// This call therefore also fails if the number of failed syncs differs from `known`.
    ///
    /// - Parameter known: The number of failed syncs that the caller has handled by discarding the bytes that they may
    ///   have lost.
    package func synchronize(knownFailures known: Int) throws(Errno) {
        try syncing.withLock { _ throws(Errno) in
            guard fdatasync(descriptor.rawValue) == 0 else {
                let error = errno
                syncFailures.add(1, ordering: .releasing)
                throw Errno(rawValue: error)
            }
            guard failedSyncs == known else { throw .ioError }
        }
    }

    /// Computes a digest of the first `size` bytes, in lower-case hexadecimal. Reads all of them, so it must not run on
    /// the thread that serves transfers.
    package func digest(_ algorithm: FileHash.Algorithm, size: Int64) throws(Errno) -> String {
        try FileDigest.digest(algorithm, of: descriptor, size: size)
    }

    /// Computes the SHA-256; see `digest`.
    package func sha256(size: Int64) throws(Errno) -> String { try digest(.sha256, size: size) }

    /// Whether the file still has a name; a removed file may still be open.
    func isLinked() -> Bool {
        var status = stat()
        return fstat(descriptor.rawValue, &status) == 0 && status.st_nlink > 0
    }

    func currentState() throws(Errno) -> FileState { try FileState(of: descriptor) }

    /// Whether the file system reports data, not a hole, for all of `range`. It reports whole blocks, so `true` does
    /// not prove that every byte was written. The check moves the descriptor's file offset, which no read or write here
    /// uses.
    func mayContain(_ range: Range<Int64>) -> Bool {
        if range.isEmpty { return true }
        return clinux_seek_data(descriptor.rawValue, off_t(range.lowerBound)) == off_t(range.lowerBound)
            && clinux_seek_hole(descriptor.rawValue, off_t(range.lowerBound)) >= off_t(range.upperBound)
    }
}

extension FileDescriptor {
    /// Repeats `pread` until the buffer is full or the file ends.
    package func readFully(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            do {
                let count = try read(fromAbsoluteOffset: offset + Int64(done), into: rest)
                if count == 0 { break }
                done += count
            } catch {
                throw error as? Errno ?? .ioError
            }
        }
        return done
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
        do { try writeAll(toAbsoluteOffset: offset, bytes) } catch { throw error as? Errno ?? .ioError }
    }
}
