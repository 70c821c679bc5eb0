/// An incremental parser of feeds (RSS 2.0, RSS 1.0, Atom and JSON Feed) and of lists of subscriptions (OPML).
///
/// Pass the bytes in pieces of any size, then call ``finish()``. The result depends on the bytes only, not on how they
/// were split. For XML, memory use is constant apart from the result; JSON is buffered completely before it is parsed.
///
/// Not thread-safe. Never opens a file or a connection, whatever the document refers to.
package final class FeedParser {
    private let contentType: String?
    private let base: String?
    private let limits: FeedLimits
    private let onItem: ((Item) -> Void)?
    /// The type of the document, once its first bytes show it.
    private var type: DocumentHead?
    /// The scanner of a document in XML.
    private var scanner: XMLScanner?
    /// The document in JSON, or the beginning of another document.
    private var collected: [UInt8] = []
    /// The first ``FileSignature/size`` bytes as received, to name the format of a document that is not a feed.
    private var beginning: [UInt8] = []
    /// The number of bytes received, up to and including the piece that exceeds the limit.
    private var received = 0
    /// The bytes of an incomplete block.
    private var input = ByteBuffer(capacity: FeedParser.blockSize)
    private var decoder: DocumentDecoder?
    /// The text of the current block.
    private var text = ByteBuffer(capacity: 2 * FeedParser.blockSize)
    private var reported: Set<UTF8Cleaner.Mistake> = []
    /// The number of line feeds before the XML.
    private var skippedLines = 0
    private var hasSkippedSpace = false
    /// Diagnostics from before the `FeedReader` was created, which then receives them.
    private var diagnostics: [Diagnostic] = []

    /// The size in bytes of the blocks that are decoded and scanned. All except the last have the same size, so that
    /// the result does not depend on the pieces. The scanner buffers an incomplete token until the next block.
    private static let blockSize = 64 * 1024
    /// The number of bytes searched for a web page's title.
    private static let pageSize = 512 * 1024

    /// - Parameters:
    ///   - contentType: The value of the response's Content-Type field, for its `charset`.
    ///   - base: The final URL of the document, for relative references.
    ///   - onItem: Receives each complete item. ``Feed/items`` then stays empty, so that a large feed need not be in
    ///     memory. The item's author is set even if it equals the show's. If ``finish()`` throws, the document is not a
    ///     feed and the items are invalid.
    package init(
        contentType: String? = nil, base: String? = nil, limits: FeedLimits = .standard,
        onItem: ((Item) -> Void)? = nil
    ) {
        self.contentType = contentType
        self.base = base
        self.limits = limits
        self.onItem = onItem
    }

    /// Parses a complete document.
    ///
    /// - Throws: ``DocumentError`` if it is not a feed.
    package static func parse(
        _ bytes: [UInt8], contentType: String? = nil, base: String? = nil, limits: FeedLimits = .standard
    ) throws -> Feed {
        let parser = FeedParser(contentType: contentType, base: base, limits: limits)
        bytes.withUnsafeBytes { parser.parse($0) }
        return try parser.finish()
    }

    /// Whether the size limit has been exceeded; all further bytes are ignored.
    package var isFull: Bool { received > limits.bytes }

    /// Parses the next bytes of the document. Must not be called after ``finish()``.
    package func parse(_ bytes: UnsafeRawBufferPointer) {
        // Bytes beyond the limit are counted but not parsed, so that `isFull` distinguishes a truncated document from
        // one that just fits.
        let room = limits.bytes - received
        guard room >= 0 else { return }
        received += bytes.count
        var rest = bytes.prefix(room)
        while input.count + rest.count >= Self.blockSize {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.blockSize - input.count))
            rest = rest.dropFirst(part.count)
            if input.count == 0 {
                process(part, isLast: false)
            } else {
                input.append(part.bindMemory(to: UInt8.self))
                process(UnsafeRawBufferPointer(input.contents), isLast: false)
                input.removeAll(keeping: Self.blockSize)
            }
        }
        input.append(UnsafeRawBufferPointer(rebasing: rest).bindMemory(to: UInt8.self))
    }

    /// Finishes the document and returns the feed.
    ///
    /// - Throws: ``DocumentError`` if it is not a feed. A feed without items is valid.
    package func finish() throws -> Feed { try finish(expecting: .feed).head }

    /// Finishes the document, and returns the feed or the list of subscriptions.
    ///
    /// - Returns: For a list of subscriptions, `head` contains the document's title and the diagnostics.
    /// - Throws: ``DocumentError`` if the document is of another kind.
    func finish(expecting kind: DocumentError.Kind) throws -> (head: Feed, outlines: OutlineList) {
        process(UnsafeRawBufferPointer(input.contents), isLast: true)
        do {
            switch type {
            case nil: throw DocumentError.Problem.empty
            case .html:
                throw DocumentError.Problem.html(
                    title: DocumentHead.htmlTitle(collected), feeds: WebLink.feeds(in: collected, base: base))
            case .other:
                let line = FeedValues.line(collected) ?? ""
                throw DocumentError.Problem.notXML(beginning: line.count > 60 ? line.prefix(60) + "…" : line)
            case .json:
                guard kind == .feed else { throw DocumentError.Problem.json("") }
                var reader = makeReader()
                try reader.readJSON(collected, isCut: isFull)
                reader.finish()
                return (reader.show.feed, reader.outlines)
            case .xml: return try finishXML(expecting: kind)
            }
        } catch let problem as DocumentError.Problem {
            // The format of a document that is not as expected, which its first bytes may show.
            let format = FileSignature.name(of: beginning).map(DocumentError.Problem.file)
            throw DocumentError(format ?? problem, expected: kind)
        }
    }

    private func finishXML(expecting expected: DocumentError.Kind) throws -> (head: Feed, outlines: OutlineList) {
        guard var scanner = scanner.take() else { throw DocumentError.Problem.empty }
        if isFull { scanner.reader.stop("the document is larger than \(limits.bytes) bytes; the rest is ignored") }
        let reader = scanner.finish()
        guard let root = reader.root else {
            throw DocumentError.Problem.unreadable(
                line: reader.diagnosticLog.lines.line, message: "there is no element")
        }
        switch (reader.stack.kind, expected) {
        case (.feed, .feed), (.subscriptions, .subscriptions): return (reader.show.feed, reader.outlines)
        case (.feed, .subscriptions): throw DocumentError.Problem.feed(title: reader.show.feed.title)
        default:
            throw root.lowercased() == "html"
                ? DocumentError.Problem.html(title: nil) : DocumentError.Problem.root(root)
        }
    }

    private func makeReader() -> FeedReader {
        FeedReader(limits: limits, base: base, diagnostics: (decoder?.diagnostics ?? []) + diagnostics, onItem: onItem)
    }

    // MARK: From UTF-8 to the reader

    /// Decodes a block, and passes its text to the scanner, or collects it if the document is not XML.
    private func process(_ block: UnsafeRawBufferPointer, isLast: Bool) {
        if decoder == nil {
            beginning = Array(block.prefix(FileSignature.size))
            decoder = DocumentDecoder(beginning: block, contentType: contentType)
        }
        text.removeAll(keeping: 2 * Self.blockSize)
        let mistakes = decoder?.decode(block, isLast: isLast, into: &text) ?? [nil, nil]
        let count = text.count
        if type == nil {
            skipSpace()
            if text.count > 0 { detectType() }
        }
        for mistake in UTF8Cleaner.Mistake.allCases {
            guard let offset = mistakes[mistake.rawValue] else { continue }
            if mistake == .repair && decoder?.expectsRepairs ?? false || !reported.insert(mistake).inserted { continue }
            let message =
                switch mistake {
                case .repair: "the text is not all UTF-8; bytes that are not are read as Windows-1252"
                case .omission: "characters that XML does not allow are removed"
                }
            // The offset is that before white space was skipped.
            diagnose(message, at: max(0, offset - (count - text.count)))
        }
        let bytes = text.contents
        switch type {
        case .xml: scanner?.push(bytes)
        case .json: collected += bytes
        case .html: collected += bytes.prefix(Self.pageSize - collected.count)
        case .other: collected += bytes.prefix(200 - collected.count)
        case nil: break
        }
    }

    /// Removes white space and byte order marks from the beginning of the document.
    private func skipSpace() {
        var bytes = text.contents[...]
        while let byte = bytes.first {
            if byte.isXMLSpace {
                if byte == UInt8(ascii: "\n") { skippedLines += 1 }
                bytes = bytes.dropFirst()
            } else if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
                bytes = bytes.dropFirst(3)
            } else {
                break
            }
        }
        let count = text.count - bytes.count
        hasSkippedSpace = hasSkippedSpace || count > 0
        text.drop(count)
    }

    /// Determines the type of the document from the first block.
    private func detectType() {
        let head = text.contents
        type = DocumentHead.classify(head)
        guard case .xml(let start, let junk) = type else { return }
        if junk > 0 {
            diagnostics.append(Diagnostic(line: 1, message: "\(junk) bytes before the XML are ignored"))
        } else if hasSkippedSpace {
            diagnostics.append(Diagnostic(line: 1, message: "white space before the XML is ignored"))
        }
        skippedLines += head[..<start].count { $0 == UInt8(ascii: "\n") }
        scanner = XMLScanner(reader: makeReader(), skippedLines: skippedLines)
        text.drop(start)
    }

    private func diagnose(_ message: String, at offset: Int) {
        let linesInBlock = text.contents.prefix(offset).count { $0 == UInt8(ascii: "\n") }
        if let line = scanner?.lineOfNextByte {
            scanner?.reader.diagnose(message, line: line + linesInBlock)
        } else {
            diagnostics.append(Diagnostic(line: 1 + skippedLines + linesInBlock, message: message))
        }
    }
}
