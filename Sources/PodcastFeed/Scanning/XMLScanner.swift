internal import Glibc

/// A scanner that splits an XML document into tags and text as its bytes arrive, for a ``FeedReader``.
///
/// It is not a validating parser: it applies only the lexical rules and recovers from violations as HTML's
/// tokenizer does (a lone `&` or `<` is text, a value may lack its quotes), so that a mistake affects nothing else.
/// Matching end tags to elements is the reader's task. A document type declaration is skipped: entities that it
/// declares are never expanded or loaded.
///
/// Expects UTF-8 that ``UTF8Cleaner`` has cleaned. Time is linear in the bytes, memory is bounded by `tagLimit` and the
/// size of the pieces. Not thread-safe.
struct XMLScanner: ~Copyable {
    /// The token to which the next byte belongs.
    enum Mode: Equatable {
        /// Text, tags and references.
        case content
        /// A CDATA section.
        case section
        case comment(inDeclaration: Bool)
        /// A processing instruction.
        case instruction(inDeclaration: Bool)
        /// A document type declaration.
        case declaration(DocumentType)
    }

    var reader: FeedReader
    /// The bytes that have arrived and have not been scanned yet.
    private var buffer = ByteBuffer(capacity: 1 << 17)
    /// Whether the last byte that arrived was a carriage return. A line feed that follows belongs to the same line
    /// break.
    private var endsInReturn = false
    private var mode = Mode.content
    private var tag = TagReader()

    /// Maximum length of a tag in bytes. The bytes of a longer start tag that have arrived are processed as text.
    static let tagLimit = 256 << 10

    /// - Parameter skippedLines: The number of line breaks before the first byte pushed.
    init(reader: consuming FeedReader, skippedLines: Int) {
        self.reader = reader
        self.reader.diagnosticLog.lines = LineCounter(line: 1 + skippedLines)
    }

    /// The line of the next byte to be pushed.
    var lineOfNextByte: Int { reader.diagnosticLog.lines.line + buffer.contents.count { $0 == UInt8(ascii: "\n") } }

    /// Scans the next piece, which may be cut anywhere.
    mutating func push(_ bytes: FeedBytes) {
        append(bytes)
        scan(isLast: false)
    }

    /// Appends bytes, with line breaks of any kind replaced by line feeds (XML 1.0, section 2.11).
    private mutating func append(_ bytes: FeedBytes) {
        guard let source = bytes.baseAddress, endsInReturn || memchr(source, 0x0D, bytes.count) != nil else {
            return buffer.append(bytes)
        }
        for byte in bytes {
            let isSecond = endsInReturn && byte == UInt8(ascii: "\n")
            endsInReturn = byte == UInt8(ascii: "\r")
            if !isSecond { buffer.append(endsInReturn ? UInt8(ascii: "\n") : byte) }
        }
    }

    /// Scans the remaining bytes, and returns the reader after the end of the document.
    consuming func finish() -> FeedReader {
        scan(isLast: true)
        switch mode {
        case .content: break
        case .section: reader.diagnose("a CDATA section has no end")
        case .comment: reader.diagnose("a comment has no end")
        case .instruction, .declaration: reader.diagnose("a declaration has no end")
        }
        reader.finish()
        return reader
    }

    private mutating func scan(isLast: Bool) {
        let all = buffer.contents
        guard !reader.isStopped, let start = all.baseAddress else { return }
        let end = start + all.count
        var position = start
        reader.diagnosticLog.lines.begin(at: start)
        while position < end, !reader.isStopped {
            reader.diagnosticLog.lines.cursor = position
            guard let next = step(from: position, to: end, isLast: isLast) else { break }
            position = next
        }
        reader.diagnosticLog.lines.end(at: position)
        buffer.drop(position - start)
    }

