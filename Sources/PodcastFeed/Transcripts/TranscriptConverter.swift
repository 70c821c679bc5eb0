/// A converter of transcripts to WebVTT: from JSON and HTML as specified for `podcast:transcript`
/// (https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/examples/transcripts/transcripts.md), SubRip,
/// and WebVTT itself, which stays unchanged.
///
/// The encoding and the format are detected from the first bytes, since servers and feeds often state a wrong one.
package enum TranscriptConverter {
    /// The maximum size in bytes of the text of one cue, or of one line; the rest of a longer one is dropped.
    static let textLimit = 64 << 10

    /// Returns a transcript as WebVTT; `nil` if its format is unknown or no cue was found. WebVTT itself is not
    /// searched for cues.
    ///
    /// - Parameter contentType: The value of the response's Content-Type field, for its `charset`.
    package static func webVTT(_ transcript: [UInt8], contentType: String? = nil) -> [UInt8]? {
        let text = TextDecoder.text(of: transcript, contentType: contentType)
        let start = text.drop { $0.isXMLSpace }
        switch start.first {
        case _ where start.starts(with: "WEBVTT".utf8): return text
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            var scanner = JSONScanner(text)
            var cues: [TranscriptCue] = []
            // A document that is cut or malformed yields the cues before its mistake.
            try? addCues(&scanner, to: &cues)
            return WebVTT.document(cues)
        case UInt8(ascii: "<"): return WebVTT.document(cues(ofHTML: start))
        case .some(let byte) where byte.isDigit: return WebVTT.document(cues(ofSubRip: start))
        default: return nil
        }
    }

    /// Parses seconds, `M:SS` or `H:MM:SS`, with an optional fraction after a comma or point.
    private static func time(_ text: some StringProtocol) -> Double? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count) else { return nil }
        var seconds = 0.0
        for part in parts {
            let number = String(part.filter { !$0.isWhitespace }).replacing(",", with: ".")
            guard number.first?.isNumber ?? false, let value = Double(number), value < 1e9 else { return nil }
            seconds = seconds * 60 + value
        }
        return seconds
    }

    // MARK: JSON

    /// Adds a cue for every object that has a text and a start time: in the members of Podcasting 2.0, or in those of
    /// Whisper.
    private static func addCues(_ scanner: inout JSONScanner, to cues: inout [TranscriptCue]) throws {
        if scanner.peek() == UInt8(ascii: "[") { return try scanner.elements { try addCues(&$0, to: &cues) } }
        guard scanner.peek() == UInt8(ascii: "{") else { return try scanner.skip() }
        var members: [String: JSONScanner.Value] = [:]
        try scanner.members { scanner, name in
            switch String(decoding: name.prefix(20), as: UTF8.self) {
            case "startTime", "start": members["start"] = try scanner.value()
            case "endTime", "end": members["end"] = try scanner.value()
            case "body", "text": members["text"] = try scanner.value()
            case "speaker": members["speaker"] = try scanner.value()
            default: try addCues(&scanner, to: &cues)
            }
        }
        guard let start = seconds(members["start"]), case .string(let text) = members["text"] else { return }
        var cue = TranscriptCue(start: start, end: seconds(members["end"]), text: Self.text(text))
        if case .string(let speaker) = members["speaker"] { cue.speaker = Self.text(speaker) }
        cues.append(cue)
    }

    private static func seconds(_ value: JSONScanner.Value?) -> Double? {
        switch value {
        case .number(let number): number
        // Some writers put the number into quotes.
        case .string(let text): time(String(decoding: text.prefix(40), as: UTF8.self))
        default: nil
        }
    }

    private static func text(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: bytes.prefix(textLimit), as: UTF8.self)
    }

    // MARK: HTML

    private static let blocks: Set<String> = ["p", "br", "div", "li", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote"]

    /// Returns the cues of HTML: `<cite>` contains the speaker, `<time>` the start, and the rest is the text spoken
    /// until the next `<time>`. Text before the first one belongs to no cue.
    private static func cues(ofHTML html: ArraySlice<UInt8>) -> [TranscriptCue] {
        var cues: [TranscriptCue] = []
        var cue: TranscriptCue?
        /// The speaker of the next cue, named before the cue's time.
        var speaker: String?
        var text: [UInt8] = []
        func line() -> String {
            defer { text.removeAll(keepingCapacity: true) }
            return String(decoding: CharacterReferences.replaced(in: text), as: UTF8.self)
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        /// Ends a part of the speech, or a whole line of it.
        func endPart(with separator: String) {
            let part = line()
            if let size = cue?.text.utf8.count, size < textLimit { cue?.text += part + separator }
        }
        for token in HTMLTokens(html) {
            switch token {
            case .text(let bytes): text += bytes.prefix(textLimit - text.count)
            case .tag("cite", _), .tag("time", _): endPart(with: " ")
            case .tag("/cite", _):
                let isOfOpenCue = cue?.text.allSatisfy(\.isWhitespace) ?? false
                if isOfOpenCue { cue?.speaker = line() } else { speaker = line() }
            case .tag("/time", _):
                guard let start = time(line().filter { !"[]()".contains($0) }) else { continue }
                if let cue { cues.append(cue) }
                cue = TranscriptCue(start: start, speaker: speaker, text: "")
                speaker = nil
            case .tag(let name, _): if blocks.contains(name.replacing("/", with: "")) { endPart(with: "\n") }
            }
        }
        endPart(with: "")
        return cues + (cue.map { [$0] } ?? [])
    }

    // MARK: SubRip and WebVTT

    /// A cue of SubRip or WebVTT: a line with two times, and the lines up to a blank one.
    struct TimedLines {
        var start: Double
        var end: Double
        var lines: [String] = []
    }

    static func timedLines(_ text: ArraySlice<UInt8>) -> [TimedLines] {
        var all: [TimedLines] = []
        var open: TimedLines?
        var size = 0
        var rest = text
        while !rest.isEmpty {
            let bytes = rest.prefix { $0 != 0x0A && $0 != 0x0D }
            rest = rest[bytes.endIndex...]
            rest = rest.dropFirst(rest.starts(with: [0x0D, 0x0A]) ? 2 : 1)
            let line = Self.text(bytes)
            if let (start, end) = times(line) {
                // If the blank line is missing, this cue's number was read as the last line of the previous cue's text.
                if open?.lines.last?.allSatisfy(\.isWholeNumber) ?? false { open?.lines.removeLast() }
                if let open { all.append(open) }
                open = TimedLines(start: start, end: end)
                size = 0
            } else if bytes.allSatisfy(\.isXMLSpace) {
                if let open { all.append(open) }
                open = nil
            } else if size < textLimit {
                size += bytes.count + 1
                open?.lines.append(line)
            }
        }
        return all + (open.map { [$0] } ?? [])
    }

    /// Parses `00:00:01,500 --> 00:00:04,000`.
    private static func times(_ line: String) -> (start: Double, end: Double)? {
        guard let arrow = line.firstRange(of: "-->"), let start = time(line[..<arrow.lowerBound]),
            let end = time(line[arrow.upperBound...].drop { $0 == " " }.prefix { $0 != " " })
        else { return nil }
        return (start, end)
    }

    private static func cues(ofSubRip text: ArraySlice<UInt8>) -> [TranscriptCue] {
        timedLines(text).map { cue in
            let text = cue.lines.map(markup).joined(separator: "\n")
            return TranscriptCue(start: cue.start, end: cue.end, text: text, isMarkup: true)
        }
    }

    /// Converts a line of SubRip to WebVTT's markup. The tags for italics, bold and underline stay. Other known tags,
    /// and instructions in braces such as the position `{\an8}`, are removed.
    private static func markup(_ line: String) -> String {
        let parts = line.split(separator: "{\\", omittingEmptySubsequences: false)
        let rest = parts.dropFirst().map { part in
            part.firstIndex(of: "}").map { String(part[$0...].dropFirst()) } ?? "{\\" + part
        }
        let text = (parts.prefix(1).map(String.init) + rest).joined()
        return HTMLTokens(text.utf8).map { token in
            switch token {
            case .text(let bytes):
                return WebVTT.escaped(String(decoding: CharacterReferences.replaced(in: bytes), as: UTF8.self))
            case .tag(let name, let source):
                if ["i", "b", "u", "/i", "/b", "/u"].contains(name) { return "<\(name)>" }
                let isKnown = ["font", "/font", "s", "/s", "span", "/span"].contains(name)
                return isKnown ? "" : WebVTT.escaped(String(decoding: source, as: UTF8.self))
            }
        }.joined()
    }
}

/// A cue of a transcript as plain text.
package struct SpokenCue: Sendable, Equatable {
    /// Seconds from the episode's start.
    package var start: Double
    /// The text on one line, without markup.
    package var text: String

    /// Returns the cues of a transcript in any format that ``TranscriptConverter`` reads, in the order of the document.
    /// Speakers' names are omitted.
    package static func cues(in transcript: [UInt8]) -> [SpokenCue] {
        let webVTT = TranscriptConverter.webVTT(transcript) ?? []
        return TranscriptConverter.timedLines(webVTT[...]).compactMap { cue in
            let text = NotesLines.lines(
                of: cue.lines.joined(separator: "\n"), limit: TranscriptConverter.textLimit)
            return text.isEmpty ? nil : SpokenCue(start: cue.start, text: text.joined(separator: " "))
        }
    }
}
