/// The format of the kernel's tables of mounts: /proc/self/mountinfo, see proc_pid_mountinfo(5), and /proc/self/mounts,
/// see fstab(5).
package enum MountInfo {
    /// Decodes the octal escapes of a field, such as `\040`. The kernel escapes space, tab, newline and backslash;
    /// newer kernels also `#`.
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
