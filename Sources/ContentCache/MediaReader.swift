internal import CLinux
internal import Glibc
package import SystemPackage

/// A cache file, open for reading in a process that does not write it.
///
/// A shared lock on the open file description is the lease: eviction needs the exclusive lock. Thread-safe. The
/// descriptor, and with it the lease, is closed with the object.
package final class MediaReader: Sendable {
    private let descriptor: FileDescriptor
    /// The file's state when it was opened.
    package let state: FileState

    /// Opens a file and checks it against `expectation`.
    ///
    /// - Throws: The difference from the expectation; `missing` if it was evicted meanwhile.
    package init(
        name: String, in directory: FilePath, expecting expectation: CacheExpectation
    ) throws(CacheFileDefect) {
        let file = try CheckedFile(
            at: ContentCache.path(of: name, in: directory), .readOnly, expecting: expectation)
        (descriptor, state) = (file.descriptor, file.state)
        guard clinux_ofd_lock(descriptor.rawValue, Int16(F_RDLCK)) == 0 else {
            // An eviction holds the exclusive lock and is about to unlink the file.
            try? descriptor.close()
            throw .missing
        }
    }

    /// Opens an incomplete file; the caller knows which ranges are present. Throws `Errno.noSuchFileOrDirectory` if it
    /// was evicted meanwhile.
    package convenience init(name: String, in directory: FilePath) throws(Errno) {
        do {
            try self.init(name: name, in: directory, expecting: .file)
        } catch {
            throw Errno(rawValue: error.errorNumber)
        }
    }

    deinit { try? descriptor.close() }

    /// Passes the descriptor to `body`; it is valid during the call.
    package func withDescriptor<Result>(_ body: (FileDescriptor) -> Result) -> Result { body(descriptor) }

    /// Reads up to the buffer's size at `offset`; fewer bytes only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        try descriptor.readFully(into: buffer, at: offset)
    }

    /// Computes the SHA-256 of the whole file, in lower-case hexadecimal. `progress` is called repeatedly with the
    /// number of bytes read since its previous call.
    package func sha256(progress: (Int) -> Void = { _ in }) throws -> String {
        try FileDigest.digest(.sha256, of: descriptor, size: state.size, progress: progress)
    }
}
