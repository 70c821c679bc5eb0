internal import Glibc
internal import Platform

/// The content of an upload.
package enum UploadContent: Sendable, Equatable {
    /// The path of the daemon's own copy of a file.
    case file(path: String)
    case bytes([UInt8])
}

/// The body of one request: an upload's content, from an offset to the end. If curl repeats the request on another
/// connection, it reads the body from the same offset again.
///
/// Confined to the engine's thread. The file is open for the lifetime of this object, which the request's handle
/// retains.
final class UploadBody {
    /// The first byte to send.
    let offset: Int64
    /// The number of bytes from `offset` to the end.
    let count: Int64
    private let content: Content
    private var position: Int64 = 0
    /// The reason why reading ended early, one line.
    private(set) var failure: String?

    private enum Content {
        case descriptor(Int32)
        case bytes([UInt8])
    }

    /// - Parameters:
    ///   - size: The expected size of the content; another size means that the copy is damaged.
    /// - Returns: `nil` if the content is missing, or has another size.
    init?(_ content: UploadContent, size: Int64, offset: Int64) {
        guard offset >= 0, offset <= size else { return nil }
        self.offset = offset
        count = size - offset
        switch content {
        case .bytes(let bytes):
            guard bytes.count == size else { return nil }
            self.content = .bytes(bytes)
        case .file(let path):
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { return nil }
            var status = stat()
            guard fstat(descriptor, &status) == 0, Int64(status.st_size) == size else {
                close(descriptor)
                return nil
            }
            posix_fadvise(descriptor, off_t(offset), 0, POSIX_FADV_SEQUENTIAL)
            self.content = .descriptor(descriptor)
        }
    }

    deinit { if case .descriptor(let descriptor) = content { close(descriptor) } }

    /// Reads the next bytes into the buffer, and returns their number: 0 at the end, `nil` if the content cannot be
    /// read.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let wanted = Int(min(Int64(buffer.count), count - position))
        guard wanted > 0 else { return 0 }
        switch content {
        case .bytes(let bytes):
            let start = Int(offset + position)
            bytes.withUnsafeBytes {
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + wanted]))
            }
            position += Int64(wanted)
            return wanted
        case .descriptor(let descriptor):
            let place = off_t(offset + position)
            let result = retryingInterrupts { pread(descriptor, buffer.baseAddress, wanted, place) }
            guard result > 0 else {
                failure = result == 0 ? "it was truncated" : errnoText()
                return nil
            }
            position += Int64(result)
            return result
        }
    }

    /// Moves to a position, counted from `offset`; returns `false` if it is beyond the end.
    func seek(to position: Int64) -> Bool {
        guard (0...count).contains(position) else { return false }
        self.position = position
        return true
    }
}
