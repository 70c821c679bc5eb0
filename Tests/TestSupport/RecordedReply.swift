import CFuse
package import Fuse
import Glibc
import Synchronization

/// A test double of the kernel: creates requests and records their replies.
///
///     let reply = RecordedReply()
///     filesystem.lookup(reply.request(), parent: .root, name: "a")
///     #expect(reply.answer == .error(.noSuchFileOrDirectory))
package final class RecordedReply: ReplyRecorder {
    private struct State {
        var answer: RecordedAnswer?
        var wasDropped = false
        var interrupted = false
        var handler: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    private let refuses: Bool

    /// Creates a recorder. With `refusing`, it records the reply, but reports to the sender that the reply was not
    /// accepted, as the kernel does after the caller was interrupted.
    package init(refusing: Bool = false) {
        refuses = refusing
    }

    /// Creates the request whose reply this object records. Call once.
    package func request(id: UInt64 = 2, uid: UInt32 = getuid(), gid: UInt32 = getgid(), pid: Int32 = getpid())
        -> Request
    {
        Request(id: id, uid: uid, gid: gid, pid: pid, recording: self)
    }

    /// The reply, or `nil` while there is none.
    package var answer: RecordedAnswer? { state.withLock { $0.answer } }

    /// Whether the request was dropped without a reply; `answer` is then EIO.
    package var wasDropped: Bool { state.withLock { $0.wasDropped } }

    /// Interrupts the caller, like a signal. A handler registered later is called immediately.
    package func interrupt() {
        let handler = state.withLock { state -> (@Sendable () -> Void)? in
            state.interrupted = true
            defer { state.handler = nil }
            return state.handler
        }
        handler?()
    }

    @discardableResult
    package func record(_ answer: RecordedAnswer, dropped: Bool) -> Bool {
        state.withLock { state in
            state.answer = answer
            state.wasDropped = dropped
            state.handler = nil
            return !refuses
        }
    }

    package func register(_ handler: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            if state.interrupted { return true }
            state.handler = handler
            return false
        }
    }
}

/// One entry of a listing as the kernel decodes it.
package struct ListedEntry: Sendable, Equatable {
    package var name: String
    package var inode: UInt64
    package var kind: FileKind?
    package var nextOffset: UInt64
    /// The node in a readdirplus reply, `NodeID.none` for an entry without attributes; `nil` in a readdir reply.
    package var node: NodeID?
    /// The size in a readdirplus reply; `nil` for an entry without attributes, and in a readdir reply.
    package var size: Int64?

    /// Decodes consecutive `struct fuse_dirent` or `struct fuse_direntplus`, each padded to 8 bytes.
    package static func decode(_ bytes: UnsafeRawBufferPointer, withAttributes: Bool) -> [ListedEntry] {
        let header = 24  // The part of fuse_dirent before the name: ino, off, namelen, type.
        let prefix = withAttributes ? MemoryLayout<fuse_entry_out>.size : 0
        var entries: [ListedEntry] = []
        var start = 0
        while start + prefix + header <= bytes.count {
            let dirent = start + prefix
            let length = Int(bytes.loadUnaligned(fromByteOffset: dirent + 16, as: UInt32.self))
            let end = dirent + header + length
            guard end <= bytes.count else { break }
            let type = bytes.loadUnaligned(fromByteOffset: dirent + 20, as: UInt32.self)
            var entry = ListedEntry(
                name: String(decoding: bytes[(dirent + header)..<end], as: UTF8.self),
                inode: bytes.loadUnaligned(fromByteOffset: dirent, as: UInt64.self),
                kind: FileKind(mode: type << 12),
                nextOffset: bytes.loadUnaligned(fromByteOffset: dirent + 8, as: UInt64.self))
            if withAttributes {
                let out = bytes.loadUnaligned(fromByteOffset: start, as: fuse_entry_out.self)
                entry.node = NodeID(rawValue: out.nodeid)
                if out.nodeid != 0 { entry.size = Int64(bitPattern: out.attr.size) }
            }
            entries.append(entry)
            start = (end + 7) & ~7
        }
        return entries
    }
}

extension RecordedAnswer {
    /// The entries of a listing; `nil` for another answer.
    package var listing: [ListedEntry]? {
        guard case .listing(let bytes, let withAttributes) = self else { return nil }
        return bytes.withUnsafeBytes { ListedEntry.decode($0, withAttributes: withAttributes) }
    }
}
