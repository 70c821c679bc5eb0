internal import Glibc
internal import SystemPackage

/// The content of a generated file when it was opened: bytes in memory, optionally followed by a file on disk from an
/// offset to its end, or by empty lines.
///
/// The file on disk is only replaced, never modified, so the descriptor refers to the opened version.
final class GeneratedContent: Sendable {
    private let head: [UInt8]
    private let tail: FileDescriptor?
    /// The number of bytes skipped at the start of the file on disk.
    private let skipped: Int64
    /// The total size in bytes.
    let size: Int64

    /// - Parameter minimum: The size in bytes to which empty lines fill the content, if it is shorter.
    init(_ bytes: [UInt8], filledTo minimum: Int = 0) {
        head = bytes
        tail = nil
        skipped = 0
        size = Int64(max(bytes.count, minimum))
    }

    private init(head: [UInt8], tail: FileDescriptor, skipped: Int64, size: Int64) {
        self.head = head
        self.tail = tail
        self.skipped = skipped
        self.size = size
    }

    deinit { try? tail?.close() }

    /// Returns `head` followed by the file at `path` from offset `skipping` on; `nil` if there is no such regular file,
    /// or it has fewer than `skipping` bytes.
    static func file(_ path: FilePath, head: [UInt8] = [], skipping: Int64 = 0) -> GeneratedContent? {
        guard
            let descriptor = try? FileDescriptor.open(
                path, .readOnly, options: [.closeOnExec, .noFollow, .nonBlocking])
        else { return nil }
        var status = stat()
        guard fstat(descriptor.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            Int64(status.st_size) >= skipping
        else {
            try? descriptor.close()
            return nil
        }
        let size = Int64(status.st_size)
        return GeneratedContent(
            head: head, tail: descriptor, skipped: skipping, size: Int64(head.count) + size - skipping)
    }

    /// Fills the buffer with the bytes from `offset` on, and returns their number. The whole range must be within
    /// `size`.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        var count = 0
        if offset < head.count {
            let start = Int(offset)
            let part = head[start..<min(head.count, start + buffer.count)]
            buffer.copyBytes(from: part)
            count = part.count
        }
        guard let tail else {
            UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).initializeMemory(
                as: UInt8.self, repeating: UInt8(ascii: "\n"))
            return buffer.count
        }
        while count < buffer.count {
            let fileOffset = offset + Int64(count) - Int64(head.count) + skipped
            let got: Int
            do {
                got = try tail.read(
                    fromAbsoluteOffset: fileOffset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
            } catch {
                throw error as? Errno ?? .ioError
            }
            // The file cannot have become shorter.
            guard got > 0 else { throw .ioError }
            count += got
        }
        return count
    }
}
