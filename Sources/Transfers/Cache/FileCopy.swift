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
    private static let bufferSize = 256 * 1024

    /// Copies the first `size` bytes and syncs them.
    ///
    /// - Parameters:
    ///   - destination: An empty file, open for reading and writing.
    ///   - begin: Called before each step. It may wait for work that is more urgent.
    ///   - progress: Called after each step with the number of bytes copied since its previous call. It may throw to
    ///     end the copy.
    /// - Returns: The SHA-256 of the copied bytes, in lower-case hexadecimal.
    /// - Throws: `Errno`: `ioError` if the source is shorter; the errors of `progress`.
    package static func copy(
        _ source: FileDescriptor, size: Int64, to destination: FileDescriptor, begin: () -> Void = {},
        progress: (Int64) throws -> Void
    ) throws -> String {
        begin()
        let isReflinked = clinux_reflink(source.rawValue, destination.rawValue) == 0
        if isReflinked { _ = ftruncate(destination.rawValue, off_t(size)) }
        let digest = try RunningDigest(.sha256)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferSize, alignment: 4_096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < size {
            if offset > 0 { begin() }
            let end = min(size, offset + step)
            var position = offset
            while position < end {
                let wanted = Int(min(Int64(bufferSize), end - position))
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                guard try source.readFully(into: part, at: position) == wanted else { throw Errno.ioError }
                try digest.append(UnsafeRawBufferPointer(part))
                if !isReflinked {
                    _ = try destination.writeAll(toAbsoluteOffset: position, UnsafeRawBufferPointer(part))
                }
                position += Int64(wanted)
            }
            if !isReflinked, fdatasync(destination.rawValue) != 0 { throw Errno(rawValue: errno) }
            try progress(end - offset)
            offset = end
        }
        guard fsync(destination.rawValue) == 0 else { throw Errno(rawValue: errno) }
        return try digest.finish()
    }
}
