/// The encoding of a document.
enum DocumentEncoding {
    /// The result of examining the first bytes of a document and its label.
    struct Detection {
        /// The `iconv_open` name; `nil` for UTF-8, with invalid bytes read as Windows-1252. That covers ASCII, UTF-8,
        /// Latin-1 and every mixture of them, regardless of the label.
        var encoding: String?
        /// The length of the byte order mark.
        var markLength = 0
        /// Whether bytes that are not UTF-8 conform to the label, and thus are not a mistake.
        var expectsLatin = false
        var diagnostic: String?
    }

    /// Determines the encoding by byte order mark, then by the pattern of UTF-16, then by the label of the HTTP
    /// response, then by the label in the document (RFC 7303, section 3.2). A label that contradicts the bytes is
    /// ignored. If text without a label, or labeled as UTF-8 or ASCII, is mostly not UTF-8, its encoding is guessed.
    ///
    /// - Parameters:
    ///   - head: The document's first bytes, enough for an XML declaration and some text.
    ///   - contentType: The value of the Content-Type field.
    static func detect(_ head: [UInt8], contentType: String?) -> Detection {
        if head.starts(with: [0xEF, 0xBB, 0xBF]) { return Detection(markLength: 3) }
        if head.starts(with: [0xFF, 0xFE, 0, 0]) { return Detection(encoding: "UTF-32LE", markLength: 4) }
        if head.starts(with: [0, 0, 0xFE, 0xFF]) { return Detection(encoding: "UTF-32BE", markLength: 4) }
        if head.starts(with: [0xFF, 0xFE]) { return Detection(encoding: "UTF-16LE", markLength: 2) }
        if head.starts(with: [0xFE, 0xFF]) { return Detection(encoding: "UTF-16BE", markLength: 2) }
        if head.count >= 4 {
            // Two ASCII characters, sixteen bits each.
            func isText(_ index: Int) -> Bool { (0x20..<0x7F).contains(head[index]) || head[index].isXMLSpace }
            if isText(0), head[1] == 0, isText(2), head[3] == 0 { return Detection(encoding: "UTF-16LE") }
            if head[0] == 0, isText(1), head[2] == 0, isText(3) { return Detection(encoding: "UTF-16BE") }
        }
        guard let label = charset(ofContentType: contentType) ?? declaredEncoding(head) else {
            return guessed(head) ?? Detection()
        }
        return detect(head, label: label)
    }

    private static func detect(_ head: [UInt8], label: String) -> Detection {
        let name = label.lowercased()
        if ["utf-8", "utf8", "us-ascii", "ascii", "unicode-1-1-utf-8"].contains(name) {
            return guessed(head, label: label) ?? Detection()
        }
        let (valid, invalid) = counts(head)
        let isUTF8 = valid > 0 && invalid == 0
        let mislabelled = "the document is labelled “\(label)”, but its text is UTF-8"
        if latin.contains(name) {
            return Detection(expectsLatin: true, diagnostic: isUTF8 ? mislabelled : nil)
        }
        if ["utf-16", "utf-32", "ucs-", "iso-10646"].contains(where: { name.hasPrefix($0) }) {
            // UTF-16 would have been detected above: every second byte of its markup is zero.
            return Detection(diagnostic: mislabelled)
        }
        guard let known = iconvNames[name] else {
            return Detection(diagnostic: "unknown encoding “\(label)”: the text is read as UTF-8")
        }
        if isUTF8 { return Detection(diagnostic: mislabelled) }
        return Detection(encoding: known)
    }

    /// Returns a guess for text that is not UTF-8, although it has no label or is labeled as UTF-8; `nil` if the text
    /// is to be read as ``utf8``.
    private static func guessed(_ head: [UInt8], label: String? = nil) -> Detection? {
        let (valid, invalid) = counts(head)
        guard invalid > valid, let name = EncodingGuess(head).name else { return nil }
        let problem =
            label.map { "the document is labelled “\($0)”, but its text is not UTF-8" }
            ?? "the text is not UTF-8 and declares no encoding"
        return Detection(
            encoding: name, diagnostic: "\(problem): it is read as \(name), which is a guess")
    }

