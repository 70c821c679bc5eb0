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
