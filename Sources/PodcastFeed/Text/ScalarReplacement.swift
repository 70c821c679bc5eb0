extension String {
    /// Returns the text with every occurrence of `old` replaced, also one before a combining character.
    ///
    /// `replacing(_:with:)` of the standard library compares grapheme clusters: it finds no apostrophe in
    /// `"'\u{301}"`. Shells and parsers read bytes or scalars, so text for them is escaped with this method.
    package func replacingScalars(_ old: String, with new: String) -> String {
        let old = Array(old.utf8)
        guard let first = old.first, utf8.contains(first) else { return self }
        // In UTF-8, the bytes of one text are found in another only where its scalars are.
        let text = Array(utf8)
        var result: [UInt8] = []
        result.reserveCapacity(text.count + text.count / 8)
        var index = 0
        while index < text.count {
            if text[index] == first, text[index...].starts(with: old) {
                result += new.utf8
                index += old.count
            } else {
                result.append(text[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
