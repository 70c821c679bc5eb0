/// A guess at the encoding of text that is not UTF-8, but has no label or is labeled as UTF-8.
///
/// Japanese is recognized by its kana. For other text, the language that the feed states determines the encoding. If
/// that language is written in Cyrillic, the bytes decide between KOI8-R and Windows-1251. If the feed states no
/// language, or one that `byLanguage` does not list, the bytes alone determine the encoding: Cyrillic and Greek are
/// recognized by words without ASCII letters and by their most frequent letters. Central European languages are
/// recognized by letters whose codes are signs in Windows-1252.
struct EncodingGuess {
    private let head: [UInt8]

    init(_ head: [UInt8]) { self.head = head }

    /// The `iconv_open` name of the encoding; `nil` if the text is probably Windows-1252.
    var name: String? {
        // 0x8E is the lead byte of a half-width kana; 0x8F precedes the two bytes of a rare kanji.
        let isEUC = isJapanese(
            lone: { $0 == 0x8F }, lead: { 0xA1...0xFE ~= $0 || $0 == 0x8E }, trail: { 0xA1...0xFE ~= $0 },
            isKana: { lead, _ in lead == 0xA4 || lead == 0xA5 })
        if isEUC { return "EUC-JP" }
        // A lone byte from 0xA1 to 0xDF is a half-width kana.
        let isShiftJIS = isJapanese(
            lone: { 0xA1...0xDF ~= $0 }, lead: { 0x81...0x9F ~= $0 || 0xE0...0xFC ~= $0 },
            trail: { 0x40...0x7E ~= $0 || 0x80...0xFC ~= $0 },
            isKana: { $0 == 0x82 && 0x9F...0xF1 ~= $1 || $0 == 0x83 && 0x40...0x96 ~= $1 })
        if isShiftJIS { return "CP932" }
        let words = longWords
        if let language, let named = Self.byLanguage[language] {
            return named == "CP1251" && isKOI8(words) ? "KOI8-R" : named
        }
        // In a non-Latin script, whole words consist of bytes from 0xC0 on. In Latin script these bytes are accented
        // letters, which mostly stand alone.
        if words.count * 10 > head.count(where: { $0 >= 0xC0 }) * 6, words.count >= 6 {
            if isKOI8(words) { return "KOI8-R" }
            let cyrillic = words.count { [0xEE, 0xE0, 0xE8, 0xED].contains($0) }
            let greek = words.count { [0xE1, 0xEF, 0xE9, 0xF4, 0xDC, 0xDD, 0xDE, 0xDF].contains($0) }
            return greek > cyrillic ? "CP1253" : "CP1251"
        }
        return hasCentralEuropeanLetters ? "CP1250" : nil
    }

    /// The bytes 0xC0 and above that occur in runs of at least three, which are words of a non-Latin script.
    private var longWords: [UInt8] { Array(head.split { $0 < 0xC0 }.filter { $0.count >= 3 }.joined()) }

    /// Whether most letters are below 0xE0: in KOI8 these are the lower-case letters, in Windows-1251 the capitals.
    private func isKOI8(_ words: [UInt8]) -> Bool { words.count { $0 < 0xE0 } * 2 > words.count }

    /// Whether the text contains at least two letters of Polish and neighboring languages. Only letters count whose
    /// codes are no letters in Windows-1252: `³ ¹ £ ¼ ¾`, after which Windows-1252 text has no letter, `¿`, before
    /// which it has none, and 0x9D, which it does not use. The bytes of a character of UTF-8 do not count: a feed may
    /// mix UTF-8 and Windows-1252, and in UTF-8 the second byte of `ü` is 0xBC.
    private var hasCentralEuropeanLetters: Bool {
        var (count, index) = (0, 0)
        _ = head.withUnsafeBufferPointer { text in
            UTF8Cleaner.divide(text) { part, isValid in
                defer { index += part.count }
                guard !isValid, index > 0, index + 1 < head.count, Self.isLetter(head[index + 1]) else { return }
                switch part[0] {
                case 0xB3, 0xB9, 0xA3, 0xBC, 0xBE, 0x9D: count += 1
                case 0xBF where Self.isLetter(head[index - 1]): count += 1
                default: break
                }
            }
        }
        return count >= 2
    }

    private static func isLetter(_ byte: UInt8) -> Bool { byte.isLetter || byte >= 0xC0 }

    // MARK: Japanese

    /// Whether the text consists of ASCII and pairs of bytes, of which at least one in ten is a kana.
    private func isJapanese(
        lone: (UInt8) -> Bool, lead: (UInt8) -> Bool, trail: (UInt8) -> Bool, isKana: (UInt8, UInt8) -> Bool
    ) -> Bool {
        var (pairs, kana, index) = (0, 0, 0)
        while index < head.count {
            let byte = head[index]
            index += 1
            if byte < 0x80 || lone(byte) { continue }
            guard lead(byte) else { return false }
            guard index < head.count else { break }
            guard trail(head[index]) else { return false }
            pairs += 1
            if isKana(byte, head[index]) { kana += 1 }
            index += 1
        }
        return pairs >= 2 && kana * 10 >= pairs
    }

    // MARK: Language

    /// The language code that the feed states, without its region and in lower case; `nil` if `head` contains none.
    private var language: String? {
        for mark in ["<language>", "xml:lang=\"", "xml:lang='"] {
            guard let range = head.firstRange(of: Array(mark.utf8)) else { continue }
            let code = head[range.upperBound...].drop(while: \.isXMLSpace).prefix(while: \.isLetter)
            if 2...3 ~= code.count { return String(decoding: code, as: UTF8.self).lowercased() }
        }
        return nil
    }

    private static let byLanguage: [String: String] = [
        "ru": "CP1251", "uk": "CP1251", "bg": "CP1251", "be": "CP1251", "mk": "CP1251", "pl": "CP1250", "cs": "CP1250",
        "sk": "CP1250", "hu": "CP1250", "hr": "CP1250", "sl": "CP1250", "ro": "CP1250", "el": "CP1253", "tr": "CP1254",
        "he": "CP1255", "ar": "CP1256", "lt": "CP1257", "lv": "CP1257", "et": "CP1257", "vi": "CP1258", "th": "CP874",
        "ja": "CP932", "ko": "CP949", "zh": "GB18030",
    ]
}
