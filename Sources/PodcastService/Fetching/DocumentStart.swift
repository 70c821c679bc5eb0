/// The first characters of a document, which distinguish a web page from JSON and other text.
enum DocumentStart {
    /// Returns the bytes without a byte order mark and white space at the start.
    static func text(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        return bytes[start...].drop { $0 <= 0x20 }
    }

    /// Returns whether the document begins with a tag, as web pages do.
    static func isMarkup(_ bytes: [UInt8]) -> Bool { text(bytes).first == UInt8(ascii: "<") }
}