    /// Returns the `charset` parameter of a Content-Type field (RFC 9110, section 8.3.2).
    static func charset(ofContentType contentType: String?) -> String? {
        guard let contentType else { return nil }
        for parameter in contentType.split(separator: ";").dropFirst() {
            let halves = parameter.split(separator: "=", maxSplits: 1)
            guard halves.count == 2, halves[0].utf8.trimmed.elementsEqual("charset".utf8, by: { $0 | 0x20 == $1 })
            else {
                continue
            }
            let value = halves[1].utf8.trimmed.filter { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "'") }
            if !value.isEmpty, value.count <= 40 { return String(decoding: value, as: UTF8.self) }
        }
        return nil
    }

    /// Returns the encoding named in an XML declaration.
    static func declaredEncoding(_ head: [UInt8]) -> String? {
        head.withUnsafeBufferPointer { head in
            guard var position = head.baseAddress else { return nil }
            let end = position + head.count
            // The standard library's `firstRange(of:)` is far slower: on a head without a declaration it took a tenth
            // of the import of a small feed.
            while let found = position.firstOccurrence(of: UInt8(ascii: "<"), before: end) {
                position = found + 1
                guard found.begins(with: "<?xml", before: end) else { continue }
                var tag = TagReader()
                guard tag.read(from: found, to: end, isFinal: true) != nil,
                    let label = tag.list.value("encoding")?.trimmed, (1...40).contains(label.count)
                else { return nil }
                return String(decoding: label, as: UTF8.self)
            }
            return nil
        }
    }

    /// Counts the non-ASCII characters of UTF-8, and the non-ASCII bytes that are not UTF-8. A character cut at the end
    /// of the head is ignored.
    private static func counts(_ head: [UInt8]) -> (valid: Int, invalid: Int) {
        var (valid, invalid) = (0, 0)
        _ = head.withUnsafeBufferPointer { head in
            UTF8Cleaner.divide(head) { part, isValid in
                if isValid { valid += part.count { $0 >= 0xC0 } } else { invalid += 1 }
            }
        }
        return (valid, invalid)
    }

    /// Labels read as Windows-1252, as in browsers (WHATWG Encoding, section 4.2).
    private static let latin: Set<String> = [
        "iso-8859-1", "iso8859-1", "iso_8859-1", "iso88591", "latin1", "latin-1", "l1", "windows-1252", "cp1252",
        "x-cp1252", "ansi", "iso-ir-100",
    ]

    /// The other accepted encodings, by label. The list is closed: a feed must not choose among all installed
    /// converters.
    private static let iconvNames: [String: String] = {
        var names: [String: String] = [
            "koi8-r": "KOI8-R", "koi8-u": "KOI8-U", "macintosh": "MACINTOSH", "x-mac-roman": "MACINTOSH",
            "shift_jis": "CP932", "shift-jis": "CP932", "sjis": "CP932", "x-sjis": "CP932", "windows-31j": "CP932",
            "euc-jp": "EUC-JP", "iso-2022-jp": "ISO-2022-JP", "gb2312": "GB18030", "gbk": "GB18030",
            "gb18030": "GB18030", "x-gbk": "GB18030", "big5": "BIG5-HKSCS", "big5-hkscs": "BIG5-HKSCS",
            "euc-kr": "CP949", "ks_c_5601-1987": "CP949", "windows-949": "CP949", "tis-620": "CP874",
            "windows-874": "CP874", "ibm866": "CP866", "cp866": "CP866",
        ]
        for part in [2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16] { names["iso-8859-\(part)"] = "ISO-8859-\(part)" }
        for page in 1250...1258 where page != 1252 {
            names["windows-\(page)"] = "CP\(page)"
            names["cp\(page)"] = "CP\(page)"
        }
        return names
    }()
}
