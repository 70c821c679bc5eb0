internal import CLinux
internal import Glibc
package import SystemPackage

/// A cache file, open for reading by a process that does not write it.
///
/// Holds a shared lock on the open file description as a lease: eviction takes the exclusive lock first. Reads are safe
/// from any thread. The descriptor, and the lease with it, goes with the value.
package final class MediaReader: Sendable {
    private let descriptor: FileDescriptor
    /// How it looked when it was opened.
    package let state: FileState

    /// Opens the file of that name, which is as expected.
    ///
    /// - Throws: `missing` when it was evicted in between.
    package init(
        name: String, in directory: FilePath, expecting expectation: CacheExpectation
    ) throws(CacheFileDefect) {
        let file = try CheckedFile(
            at: ContentCache.path(of: name, in: directory), .readOnly, expecting: expectation)
        (descriptor, state) = (file.descriptor, file.state)
        guard clinux_ofd_lock(descriptor.rawValue, Int16(F_RDLCK)) == 0 else {
            // An eviction holds the exclusive lock: the name is about to go.
            try? descriptor.close()
            throw .missing
        }
    }

    /// The same for a file of which not all is there: what may be read of it somebody else says.
    /// Throws `Errno.noSuchFileOrDirectory` when it was evicted in between.
    package convenience init(name: String, in directory: FilePath) throws(Errno) {
        do {
            try self.init(name: name, in: directory, expecting: .file)
        } catch {
            throw Errno(rawValue: error.errorNumber)
        }
    }

    deinit { try? descriptor.close() }

    /// Hands the descriptor to `body`, for the time of the call.
    package func withDescriptor<Result>(_ body: (FileDescriptor) -> Result) -> Result { body(descriptor) }

    /// Reads up to the buffer's size at `offset`; fewer only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        try descriptor.readFully(into: buffer, at: offset)
    }

    /// The SHA-256 of all of it, lower-case hexadecimal. `progress` is called now and then with how many bytes have been
    /// read since it was called last.
    package func sha256(progress: (Int) -> Void = { _ in }) throws -> String {
        try FileDigest.sha256(of: descriptor, size: state.size, progress: progress)
    }
}
