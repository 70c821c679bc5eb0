extension PublicationDate {
    /// Parses a date in any spelling used in feeds; `nil` if it has no valid day, or an invalid time.
    ///
    /// Accepts RFC 822 and its successors (without a weekday or with any, even a wrong one; two-digit years; no
    /// seconds; named zones), ISO 8601 and RFC 3339, `asctime`, American `January 2, 2024 3:04 PM`, and these with the
    /// month names of the languages of ``DateWord``, or as written in Chinese, Japanese and Korean. An invalid time is
    /// never corrected, because a wrong guess could change the order of the episodes.
    package init?(parsing text: some StringProtocol) {
        var text = String(text)
        guard let read = text.withUTF8({ PublicationDate.read($0) }) else { return nil }
        self = read.date
    }

    /// Returns the date in UTF-8 text, and the assumption made about it, if any, for a diagnostic.
    static func read(_ bytes: FeedBytes) -> (date: PublicationDate, assumption: String?)? {
        // A date has at most some forty characters; a comment in parentheses makes it slightly longer.
        guard bytes.count <= 200 else { return nil }
        if bytes.contains(where: { $0 >= 0x80 }) { return plain(bytes).withUnsafeBufferPointer { readPlain($0) } }
        return readPlain(bytes)
    }

    private static func readPlain(_ bytes: FeedBytes) -> (date: PublicationDate, assumption: String?)? {
        var reader = DateReader(bytes: bytes)
        return reader.read().map { ($0, reader.assumption) }
    }

    /// Returns the text with ASCII characters in place of Unicode's dashes and minus, full-width characters, and spaces
    /// of any width; invisible characters are removed.
    private static func plain(_ bytes: FeedBytes) -> [UInt8] {
        var text: [UInt8] = []
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            switch scalar.value {
            case 0x2010...0x2015, 0x2212: text.append(UInt8(ascii: "-"))
            case 0xFF01...0xFF5E: text.append(UInt8(scalar.value - 0xFEE0))
            case 0xA0, 0x2000...0x200A, 0x202F, 0x3000: text.append(0x20)
            case 0x200B...0x200F, 0xFEFF: break
            default: text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
        return text
    }
}
