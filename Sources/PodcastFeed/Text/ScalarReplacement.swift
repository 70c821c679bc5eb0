extension String {
    /// Returns the text with every occurrence of `old` replaced, also one before a combining character.
    ///
    /// `replacing(_:with:)` of the standard library compares grapheme clusters: it finds no apostrophe in
    /// `"'\u{301}"`. Shells and parsers read bytes or scalars, so text for them is escaped with this method.
    package func replacingScalars(_ old: String, with new: String) -> String {
        String(unicodeScalars.replacing(old.unicodeScalars, with: new.unicodeScalars))
    }
}
