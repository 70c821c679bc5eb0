internal import CLinux
internal import Glibc
package import SystemPackage

/// How large a file system is and what is left of it, in bytes.
package struct DiskSpace: Sendable, Equatable {
    package var total: Int64
    /// What this user may still write: without the blocks that a file system keeps for root.
    package var free: Int64

    package init(total: Int64, free: Int64) {
        self.total = total
        self.free = free
    }

    /// Asks the file system that holds `path`. The corresponding C function is `statvfs`.
    ///
    /// Costs a system call that touches no disk on a local file system; on a network file system it may wait.
    package init(at path: FilePath) throws(Errno) {
        var status = statvfs()
        while statvfs(path.string, &status) != 0 {
            let error = Errno(rawValue: errno)
            guard error == .interrupted else { throw error }
        }
        // Both counts are in fragments; some FUSE file systems leave their size 0 and mean blocks.
        let unit = UInt64(status.f_frsize == 0 ? status.f_bsize : status.f_frsize)
        total = Self.bytes(UInt64(status.f_blocks), of: unit)
        free = Self.bytes(UInt64(status.f_bavail), of: unit)
    }

    /// The product, or the largest number: file systems without an end report counts that do not fit.
    static func bytes(_ count: UInt64, of unit: UInt64) -> Int64 {
        let (product, overflows) = count.multipliedReportingOverflow(by: unit)
        return overflows ? .max : Int64(clamping: product)
    }
}
