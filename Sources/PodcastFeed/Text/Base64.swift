internal import Foundation

/// Base64 (RFC 4648, section 4), in which white space is ignored and the padding may be missing.
enum Base64 {
    /// Returns the decoded bytes up to the padding; `nil` if the text contains an invalid character.
    static func decoded(_ text: some Collection<UInt8>) -> [UInt8]? {
        let digits = text.lazy.filter { !$0.isXMLSpace }.prefix { $0 != UInt8(ascii: "=") }
        var padded = Data(digits)
        padded.append(contentsOf: repeatElement(UInt8(ascii: "="), count: -padded.count & 3))
        return Data(base64Encoded: padded).map { [UInt8]($0) }
    }
}
