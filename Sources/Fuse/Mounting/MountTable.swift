internal import Platform

/// The kernel's list of mounts: /proc/self/mountinfo, see proc_pid_mountinfo(5).
package enum MountTable {
    /// The device number of a mount, which distinguishes a filesystem from another one mounted later at the same path.
    struct Device: Hashable, Sendable {
        var major: UInt32
        /// The minor number; for a FUSE filesystem also the name of its folder in /sys/fs/fuse/connections.
        var minor: UInt32
    }

    /// Returns the device of the topmost mount at a path; `nil` if there is none. Accesses no filesystem but /proc.
    static func device(at path: String) -> Device? {
        device(at: path, in: SystemFile.contents("/proc/self/mountinfo") ?? "")
    }

    static func device(at path: String, in table: String) -> Device? {
        var found: Device?
        for line in table.split(separator: "\n") {
            // ID, parent, major:minor, root, mount point, …
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count > 4, MountInfo.unescaped(fields[4]) == Array(path.utf8) else { continue }
            let numbers = fields[2].split(separator: ":").compactMap { UInt32($0) }
            if numbers.count == 2 { found = Device(major: numbers[0], minor: numbers[1]) }
        }
        return found
    }

    /// Returns the mount point of a FUSE connection, the first one if there are several; `nil` if none is visible.
    static func place(ofConnection number: UInt32) -> (path: String, device: Device)? {
        place(ofConnection: number, in: SystemFile.contents("/proc/self/mountinfo") ?? "")
    }

    static func place(ofConnection number: UInt32, in table: String) -> (path: String, device: Device)? {
        for line in table.split(separator: "\n") {
            let fields = line.split(separator: " ")
            // The optional fields are followed by a hyphen, the type and the source.
            guard fields.count > 4, let hyphen = fields.dropFirst(6).firstIndex(of: "-"), fields.count > hyphen + 1,
                fields[hyphen + 1] == "fuse" || fields[hyphen + 1].hasPrefix("fuse."), fields[2] == "0:\(number)"
            else { continue }
            let path = String(decoding: MountInfo.unescaped(fields[4]), as: UTF8.self)
            return (path, Device(major: 0, minor: number))
        }
        return nil
    }

    /// Returns the connection number of an open /dev/fuse; `nil` before the mount, and on kernels whose fdinfo does not
    /// contain it.
    static func connection(of descriptor: Int32) -> UInt32? {
        let text = SystemFile.contents("/proc/self/fdinfo/\(descriptor)") ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("fuse_connection:") }
        return line?.split(whereSeparator: \.isWhitespace).last.flatMap { UInt32($0) }
    }
}