    /// Scans one token, or as much of a long one as is available.
    ///
    /// - Returns: The position after it; `nil` if more bytes are needed.
    private mutating func step(from position: BytePosition, to end: BytePosition, isLast: Bool) -> BytePosition? {
        switch mode {
        case .content where position.pointee == UInt8(ascii: "<"): markup(from: position, to: end, isLast: isLast)
        case .content: text(from: position, to: end, isLast: isLast)
        case .section: section(from: position, to: end, isLast: isLast)
        case .comment(let inDeclaration):
            skip(to: "-->", from: position, to: end, then: inDeclaration ? .declaration(.inSubset) : .content)
        case .instruction(let inDeclaration):
            skip(to: "?>", from: position, to: end, then: inDeclaration ? .declaration(.inSubset) : .content)
        case .declaration(let type): declaration(type, from: position, to: end, isLast: isLast)
        }
    }

    // MARK: Text

    private mutating func text(from position: BytePosition, to end: BytePosition, isLast: Bool) -> BytePosition? {
        let stop = position.firstOccurrence(of: UInt8(ascii: "<"), before: end) ?? end
        return text(from: position, upTo: stop, to: end, isLast: isLast)
    }

    /// Scans the text before `stop`, which is `end` or the start of a tag.
    private mutating func text(from position: BytePosition, upTo stop: BytePosition, to end: BytePosition, isLast: Bool)
        -> BytePosition?
    {
        guard reader.isCollecting else {
            if !reader.isInsideRoot { diagnoseText(FeedBytes(start: position, count: stop - position)) }
            return stop
        }
        let start = position
        var position = position
        while position < stop {
            let ampersand = position.firstOccurrence(of: UInt8(ascii: "&"), before: stop) ?? stop
            if position < ampersand {
                reader.characters(FeedBytes(start: position, count: ampersand - position), isCDATA: false)
            }
            guard ampersand < stop else { return stop }
            // A reference before a tag is complete; one at the end of the bytes may continue.
            let rest = FeedBytes(start: ampersand, count: stop - ampersand)
            let reference = CharacterReference(rest, isFinal: isLast || stop < end)
            if reference.kind == .incomplete { return ampersand == start ? nil : ampersand }
            reader.diagnosticLog.lines.cursor = ampersand
            write(reference, FeedBytes(rebasing: rest[..<reference.length]))
            position = ampersand + reference.length
        }
        return stop
    }

    private mutating func write(_ reference: CharacterReference, _ source: FeedBytes) {
        if reference.isText {
            reader.characters(source, isCDATA: true)
        } else {
            reference.withUTF8 { reader.characters($0, isCDATA: false) }
        }
        guard reader.diagnosticLog.hasRoom, let message = reference.diagnostic(source) else { return }
        reader.diagnose(message)
    }

    /// Reports text outside the root element.
    private mutating func diagnoseText(_ text: FeedBytes) {
        guard !text.allSatisfy(\.isXMLSpace) else { return }
        if reader.root != nil { return reader.diagnoseTail() }
        reader.diagnosticLog.addOnce("text before the first element is ignored")
    }

    /// Scans a CDATA section, up to its end or the end of the bytes.
    private mutating func section(from position: BytePosition, to end: BytePosition, isLast: Bool) -> BytePosition? {
        var bracket = position
        while let found = bracket.firstOccurrence(of: UInt8(ascii: "]"), before: end) {
            if found.begins(with: "]]>", before: end) {
                reader.characters(FeedBytes(start: position, count: found - position), isCDATA: true)
                mode = .content
                return found + 3
            }
            // The rest of the terminator may be in the next piece.
            if end - found < 3, !isLast, found + 1 == end || found[1] == UInt8(ascii: "]") {
                reader.characters(FeedBytes(start: position, count: found - position), isCDATA: true)
                return found == position ? nil : found
            }
            bracket = found + 1
        }
        reader.characters(FeedBytes(start: position, count: end - position), isCDATA: true)
        return end
    }

    // MARK: Markup

