extension String {
    /// The text with all but the unreserved characters (RFC 3986, section 2.3) percent-encoded, for a path component
    /// or a query value.
    package var percentEncoded: String {
        var bytes: [UInt8] = []
        appendPercentEncoded(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends `percentEncoded` to `bytes`.
    package func appendPercentEncoded(to bytes: inout [UInt8]) {
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes.append(UInt8(ascii: "%"))
                for digit in [byte >> 4, byte & 15] {
                    bytes.append(digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "A") - 10))
                }
            }
        }
    }
}
