internal import CLinux
internal import Glibc
package import SystemPackage

/// A cache file, open for reading by a process that does not write it.
///
/// Holds a shared lock on the open file description as a lease: eviction takes the exclusive lock first. Reads are safe
/// from any thread. The descriptor, and the lease with it, goes with the value.
package final class MediaReader: Sendable {
    private let descriptor: FileDescriptor

    /// Opens the file of that name. Throws `Errno.noSuchFileOrDirectory` when it was evicted in between.
    package init(name: String, in directory: FilePath) throws(Errno) {
        do {
            descriptor = try FileDescriptor.open(
                ContentCache.path(of: name, in: directory), .readOnly, options: [.closeOnExec])
        } catch let error as Errno {
            throw error
        } catch {
            throw .ioError
        }
        guard clinux_ofd_lock(descriptor.rawValue, Int16(F_RDLCK)) == 0 else {
            // An eviction holds the exclusive lock: the name is about to go.
            try? descriptor.close()
            throw .noSuchFileOrDirectory
        }
    }

    deinit { try? descriptor.close() }

    /// Hands the descriptor to `body`, for the time of the call.
    package func withDescriptor<Result>(_ body: (FileDescriptor) -> Result) -> Result { body(descriptor) }

    /// Reads up to the buffer's size at `offset`; fewer only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        try descriptor.readFully(into: buffer, at: offset)
    }
}
