/// A key of `podfs status --watch`.
enum WatchKey: Equatable, Sendable {
    case up, down, suspend, resume, cancel, open, quit

    /// Parses terminal input into keys. Arrow keys are sent as `ESC [ A` or, in application mode, as `ESC O A`
    /// (ECMA-48, 8.3.22; DEC VT100). Alt with a letter counts as the letter. Other keys are ignored.
    static func keys(in bytes: [UInt8]) -> [WatchKey] {
        var keys: [WatchKey] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == 0x1B else {
                if let key = Self.letters[byte] { keys.append(key) }
                continue
            }
            guard let kind = rest.first, kind == UInt8(ascii: "[") || kind == UInt8(ascii: "O") else { continue }
            rest.removeFirst()
            // Skip the parameters up to the final byte, which identifies the key.
            while let next = rest.popFirst() {
                guard (0x40...0x7E).contains(next) else { continue }
                if next == UInt8(ascii: "A") { keys.append(.up) }
                if next == UInt8(ascii: "B") { keys.append(.down) }
                break
            }
        }
        return keys
    }

    private static let letters: [UInt8: WatchKey] = [
        UInt8(ascii: "q"): .quit, UInt8(ascii: "Q"): .quit, UInt8(ascii: "k"): .up, UInt8(ascii: "j"): .down,
        UInt8(ascii: "s"): .suspend, UInt8(ascii: "r"): .resume, UInt8(ascii: "c"): .cancel, UInt8(ascii: "o"): .open,
        0x0D: .open, 0x0A: .open,
    ]

    /// The line that explains the keys, and a shorter one.
    static let help = "↑↓ select   s suspend   r resume   c cancel   o open   q quit"
    static let shortHelp = "s r c o  q quit"
}
