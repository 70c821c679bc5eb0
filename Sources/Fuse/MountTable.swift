/// The kernel's list of mounts: /proc/self/mountinfo, see proc_pid_mountinfo(5).
package enum MountTable {
    /// The device number of a mount, by which one filesystem is told from another that came to the same place later.
    struct Device: Hashable, Sendable {
        var major: UInt32
        /// Of a FUSE filesystem also the name of its folder in /sys/fs/fuse/connections.
        var minor: UInt32
    }

    /// What is mounted at a path right now, the uppermost if several are. Touches no filesystem but /proc.
    static func device(at path: String) -> Device? {
        device(at: path, in: SystemFile.contents("/proc/self/mountinfo") ?? "")
    }

    static func device(at path: String, in table: String) -> Device? {
        var found: Device?
        for line in table.split(separator: "\n") {
            // ID, parent, major:minor, root, mount point, …
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count > 4, unescaped(fields[4]) == Array(path.utf8) else { continue }
            let numbers = fields[2].split(separator: ":").compactMap { UInt32($0) }
            if numbers.count == 2 { found = Device(major: numbers[0], minor: numbers[1]) }
        }
        return found
    }

    /// Space, tab, newline and backslash are written as a backslash and three octal digits.
    package static func unescaped(_ field: Substring) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(field.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3, digits.allSatisfy({ (48...55).contains($0) }) {
                bytes.append(UInt8(truncatingIfNeeded: digits.reduce(0) { $0 * 8 + Int($1 - 48) }))
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}
