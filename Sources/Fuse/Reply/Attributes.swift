internal import CFuse
import Glibc

/// The file types of a read-only filesystem: the type bits of `st_mode`, see inode(7).
package enum FileKind: Sendable, Hashable {
    case directory
    case regular
    case symlink

    var mode: mode_t {
        switch self {
        case .directory: S_IFDIR
        case .regular: S_IFREG
        case .symlink: S_IFLNK
        }
    }

    /// Returns the kind in a file mode; `nil` for a kind that no file of podfs has.
    package init?(mode: UInt32) {
        switch mode & S_IFMT {
        case S_IFDIR: self = .directory
        case S_IFREG: self = .regular
        case S_IFLNK: self = .symlink
        default: return nil
        }
    }
}

/// The attributes that stat(2) returns. The corresponding C type is `struct stat`.
package struct Attributes: Sendable, Hashable {
    /// `st_ino`, as programs see it. It may differ from the node id.
    package var inode: UInt64
    package var kind: FileKind
    /// The mode without the type bits, for example `0o444`.
    package var permissions: UInt16
    package var links: UInt32
    /// The size in bytes. The kernel never reads beyond it, except through a handle opened with direct I/O.
    package var size: Int64
    /// The allocated size in units of 512 bytes, independent of `blockSize`.
    package var blocks: Int64
    /// The preferred size of a read, in bytes.
    package var blockSize: Int32
    package var uid: UInt32
    package var gid: UInt32
    /// Times in seconds of Unix time.
    package var accessed: Int64
    package var modified: Int64
    package var changed: Int64

    package init(
        inode: UInt64, kind: FileKind, permissions: UInt16, links: UInt32 = 1, size: Int64 = 0, blocks: Int64 = 0,
        blockSize: Int32 = 4096, uid: UInt32 = 0, gid: UInt32 = 0, accessed: Int64 = 0, modified: Int64 = 0,
        changed: Int64 = 0
    ) {
        self.inode = inode
        self.kind = kind
        self.permissions = permissions
        self.links = links
        self.size = size
        self.blocks = blocks
        self.blockSize = blockSize
        self.uid = uid
        self.gid = gid
        self.accessed = accessed
        self.modified = modified
        self.changed = changed
    }

    var status: stat {
        var status = stat()
        status.st_ino = ino_t(inode)
        status.st_mode = kind.mode | mode_t(permissions & 0o7777)
        status.st_nlink = nlink_t(links)
        status.st_size = off_t(size)
        status.st_blocks = blkcnt_t(blocks)
        status.st_blksize = blksize_t(blockSize)
        status.st_uid = uid
        status.st_gid = gid
        status.st_atim.tv_sec = time_t(accessed)
        status.st_mtim.tv_sec = time_t(modified)
        status.st_ctim.tv_sec = time_t(changed)
        return status
    }
}

/// The result of statfs(2), shown by `df`. The corresponding C type is `struct statvfs`.
package struct FilesystemStatistics: Sendable, Hashable {
    /// The unit of the block counts, in bytes.
    package var blockSize: UInt64
    /// The size of the filesystem in blocks.
    package var blocks: UInt64
    package var freeBlocks: UInt64

    package init(blockSize: UInt64, blocks: UInt64, freeBlocks: UInt64) {
        self.blockSize = blockSize
        self.blocks = blocks
        self.freeBlocks = freeBlocks
    }

    /// The C structure. The number of files is not reported.
    var cValue: statvfs {
        var status = statvfs()
        status.f_bsize = UInt(blockSize)
        status.f_frsize = UInt(blockSize)
        status.f_blocks = UInt(blocks)
        status.f_bfree = UInt(freeBlocks)
        status.f_bavail = UInt(freeBlocks)
        status.f_namemax = UInt(NAME_MAX)
        return status
    }
}

/// The result of a lookup: a node, its attributes, and how long the kernel may cache both.
///
/// The corresponding C type is `struct fuse_entry_param`.
package struct Entry: Sendable, Hashable {
    /// The node's id. The filesystem does not reuse ids, so `generation` of the C type stays 0.
    package var node: NodeID
    package var attributes: Attributes
    /// The time in seconds for which the kernel may cache the attributes.
    package var attributeTimeout: Double
    /// The time in seconds for which the kernel may cache the name.
    package var entryTimeout: Double

    package init(node: NodeID, attributes: Attributes, attributeTimeout: Double, entryTimeout: Double) {
        self.node = node
        self.attributes = attributes
        self.attributeTimeout = attributeTimeout
        self.entryTimeout = entryTimeout
    }

    var parameters: fuse_entry_param {
        var parameters = fuse_entry_param()
        parameters.ino = node.rawValue
        parameters.attr = attributes.status
        parameters.attr_timeout = attributeTimeout
        parameters.entry_timeout = entryTimeout
        return parameters
    }
}

/// The reply to open and opendir. The corresponding C type is `struct fuse_file_info`.
package struct OpenReply: Sendable, Hashable {
    /// The handle that the kernel sends in every request on this open file.
    package var handle: FileHandle
    /// Whether reads bypass the page cache and may go beyond the size in the attributes. read(2) then returns as many
    /// bytes as the reply has. Must not be mixed with cached handles of the same node.
    package var directIO = false
    /// Whether the node's cached pages (a folder's cached names) stay valid. Otherwise the open drops them.
    package var keepCache = false
    /// Whether close(2) sends no flush request for this handle.
    package var noFlush = false
    /// Whether the kernel caches the names read through this handle, and lists from that cache; for opendir only.
    /// Cached names carry no attributes: the kernel gets the attributes from its cached lookups, or sends new lookups.
    /// Since Linux 4.20; older kernels ignore it.
    package var cacheReaddir = false
    /// The id of the file that the kernel reads itself for this handle; for open only. Reads of the handle do not reach
    /// the filesystem, but with `directIO` all of them do. Cached pages are dropped even with `keepCache`.
    ///
    /// While a node has a passthrough handle, all its other handles must be passthrough with the same id. A passthrough
    /// handle cannot be opened while a cached one is open. The kernel fails an open that breaks these rules with EIO.
    package var backing: BackingID?

    package init(handle: FileHandle) { self.handle = handle }

    var fileInfo: fuse_file_info {
        var info = fuse_file_info()
        info.fh = handle.rawValue
        info.direct_io = directIO ? 1 : 0
        info.keep_cache = keepCache ? 1 : 0
        info.noflush = noFlush ? 1 : 0
        info.cache_readdir = cacheReaddir ? 1 : 0
        return info
    }

    /// Returns the reply for a passthrough handle in the kernel's format. The kernel would reject a passthrough reply
    /// that also has the flag of `keepCache` or `cacheReaddir` (FOPEN_PASSTHROUGH_MASK in fs/fuse/iomode.c). So these
    /// flags are not sent.
    func answer(_ backing: BackingID) -> cfuse_open_answer {
        var flags = CFUSE_FOPEN_PASSTHROUGH
        if directIO { flags |= CFUSE_FOPEN_DIRECT_IO }
        if noFlush { flags |= CFUSE_FOPEN_NOFLUSH }
        return cfuse_open_answer(fh: handle.rawValue, open_flags: flags, backing_id: backing.rawValue)
    }
}
