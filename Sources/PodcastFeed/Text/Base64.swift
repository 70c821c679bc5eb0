/// Base64 (RFC 4648, section 4), in which white space is ignored.
enum Base64 {
    /// Returns the decoded bytes up to the padding; `nil` if the text contains an invalid character.
    static func decoded(_ text: some Collection<UInt8>) -> [UInt8]? {
        var output: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in text where !byte.isXMLSpace {
            if byte == UInt8(ascii: "=") { break }
            let value: UInt8
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = byte - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = byte - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"): value = 62
            case UInt8(ascii: "/"): value = 63
            default: return nil
            }
            bits = bits << 6 | UInt32(value)
            count += 1
            if count % 4 != 1 { output.append(UInt8(truncatingIfNeeded: bits >> UInt32(6 - 2 * ((count - 1) % 4)))) }
        }
        return output
    }
}
