/// A streaming reader of a transcript in HTML: `<cite>` contains the speaker, `<time>` the start, and paragraphs
/// contain the text spoken until the next `<time>`.
struct TranscriptHTMLReader: TranscriptReader {
    private enum State {
        case text
        /// Inside a tag; `quote` is the quotation mark of the attribute value that is open, if any.
        case tag(quote: UInt8?)
        /// Inside a comment; `end` is the number of bytes of `--!` that were just read. `--` and `--!` end the comment
        /// if `>` follows.
        case comment(end: Int)
        /// In the text of a hidden element, in which only the element's own end tag is markup. `isEndTag` says whether
        /// `<` and the bytes in `tag` were just read, which are a beginning of that end tag.
        case raw(isEndTag: Bool)
    }

    /// The element whose text is collected.
    private enum Context {
        case speech, speaker, time
        /// An element that is not displayed and whose content is text only.
        case hidden(String)
    }

    private var state = State.text
    private var context = Context.speech
    private var tag: [UInt8] = []
    private var text: [UInt8] = []
    private var cue: TranscriptCue?
    /// The speaker of the next cue, named before the cue's time.
    private var speaker: String?

    private static let hidden: Set<String> = ["script", "style", "title"]
    private static let blocks: Set<String> = ["p", "br", "div", "li", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote"]

    mutating func read(_ bytes: [UInt8], _ writer: inout WebVTTWriter) {
        for byte in bytes {
            switch state {
            case .text:
                if byte == UInt8(ascii: "<") {
                    tag.removeAll(keepingCapacity: true)
                    state = .tag(quote: nil)
                } else {
                    append(byte)
                }
            case .tag(let quote):
                if let quote {
                    if byte == quote { state = .tag(quote: nil) }
                } else if byte == UInt8(ascii: ">") {
                    state = .text
                    endTag(&writer)
                } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'"), tag.contains(UInt8(ascii: "=")) {
                    state = .tag(quote: byte)
                } else if tag.count < 64 {
                    tag.append(byte)
                    // `<!-->` is a complete comment.
                    if tag.count == 3, tag.elementsEqual("!--".utf8) { state = .comment(end: 2) }
                }
            case .comment(let end): readComment(byte, end)
            case .raw(let isEndTag): readRaw(byte, isEndTag)
            }
        }
    }

    private mutating func readComment(_ byte: UInt8, _ end: Int) {
        switch byte {
        case UInt8(ascii: ">") where end >= 2: state = .text
        case UInt8(ascii: "-"): state = .comment(end: end == 3 ? 1 : min(end + 1, 2))
        case UInt8(ascii: "!") where end == 2: state = .comment(end: 3)
        default: state = .comment(end: 0)
        }
    }

    private mutating func readRaw(_ byte: UInt8, _ isEndTag: Bool) {
        guard case .hidden(let element) = context else { return }
        if byte == UInt8(ascii: "<") {
            tag.removeAll(keepingCapacity: true)
            state = .raw(isEndTag: true)
            return
        }
        guard isEndTag else { return }
        let name = Array("/\(element)".utf8)
        if tag.count < name.count {
            let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
            if lower == name[tag.count] { tag.append(lower) } else { state = .raw(isEndTag: false) }
        } else if byte == UInt8(ascii: ">") {
            leaveHidden()
        } else if byte.isXMLSpace || byte == UInt8(ascii: "/") {
            tag.append(0x20)
            state = .tag(quote: nil)
        } else {
            state = .raw(isEndTag: false)
        }
    }

    private mutating func leaveHidden() {
        text.removeAll(keepingCapacity: true)
        context = .speech
        state = .text
    }

    mutating func finish(_ writer: inout WebVTTWriter) {
        collectSpeech()
        if let cue { writer.add(cue) }
    }

    private mutating func append(_ byte: UInt8) {
        if text.count < TranscriptConverter.textLimit { text.append(byte) }
    }

    private mutating func endTag(_ writer: inout WebVTTWriter) {
        let name = String(decoding: tag.prefix { !$0.isXMLSpace }, as: UTF8.self).lowercased()
        if case .hidden = context {
            leaveHidden()
            return
        }
        switch name {
        case "cite": enter(.speaker)
        case "time": enter(.time)
        case "/cite":
            guard case .speaker = context else { return }
            let found = drainText()
            context = .speech
            if cue != nil, cue?.text.isEmpty ?? false { cue?.speaker = found } else { speaker = found }
        case "/time":
            guard case .time = context else { return }
            let found = TranscriptTime.seconds(drainText().filter { !"[]()".contains($0) })
            context = .speech
            guard let found else { return }
            if let cue { writer.add(cue) }
            cue = TranscriptCue(start: found, speaker: speaker, text: "")
            speaker = nil
        case _ where Self.hidden.contains(name):
            enter(.hidden(name))
            state = .raw(isEndTag: false)
        case _ where Self.blocks.contains(name.hasPrefix("/") ? String(name.dropFirst()) : name):
            if case .speech = context { collectSpeech(endsLine: true) }
        default: break
        }
    }

    private mutating func enter(_ new: Context) {
        if case .speech = context { collectSpeech() }
        text.removeAll(keepingCapacity: true)
        context = new
    }

    /// Appends the collected text to the cue. Text before the first `<time>` belongs to no cue and is dropped.
    private mutating func collectSpeech(endsLine: Bool = false) {
        let found = drainText()
        guard let size = cue?.text.utf8.count, size < TranscriptConverter.textLimit else { return }
        // The text is changed in place. If a local variable also referred to it, each addition would copy the whole
        // text.
        if !found.isEmpty {
            let separator = isAtLineStart ? "" : " "
            cue?.text += separator + found
        }
        if endsLine, !isAtLineStart { cue?.text += "\n" }
    }

    /// Whether the cue's text is empty or ends with a line break.
    private var isAtLineStart: Bool { cue?.text.utf8.last.map { $0 == 0x0A } ?? true }

    private mutating func drainText() -> String {
        defer { text.removeAll(keepingCapacity: true) }
        return String(decoding: CharacterReferences.replaced(in: text), as: UTF8.self)
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