    private mutating func markup(from position: BytePosition, to end: BytePosition, isLast: Bool) -> BytePosition? {
        guard end - position >= 2 else { return isLast ? loneBracket(position) : nil }
        switch position[1] {
        case UInt8(ascii: "/"): return endTag(from: position, to: end, isLast: isLast)
        case UInt8(ascii: "?"):
            if reader.root != nil {
                if !isLast, position.isPrefix(of: "<?xml ", before: end) { return nil }
                if position.begins(with: "<?xml ", before: end) {
                    reader.diagnosticLog.addOnce("an XML declaration is not at the start of the document")
                }
            }
            mode = .instruction(inDeclaration: false)
            return position + 2
        case UInt8(ascii: "!"): return declarationStart(from: position, to: end, isLast: isLast)
        case let byte where TagReader.beginsName(byte): return startTag(from: position, to: end, isLast: isLast)
        default: return loneBracket(position)
        }
    }

    /// Processes a `<` that starts no markup, as text.
    private mutating func loneBracket(_ position: BytePosition) -> BytePosition {
        if reader.isInsideRoot { reader.diagnose("a “<” is not escaped as “&lt;”") }
        reader.characters(FeedBytes(start: position, count: 1), isCDATA: false)
        return position + 1
    }

    /// Scans the start of a comment, a CDATA section or a document type declaration.
    private mutating func declarationStart(from position: BytePosition, to end: BytePosition, isLast: Bool)
        -> BytePosition?
    {
        if position.begins(with: "<!--", before: end) {
            mode = .comment(inDeclaration: false)
            return position + 4
        }
        if position.begins(with: "<![CDATA[", before: end) {
            mode = .section
            return position + 9
        }
        let isOpen = position.isPrefix(of: "<!--", before: end) || position.isPrefix(of: "<![CDATA[", before: end)
        if isOpen, !isLast { return nil }
        guard end - position >= 3, position[2].isLetter || position[2] == UInt8(ascii: "[") else {
            return loneBracket(position)
        }
        // After the root element's start tag, a document type declaration is misplaced. It is assumed to have no
        // subset, so its first `>` ends it.
        mode = .declaration(reader.root == nil ? DocumentType() : DocumentType(endsAtTag: true))
        return position + 2
    }

    /// Skips the bytes up to and including `mark`, then changes the mode to `next`.
    private mutating func skip(
        to mark: StaticString, from position: BytePosition, to end: BytePosition, then next: Mode
    ) -> BytePosition? {
        var start = position
        while let found = start.firstOccurrence(of: mark.utf8Start.pointee, before: end) {
            if found.begins(with: mark, before: end) {
                mode = next
                return found + mark.utf8CodeUnitCount
            }
            if found.isPrefix(of: mark, before: end) { return found == position ? nil : found }
            start = found + 1
        }
        return end
    }

    private mutating func endTag(from position: BytePosition, to end: BytePosition, isLast: Bool) -> BytePosition? {
        let start = position + 2
        var stop = start
        while stop < end, TagReader.continuesName(stop.pointee) { stop += 1 }
        let name = FeedBytes(start: start, count: stop - start)
        while stop < end, stop.pointee != UInt8(ascii: ">"), stop.pointee != UInt8(ascii: "<") { stop += 1 }
        guard stop < end else {
            if !isLast, stop - position < Self.tagLimit { return nil }
            // In a cut document, the name of the last tag is enough to complete its element.
            if isLast, !name.isEmpty { reader.endElement(name) }
            return end
        }
        if !name.isEmpty { reader.endElement(name) }
        return stop.pointee == UInt8(ascii: ">") ? stop + 1 : stop
    }

    private mutating func startTag(from position: BytePosition, to end: BytePosition, isLast: Bool) -> BytePosition? {
        let isFinal = isLast || end - position > Self.tagLimit
        guard let next = tag.read(from: position, to: end, isFinal: isFinal) else {
            guard isFinal else { return nil }
            if !isLast { return endlessTag(from: position, to: end) }
            if reader.isInsideRoot { reader.diagnose("the document ends inside a tag") }
            return end
        }
        tag.decodeValues()
        for message in tag.mistakes { reader.diagnose(message) }
        let name = tag.name
        reader.startElement(name, tag.list)
        if tag.isEmptyElement { reader.endElement(name) }
        return next
    }

