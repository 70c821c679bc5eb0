/// The first bytes of a response's body as text, without byte order mark and leading white space. Of UTF-16 text, these
/// are the ASCII characters before the first other one.
struct TextBeginning {
    enum Finding: Equatable {
        case document(BodyContent.Document)
        /// The beginning of a document, whose kind is known only with more bytes.
        case undecided
        case nothing
    }

    private let bytes: ArraySlice<UInt8>
    private let isUTF16: Bool
    /// Whether the window of bytes that are examined is full, so that more bytes cannot change the finding.
    private let isFull: Bool

    init(_ bytes: [UInt8]) {
        if let narrow = Self.asciiFromUTF16(bytes) {
            self.bytes = Self.trimmed(narrow[...])
            isUTF16 = true
            isFull = bytes.count >= BodyContent.textWindow
        } else {
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            self.bytes = Self.trimmed(bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...])
            isUTF16 = false
            isFull = bytes.count >= BodyContent.searchWindow
        }
    }

    /// Returns the kind of document if the first characters show it. Later bytes do not matter, even if they are not
    /// text, because a player decides by the first line whether a file is a playlist.
    func document(isWhole: Bool) -> Finding {
        let isWhole = isWhole || isFull
        if begins(with: Self.playlists) { return .document(.playlist) }
        guard let first = bytes.first else { return .nothing }
        switch first {
        case UInt8(ascii: "<"): return markup(isWhole: isWhole)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return json(first)
        default: break
        }
        let digits = bytes.prefix { Self.isHexadecimal($0) }
        if (1...8).contains(digits.count), bytes.dropFirst(digits.count).starts(with: ";chunk-signature=".utf8) {
            return .document(.signedChunks)
        }
        return isUTF16 ? .document(.text) : .nothing
    }

    /// Returns whether the first `count` bytes are UTF-8 text that contains neither DEL nor any of the WHATWG's binary
    /// data bytes; always true for UTF-16.
    func isText(upTo count: Int) -> Bool {
        if isUTF16 { return true }
        let part = Array(bytes.prefix(count))
        let isBinary = part.contains { byte in
            byte < 0x20 && ![0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains(byte) || byte == 0x7F
        }
        if isBinary { return false }
        // A character may be cut at the end.
        return (0...3).contains { cut in
            let tail = part.suffix(cut)
            let isCut = tail.first.map { (0xC2...0xF4).contains($0) } ?? true
            return cut <= part.count && isCut && tail.dropFirst().allSatisfy { (0x80...0xBF).contains($0) }
                && String(validating: part.dropLast(cut), as: UTF8.self) != nil
        }
    }

    // MARK: Kinds

    /// Beginnings of the first line by which players recognize lists of other files: M3U, PLS, ASX in its older form,
    /// Internet shortcuts, EDL of mpv and MPlayer, ffmpeg's concatenation script, cue sheets, and redirections to RTSP
    /// and SMIL.
    private static let playlists = [
        "#extm3u", "#extinf", "[playlist]", "[reference]", "[internetshortcut]", "# mpv edl", "mplayer edl",
        "ffconcat version", "file \"", "rem genre", "rem date", "performer \"", "title \"", "rtsptext", "smiltext",
    ]

    /// Elements with which an HTML page starts, even one without `head`.
    private static let pageElements: Set<String> = [
        "a", "b", "body", "br", "center", "div", "font", "form", "h1", "h2", "head", "html", "iframe", "img", "link",
        "meta", "p", "pre", "script", "span", "style", "table", "title",
    ]

    /// Detects markup. No media format starts with `<` and then a letter, `!`, `?` or `/`.
    private func markup(isWhole: Bool) -> Finding {
        guard let second = bytes.dropFirst().first, Self.isLetter(second) || "!?/".utf8.contains(second) else {
            return .nothing
        }
        var rest = bytes
        while true {
            let (opening, closing) = rest.starts(with: "<?".utf8) ? ("<?", "?>") : ("<!--", "-->")
            guard rest.starts(with: opening.utf8) else { break }
            guard let end = Self.firstIndex(of: closing, in: rest) else { return unfinishedMarkup(isWhole) }
            rest = Self.trimmed(rest[(end + closing.utf8.count)...])
            if rest.isEmpty { return unfinishedMarkup(isWhole) }
        }
        let text = Self.lowered(rest.prefix(16))
        if text.hasPrefix("<!") {
            if text.utf8.count < "<!doctype html".utf8.count, !isWhole { return .undecided }
            return .document(text.hasPrefix("<!doctype html") ? .webPage : .xml)
        }
        let name = text.dropFirst().prefix { $0.isLetter || $0.isNumber }
        if text.utf8.count <= name.utf8.count + 1, !isWhole { return .undecided }
        return .document(Self.pageElements.contains(String(name)) || !text.hasPrefix("<") ? .webPage : .xml)
    }

    /// Classifies markup whose first element has not arrived. The first characters decide as soon as there are
    /// `BodyContent.textWindow` bytes, or if no more bytes will be examined.
    private func unfinishedMarkup(_ isWhole: Bool) -> Finding {
        guard isWhole || bytes.count >= BodyContent.textWindow else { return .undecided }
        return .document(bytes.starts(with: "<?xml".utf8) ? .xml : .webPage)
    }

    private func json(_ first: UInt8) -> Finding {
        guard let next = Self.trimmed(bytes.dropFirst()).first else { return .nothing }
        let openers = first == UInt8(ascii: "{") ? "\"}" : "[{\"]-0123456789tfn"
        return openers.utf8.contains(next) && isText(upTo: 64) ? .document(.json) : .nothing
    }

    // MARK: Bytes

    private func begins(with texts: [String]) -> Bool {
        let text = Self.lowered(bytes.prefix(24))
        return texts.contains { text.hasPrefix($0) }
    }

    /// Returns UTF-8 with ASCII letters in lower case, and replacement characters for invalid bytes.
    private static func lowered(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    private static func firstIndex(of text: String, in bytes: ArraySlice<UInt8>) -> Int? {
        let text = Array(text.utf8)
        return bytes.indices.first { bytes[$0...].starts(with: text) }
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes.drop { [0x09, 0x0A, 0x0C, 0x0D, 0x20].contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
    }

    /// Returns the leading ASCII characters of UTF-16 text, with or without a byte order mark; `nil` for other bytes.
    /// `FF FE` also starts MPEG audio frames, but in such a frame not every second byte is zero.
    private static func asciiFromUTF16(_ bytes: [UInt8]) -> [UInt8]? {
        var rest = bytes.prefix(BodyContent.textWindow)
        let isMarked = rest.starts(with: [0xFF, 0xFE]) || rest.starts(with: [0xFE, 0xFF])
        if isMarked { rest = rest.dropFirst(2) }
        guard rest.count >= 8 else { return nil }
        let units = rest.count / 2
        for high in [0, 1] {
            var narrow: [UInt8] = []
            for unit in 0..<units {
                let start = rest.startIndex + 2 * unit
                let byte = rest[start + 1 - high]
                guard rest[start + high] == 0, byte >= 0x20 && byte < 0x7F || [0x09, 0x0A, 0x0D].contains(byte) else {
                    break
                }
                narrow.append(byte)
            }
            // Text in other scripts may follow the first characters.
            if narrow.count >= min(units, 8) { return narrow }
        }
        return nil
    }
}
