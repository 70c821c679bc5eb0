internal import CLinux
internal import Glibc
internal import Platform
package import SystemPackage

/// A copy of a file on any file system, with the digest of the copied bytes.
///
/// The blocks are shared if the file system can do that (FICLONE), otherwise read and written: for the digest, every
/// byte has to be read anyway.
package enum FileCopy {
    /// The number of bytes copied and synced at a time: few enough that other readers of the disk do not wait long.
    private static let step: Int64 = 8 << 20
    /// Copies the first `size` bytes and syncs them.
    ///
    /// - Parameters:
    ///   - destination: An empty file, open for reading and writing.
    ///   - begin: Called before each step. It may wait for work that is more urgent.
    ///   - progress: Called repeatedly with the number of bytes copied since its previous call.
    /// - Returns: The SHA-256 of the copied bytes, in lower-case hexadecimal.
    /// - Throws: `ioError` if the source is shorter.
    package static func copy(
        _ source: FileDescriptor, size: Int64, to destination: FileDescriptor, begin: () -> Void = {},
        progress: (Int64) -> Void
    ) throws(Errno) -> String {
        begin()
        let isReflinked = clinux_reflink(source.rawValue, destination.rawValue) == 0
        if isReflinked { _ = ftruncate(destination.rawValue, off_t(size)) }
        var position: Int64 = 0
        let sha256 = try FileDigest.digest(.sha256, of: source, size: size) { part throws(Errno) in
            if !isReflinked { try destination.write(part, at: position) }
            position += Int64(part.count)
            progress(Int64(part.count))
            guard position % step == 0, position < size else { return }
            if !isReflinked, fdatasync(destination.rawValue) != 0 { throw Errno(rawValue: errno) }
            begin()
        }
        guard fsync(destination.rawValue) == 0 else { throw Errno(rawValue: errno) }
        return sha256
    }
}
