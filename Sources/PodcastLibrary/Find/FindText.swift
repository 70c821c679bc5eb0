/// Text in the form in which the search index stores it.
///
/// SQLite's tokenizer `unicode61` takes each sequence of letters for a word, but several scripts write no spaces
/// between words. In these scripts every character is a word of the index, so that a search for a part of a sentence
/// finds it as a phrase. The trigram tokenizer of SQLite would do the same for any script, but not find the many words
/// of one or two characters.
enum FindText {
    /// The separator before and after each such character: the zero width space, which `unicode61` treats as a space.
    static let separator: Unicode.Scalar = "\u{200B}"

    /// Returns whether a character belongs to a script without spaces between words, or to Hangul, where spaces
    /// separate words with their particles.
    static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Thai, Lao; Myanmar; Khmer; kana and bopomofo; Han; Hangul; compatibility ideographs; Han of planes 2 and 3.
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3040...0x312F, 0x31A0...0x31FF, 0x3400...0x4DBF,
            0x4E00...0x9FFF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0x20000...0x3FFFF:
            true
        default: false
        }
    }

    /// Returns the text with separators around each character for which `isWord` is true.
    static func separated(_ text: String) -> String {
        // All these characters have three bytes or more, of which the first is at least 0xE0.
        guard text.utf8.contains(where: { $0 >= 0xE0 }) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            guard isWord(scalar) else {
                result.append(scalar)
                continue
            }
            if result.last != separator { result.append(separator) }
            result.append(scalar)
            result.append(separator)
        }
        return String(result)
    }

    /// Removes the separators.
    static func joined(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0xE0 }) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != separator }))
    }

    /// Returns whether the tokenizer takes a character for a part of a word: a letter, a number, or one for private
    /// use.
    static func isPartOfWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber, .privateUse:
            true
        default: false
        }
    }
}
