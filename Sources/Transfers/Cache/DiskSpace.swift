internal import Glibc
package import SystemPackage

/// The size and the free space of a file system, in bytes.
package struct DiskSpace: Sendable, Equatable {
    package var total: Int64
    /// The free space without the blocks reserved for root (`f_bavail`).
    package var free: Int64

    /// Reads the space of the file system that contains `path`. The corresponding C function is `statvfs`.
    ///
    /// Costs one system call. Does not access the disk of a local file system; may block on a network file system.
    package init(at path: FilePath) throws(Errno) {
        var status = statvfs()
        while statvfs(path.string, &status) != 0 {
            let error = Errno(rawValue: errno)
            guard error == .interrupted else { throw error }
        }
        // Both counts are in units of `f_frsize`. Some FUSE file systems leave that 0 and count in units of `f_bsize`.
        let unit = UInt64(status.f_frsize == 0 ? status.f_bsize : status.f_frsize)
        total = Self.bytes(UInt64(status.f_blocks), of: unit)
        free = Self.bytes(UInt64(status.f_bavail), of: unit)
    }

    /// Returns `count * unit`, at most `Int64.max`: file systems of unlimited size report counts that overflow.
    static func bytes(_ count: UInt64, of unit: UInt64) -> Int64 {
        let (product, overflows) = count.multipliedReportingOverflow(by: unit)
        return overflows ? .max : Int64(clamping: product)
    }
}
