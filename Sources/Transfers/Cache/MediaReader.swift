internal import CLinux
package import Platform
package import SystemPackage

/// A cache file that is open for reading, in a process that does not write the cache: a mount or a command.
///
/// The reader has a *lease* on the file: a shared lock on its open file description, which prevents eviction, since
/// eviction needs the exclusive lock. `deinit` releases the lease. Thread-safe.
package final class MediaReader: Sendable {
    private let descriptor: FileDescriptor
    /// The file's state when it was opened.
    package let state: FileState
    /// The queue on which calls on the file may block for ever; `nil` for a cache file.
    package let queue: StallingQueue?

    /// Opens a file and checks it against `expectation`.
    ///
    /// - Parameter takesLease: whether the reader keeps the file from eviction. Without a lease, the bytes of a file
    ///   that is evicted meanwhile stay readable.
    /// - Throws: The way in which the file differs from the expectation; `missing` also if it is being evicted.
    package init(
        name: String, in directory: FilePath, expecting expectation: CacheExpectation, takesLease: Bool = true
    ) throws(CacheFileDefect) {
        let file = try CheckedFile(at: ContentCache.path(of: name, in: directory), .readOnly, expecting: expectation)
        (descriptor, state, queue) = (file.descriptor, file.state, nil)
        guard !takesLease || clinux_ofd_lock(descriptor.rawValue, Int16(F_RDLCK)) == 0 else {
            // An eviction holds the exclusive lock and is about to unlink the file.
            try? descriptor.close()
            throw .missing
        }
    }

    /// Opens a file that may be incomplete, without checking its size. The caller must know which ranges are present.
    /// Throws `Errno`: `noSuchFileOrDirectory` if the file has been evicted.
    package convenience init(name: String, in directory: FilePath) throws(Errno) {
        do {
            try self.init(name: name, in: directory, expecting: .file)
        } catch {
            throw Errno(rawValue: error.errorNumber)
        }
    }

    /// Opens a file in the archive, without a lease: nothing evicts it. Call on `queue`, since the disk may be dead.
    package init(
        archived path: FilePath, expecting expectation: CacheExpectation, on queue: StallingQueue
    ) throws(CacheFileDefect) {
        let file = try CheckedFile(at: path, .readOnly, expecting: expectation)
        (descriptor, state, self.queue) = (file.descriptor, file.state, queue)
    }

    deinit {
        if let queue {
            queue.post { [descriptor] in try? descriptor.close() }
            return
        }
        // A child process has a copy of the descriptor between fork and exec. Until that copy is closed, closing this
        // one alone would not release the lock.
        _ = clinux_ofd_lock(descriptor.rawValue, Int16(F_UNLCK))
        try? descriptor.close()
    }

    /// Calls `body` with the descriptor, which must not be used after the call.
    package func withDescriptor<Result>(_ body: (FileDescriptor) -> Result) -> Result { body(descriptor) }

    /// Fills the buffer with the file's bytes from `offset` on. Returns the number of bytes read, which is less
    /// than the buffer's size only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        try descriptor.readFully(into: buffer, at: offset)
    }
}
