internal import CLinux
internal import Glibc
package import SystemPackage

/// The size and the free space of a file system, in bytes.
package struct DiskSpace: Sendable, Equatable {
    package var total: Int64
    /// The space available to this user: without the blocks reserved for root.
    package var free: Int64

    package init(total: Int64, free: Int64) {
        self.total = total
        self.free = free
    }

    /// Reads the space of the file system that contains `path`. The corresponding C function is `statvfs`.
    ///
    /// Costs one system call without disk access on a local file system; on a network file system it may wait.
    package init(at path: FilePath) throws(Errno) {
        var status = statvfs()
        while statvfs(path.string, &status) != 0 {
            let error = Errno(rawValue: errno)
            guard error == .interrupted else { throw error }
        }
        // Both counts are in fragments; some FUSE file systems leave the fragment size 0 and count blocks.
        let unit = UInt64(status.f_frsize == 0 ? status.f_bsize : status.f_frsize)
        total = Self.bytes(UInt64(status.f_blocks), of: unit)
        free = Self.bytes(UInt64(status.f_bavail), of: unit)
    }

    /// Returns the product, saturating: file systems of unlimited size report counts that overflow.
    static func bytes(_ count: UInt64, of unit: UInt64) -> Int64 {
        let (product, overflows) = count.multipliedReportingOverflow(by: unit)
        return overflows ? .max : Int64(clamping: product)
    }
}
