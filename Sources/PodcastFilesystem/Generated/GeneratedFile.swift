internal import Fuse
internal import Glibc
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// The content of a generated file and its times. Rendered when the file is accessed, never for a listing.
struct Rendering {
    var content: GeneratedContent
    /// The mtime in seconds of Unix time.
    var modified: Int64
    /// The ctime in seconds of Unix time.
    var changed: Int64
    /// The size to report while the content is not fetched yet; `nil` for the content's own size.
    var estimate: Int64?
}

/// A file whose content is rendered on access.
protocol GeneratedFile: NodeBehaviour {
    /// Renders the current content; `nil` if the file does not exist (any more).
    func render() throws -> Rendering?
}

extension GeneratedFile {
    func facts(open: OpenFile?) throws -> NodeFacts? {
        guard let rendering = try render() else { return nil }
        // The size of an open file does not change.
        let size = open?.content?.size ?? rendering.estimate ?? rendering.content.size
        var facts = NodeFacts(node, size: size, modified: rendering.modified, changed: rendering.changed)
        // The content is not fetched yet, but st_blocks must not be 0: programs treat a file without blocks as a hole.
        if rendering.estimate != nil, open?.content == nil { facts.blocks = 1 }
        return facts
    }

    func opening(by caller: Caller, flags: Int32) throws -> Opening {
        if mount.refuses(node, to: caller.uid) { throw Errno.permissionDenied }
        guard let rendering = try render() else { throw Errno.staleNFSFileHandle }
        // Direct I/O, so that reads return this content regardless of the size reported before.
        return .open(OpenFile(number: node, content: rendering.content), .direct)
    }
}

extension PodcastFilesystem {
    /// Whether a user is refused a file that only the owner may read: the raw or the parsed feed, which may contain a
    /// URL with a secret.
    func refuses(_ number: NodeNumber, to uid: UInt32) -> Bool {
        behaviour(of: number).form.permissions == 0o400 && !mayControl(uid) && uid != 0
    }
}

/// The content of a generated file when it was opened: bytes in memory, optionally followed by a file on disk from an
/// offset to its end, or by empty lines.
///
/// The file on disk is only replaced, never modified, so the descriptor refers to the opened version.
final class GeneratedContent: Sendable {
    /// The file on disk, which stays open as long as a content refers to it.
    private final class Tail: Sendable {
        let descriptor: FileDescriptor

        init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

        deinit { try? descriptor.close() }
    }

    private let head: [UInt8]
    private let tail: Tail?
    /// The number of bytes skipped at the start of the file on disk.
    private let skipped: Int64
    /// The total size in bytes.
    let size: Int64

    private init(head: [UInt8], tail: Tail?, skipped: Int64, size: Int64) {
        self.head = head
        self.tail = tail
        self.skipped = skipped
        self.size = size
    }

    /// - Parameter minimum: The size in bytes to which empty lines fill the content, if it is shorter.
    convenience init(_ bytes: [UInt8], filledTo minimum: Int = 0) {
        self.init(head: bytes, tail: nil, skipped: 0, size: Int64(max(bytes.count, minimum)))
    }

    /// Returns `bytes` followed by this content.
    func preceded(by bytes: [UInt8]) -> GeneratedContent {
        GeneratedContent(head: bytes + head, tail: tail, skipped: skipped, size: Int64(bytes.count) + size)
    }

    /// Returns `head` followed by the file at `path` from offset `skipping` on; `nil` if there is no such regular file,
    /// or it has fewer than `skipping` bytes.
    static func file(_ path: FilePath, head: [UInt8] = [], skipping: Int64 = 0) -> GeneratedContent? {
        guard
            let descriptor = try? FileDescriptor.open(
                path, .readOnly, options: [.closeOnExec, .noFollow, .nonBlocking])
        else { return nil }
        let tail = Tail(descriptor)
        var status = stat()
        guard fstat(descriptor.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            Int64(status.st_size) >= skipping
        else { return nil }
        return GeneratedContent(
            head: head, tail: tail, skipped: skipping, size: Int64(head.count) + Int64(status.st_size) - skipping)
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
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
        if let tail {
            let fileOffset = offset + Int64(count - head.count) + skipped
            // The file cannot have become shorter.
            guard try tail.descriptor.readFully(into: rest, at: fileOffset) == rest.count else { throw .ioError }
        } else {
            rest.initializeMemory(as: UInt8.self, repeating: UInt8(ascii: "\n"))
        }
        return buffer.count
    }

    /// All bytes.
    var bytes: [UInt8] {
        get throws {
            try [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
                count = try read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
            }
        }
    }
}