    /// Processes as text what has arrived of a tag that exceeds `tagLimit`, including every `<` in it. Each of these is
    /// in a quoted value. If each were read as the start of a tag, the same bytes would be scanned again and again.
    private mutating func endlessTag(from position: BytePosition, to end: BytePosition) -> BytePosition {
        let rest = loneBracket(position)
        return text(from: rest, upTo: end, to: end, isLast: false) ?? rest
    }

    // MARK: Document type

    /// The state within a document type declaration.
    struct DocumentType: Equatable {
        /// The quotation mark of the open literal, if any.
        var quote: UInt8?
        /// Whether the position is inside `[…]`.
        var isInSubset = false
        /// Number of open declarations inside the subset.
        var depth = 0
        /// Whether the first `>` ends the declaration.
        var endsAtTag = false

        static let inSubset = DocumentType(isInSubset: true)
    }

    /// Skips a document type declaration, up to its end, or to the start of a comment, a processing instruction or a
    /// tag.
    private mutating func declaration(
        _ type: DocumentType, from position: BytePosition, to end: BytePosition, isLast: Bool
    ) -> BytePosition? {
        var type = type
        let start = position
        var position = position
        defer { if case .declaration = mode { mode = .declaration(type) } }
        while position < end {
            let byte = position.pointee
            switch byte {
            case UInt8(ascii: ">") where type.endsAtTag:
                mode = .content
                return position + 1
            case _ where type.endsAtTag: break
            case _ where type.quote != nil: if byte == type.quote { type.quote = nil }
            case UInt8(ascii: "\""), UInt8(ascii: "'"): type.quote = byte
            case UInt8(ascii: "["): type.isInSubset = true
            case UInt8(ascii: "]") where type.depth == 0: type.isInSubset = false
            case UInt8(ascii: ">") where type.depth > 0: type.depth -= 1
            case UInt8(ascii: ">") where !type.isInSubset:
                mode = .content
                return position + 1
            case UInt8(ascii: "<"):
                guard end - position >= 4 || isLast else { return position == start ? nil : position }
                if position.begins(with: "<!--", before: end) {
                    mode = .comment(inDeclaration: true)
                    return position + 4
                }
                if position.begins(with: "<?", before: end) {
                    mode = .instruction(inDeclaration: true)
                    return position + 2
                }
                // Declarations contain no tags, so this one is unterminated, and the root element starts here.
                if end - position > 1, TagReader.beginsName(position[1]) {
                    reader.diagnosticLog.lines.cursor = position
                    reader.diagnose("a document type declaration has no end")
                    mode = .content
                    return position
                }
                type.depth += 1
            default: break
            }
            position += 1
        }
        return end
    }
}

extension BytePosition {
    /// Returns the position of the first occurrence of `byte` from here on; `nil` if there is none.
    ///
    /// The corresponding C function is `memchr`.
    @inline(__always)
    func firstOccurrence(of byte: UInt8, before end: BytePosition) -> BytePosition? {
        memchr(self, Int32(byte), end - self).map { UnsafePointer($0.assumingMemoryBound(to: UInt8.self)) }
    }

    /// Returns whether the bytes from here on start with `text`.
    @inline(__always)
    func begins(with text: StaticString, before end: BytePosition) -> Bool {
        end - self >= text.utf8CodeUnitCount && memcmp(self, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    /// Returns whether the bytes from here to `end` are a proper prefix of `text`.
    func isPrefix(of text: StaticString, before end: BytePosition) -> Bool {
        end - self < text.utf8CodeUnitCount && memcmp(self, text.utf8Start, end - self) == 0
    }
}
