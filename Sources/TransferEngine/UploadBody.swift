internal import Glibc
internal import Platform

/// What an upload sends.
package enum UploadContent: Sendable, Equatable {
    /// A file that nobody changes.
    case file(path: String)
    case bytes([UInt8])
}

/// The media of one request, as curl asks for them: from an offset to the end, and from there once more where curl has to
/// begin anew on another connection.
///
/// Belongs to the engine's thread. The file is open as long as this object lives, which the request's handle keeps.
final class UploadBody {
    /// The first byte of the content that is sent.
    let offset: Int64
    /// Bytes from there to the end.
    let count: Int64
    private let content: Content
    private var position: Int64 = 0
    /// Why reading has ended before the end, one line.
    private(set) var failure: String?

    private enum Content {
        case descriptor(Int32)
        case bytes([UInt8])
    }

    /// - Parameters:
    ///   - size: what the content is known to have. Anything else is a damaged copy.
    /// - Returns: `nil` when the content is not there, or not of that size.
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

    /// Fills the buffer as far as there is something; `nil` when the content cannot be read.
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
                failure = result == 0 ? "it has become shorter" : String(cString: strerror(errno))
                return nil
            }
            position += Int64(result)
            return result
        }
    }

    /// The next byte is this one of what is sent.
    func seek(to position: Int64) -> Bool {
        guard (0...count).contains(position) else { return false }
        self.position = position
        return true
    }
}
