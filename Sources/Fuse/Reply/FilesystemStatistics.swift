import Glibc

/// The result of statfs(2), shown by `df`. The corresponding C type is `struct statvfs`.
package struct FilesystemStatistics: Sendable, Hashable {
    /// The unit of the three block counts, in bytes.
    package var blockSize: UInt64
    /// The size of the filesystem in blocks.
    package var blocks: UInt64
    package var freeBlocks: UInt64
    /// Blocks available to callers without privileges.
    package var availableBlocks: UInt64
    /// The number of inodes, and of free ones.
    package var files: UInt64
    package var freeFiles: UInt64
    /// The maximum length of a name in bytes.
    package var longestName: UInt64

    /// Creates the statistics; the defaults are those of an empty filesystem with names of up to 255 bytes (NAME_MAX).
    package init(
        blockSize: UInt64 = 4096, blocks: UInt64 = 0, freeBlocks: UInt64 = 0, availableBlocks: UInt64 = 0,
        files: UInt64 = 0, freeFiles: UInt64 = 0, longestName: UInt64 = 255
    ) {
        self.blockSize = blockSize
        self.blocks = blocks
        self.freeBlocks = freeBlocks
        self.availableBlocks = availableBlocks
        self.files = files
        self.freeFiles = freeFiles
        self.longestName = longestName
    }

    /// The C structure.
    var cValue: statvfs {
        var status = statvfs()
        status.f_bsize = UInt(blockSize)
        status.f_frsize = UInt(blockSize)
        status.f_blocks = UInt(blocks)
        status.f_bfree = UInt(freeBlocks)
        status.f_bavail = UInt(availableBlocks)
        status.f_files = UInt(files)
        status.f_ffree = UInt(freeFiles)
        status.f_favail = UInt(freeFiles)
        status.f_namemax = UInt(longestName)
        return status
    }
}
