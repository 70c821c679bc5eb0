/// A line of the kernel's table of mounts, /proc/self/mountinfo; see proc_pid_mountinfo(5).
package struct MountEntry: Sendable, Equatable {
    /// A device number, which distinguishes a filesystem from another one mounted later at the same path.
    package struct Device: Hashable, Sendable {
        package var major: UInt32
        /// The minor number; for a FUSE filesystem also the number of its connection.
        package var minor: UInt32
    }

    package var device: Device
    /// The mount point. The kernel does not require UTF-8.
    package var bytes: [UInt8]
    /// The filesystem type, such as `fuse.podfs`.
    package var type: String
    /// The user for whom a FUSE filesystem was mounted: its option `user_id`. `nil` for other filesystems.
    package var owner: UInt32?

    package var path: String { String(decoding: bytes, as: UTF8.self) }
    package var isFuse: Bool { type == "fuse" || type.hasPrefix("fuse.") }

    /// Parses `ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS … - TYPE SOURCE OPTIONS`.
    init?(_ line: Substring) {
        let fields = line.split(separator: " ", omittingEmptySubsequences: false)
        guard fields.count > 6, let hyphen = fields[6...].firstIndex(of: "-"), fields.count > hyphen + 1 else {
            return nil
        }
        let numbers = fields[2].split(separator: ":").compactMap { UInt32($0) }
        guard numbers.count == 2 else { return nil }
        device = Device(major: numbers[0], minor: numbers[1])
        bytes = Self.unescaped(fields[4])
        type = String(fields[hyphen + 1])
        let option = fields.last?.split(separator: ",").first { $0.hasPrefix("user_id=") }
        owner = option.flatMap { UInt32($0.dropFirst(8)) }
    }

    /// Returns the mounts in the order of the table: a later one at the same path hides an earlier one. Accesses no
    /// filesystem but /proc.
    package static func all(in table: String? = nil) -> [MountEntry] {
        (table ?? SystemFile.contents("/proc/self/mountinfo") ?? "").split(separator: "\n").compactMap(MountEntry.init)
    }

    /// Returns the topmost mount at a path; `nil` if there is none.
    package static func at(_ path: String, in table: String? = nil) -> MountEntry? {
        all(in: table).last { $0.bytes == Array(path.utf8) }
    }

    /// Decodes the octal escapes of a field, such as `\040`. The kernel escapes space, tab, newline and backslash;
    /// newer kernels also `#`.
    private static func unescaped(_ field: Substring) -> [UInt8] {
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
