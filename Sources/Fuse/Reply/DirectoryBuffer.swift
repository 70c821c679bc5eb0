internal import CFuse

/// The part of a listing that a readdir or readdirplus requests.
package struct DirectoryPage: Sendable, Hashable {
    package var handle: FileHandle
    /// The offset at which to continue: 0 for the beginning, otherwise the `nextOffset` of the last entry already read.
    package var offset: UInt64
    /// The maximum size of the reply in bytes.
    package var size: Int
    /// Whether the request is a readdirplus.
    package var withAttributes: Bool
}

/// A buffer that holds a part of a listing in the kernel's format. Entries are added until the buffer is full.
///
/// Created by `Request.reply(listing:_:)` in memory owned by the replying thread; it is valid only in the closure that
/// fills it.
package struct DirectoryBuffer: ~Copyable {
    private let memory: UnsafeMutableRawBufferPointer
    private let withAttributes: Bool
    /// The number of bytes filled so far.
    package private(set) var count = 0

    init(memory: UnsafeMutableRawBufferPointer, withAttributes: Bool) {
        self.memory = memory
        self.withAttributes = withAttributes
    }

    /// Adds a name with its node and attributes. Returns false and adds nothing if the entry does not fit. The
    /// caller then stops adding entries, and the kernel's next request continues at the offset of the last entry added.
    ///
    /// `nextOffset` is the offset at which the kernel continues after this entry. It must not be 0. In a readdirplus
    /// reply each entry except `.` and `..` counts as a lookup of its node. For readdir only the inode number and the
    /// kind are used. The corresponding C functions are `fuse_add_direntry_plus` and `fuse_add_direntry`.
    package mutating func add(name: String, entry: Entry, nextOffset: UInt64) -> Bool {
        add(name, entry.parameters, nextOffset)
    }

    /// Adds a name without attributes. In a readdirplus reply the entry has node id 0, so that the kernel looks the
    /// name up if it needs the attributes.
    ///
    /// Used for entries whose attributes are too expensive to determine during a listing, and for `.` and `..`.
    package mutating func add(name: String, inode: UInt64, kind: FileKind, nextOffset: UInt64) -> Bool {
        var parameters = fuse_entry_param()
        parameters.attr.st_ino = ino_t(inode)
        parameters.attr.st_mode = kind.mode
        return add(name, parameters, nextOffset)
    }

    private mutating func add(_ name: String, _ parameters: fuse_entry_param, _ nextOffset: UInt64) -> Bool {
        let room = memory.count - count
        guard room > 0, let start = memory.baseAddress?.advanced(by: count).assumingMemoryBound(to: CChar.self) else {
            return false
        }
        var parameters = parameters
        let offset = off_t(Int64(bitPattern: nextOffset))
        // libfuse ignores the request argument of these functions. If the entry does not fit, they write nothing and
        // still return its size.
        let size =
            withAttributes
            ? fuse_add_direntry_plus(nil, start, room, name, &parameters, offset)
            : fuse_add_direntry(nil, start, room, name, &parameters.attr, offset)
        guard size <= room else { return false }
        count += size
        return true
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }
}

extension Request {
    /// Replies to readdir or readdirplus with the entries that `fill` adds. A reply without entries reports the end of
    /// the listing.
    ///
    /// `fill` runs synchronously on the calling thread; it must not reply to another request with this method.
    /// The corresponding C function is `fuse_reply_buf`.
    package consuming func reply(listing page: DirectoryPage, _ fill: (inout DirectoryBuffer) -> Void) {
        let memory = ThreadMemory.current.pointee.block(size: page.size)
        var buffer = DirectoryBuffer(memory: memory, withAttributes: page.withAttributes)
        fill(&buffer)
        let bytes = buffer.bytes
        answer(.listing(Array(bytes), withAttributes: page.withAttributes)) { Self.send(bytes, to: $0) }
    }
}
