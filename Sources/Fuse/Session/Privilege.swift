internal import Platform

/// The capabilities of this process, from /proc.
enum Privilege {
    /// Whether the process currently has CAP_SYS_ADMIN in the initial user namespace (`capable` in the kernel).
    static var isAdministrator: Bool {
        isAdministrator(
            status: SystemFile.contents("/proc/self/status") ?? "",
            userMap: SystemFile.contents("/proc/self/uid_map") ?? "")
    }

    /// Whether CapEff has CAP_SYS_ADMIN (bit 21) and the user namespace is the initial one, which maps every id to
    /// itself.
    static func isAdministrator(status: String, userMap: String) -> Bool {
        let line = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }
        guard let line, let digits = line.split(whereSeparator: \.isWhitespace).last,
            let capabilities = UInt64(digits, radix: 16)
        else { return false }
        let map = userMap.split(whereSeparator: \.isWhitespace)
        return capabilities & (1 << 21) != 0 && map == ["0", "0", "4294967295"]
    }
}
