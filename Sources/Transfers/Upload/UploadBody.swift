internal import Glibc
internal import Platform

/// The body of one request: the daemon's copy of a file, from an offset to the end. If curl repeats the request on
/// another connection, it reads the body from the same offset again.
///
/// Confined to the engine's thread. The file is open for the lifetime of this object, which the request's handle
/// retains.
final class UploadBody {
    /// The first byte to send.
    let offset: Int64
    /// The number of bytes from `offset` to the end.
    let count: Int64
    private let descriptor: Int32
    private var position: Int64 = 0
    /// The reason why reading ended early, one line.
    private(set) var failure: String?

    /// - Parameters:
    ///   - size: The expected size of the content; another size means that the copy is damaged.
    /// - Returns: `nil` if the content is missing, or has another size.
    init?(_ path: String, size: Int64, offset: Int64) {
        guard offset >= 0, offset <= size else { return nil }
        self.offset = offset
        count = size - offset
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0, Int64(status.st_size) == size else { return nil }
        posix_fadvise(descriptor, off_t(offset), 0, POSIX_FADV_SEQUENTIAL)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Reads the next bytes into the buffer, and returns their number: 0 at the end, `nil` if the content cannot be
    /// read.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let wanted = Int(min(Int64(buffer.count), count - position))
        guard wanted > 0 else { return 0 }
        let result = retryingInterrupts { pread(descriptor, buffer.baseAddress, wanted, off_t(offset + position)) }
        guard result > 0 else {
            failure = result == 0 ? "it was truncated" : errnoText()
            return nil
        }
        position += Int64(result)
        return result
    }

    /// Moves to a position, counted from `offset`; returns `false` if it is beyond the end.
    func seek(to position: Int64) -> Bool {
        guard (0...count).contains(position) else { return false }
        self.position = position
        return true
    }
}
