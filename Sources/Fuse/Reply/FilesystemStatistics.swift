import Glibc

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
