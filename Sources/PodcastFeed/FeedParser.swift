/// An incremental parser of feeds (RSS 2.0, RSS 1.0, Atom and JSON Feed) and of lists of subscriptions (OPML).
///
/// Pass the bytes in pieces of any size, then call ``finish()``. The result depends on the bytes only, not on how they
/// were split. For XML, memory use is constant apart from the result; JSON is buffered completely before it is parsed.
///
/// Not thread-safe. Never opens a file or a connection, whatever the document refers to.
package final class FeedParser {
    /// The type of the document, once its first bytes show it.
    private enum Phase {
        case undecided
        case xml(XMLDocument)
        case json([UInt8])
        case html([UInt8])
        case other(beginning: String)
    }

    private let decoder: DocumentDecoder
    private let base: String?
    private let limits: FeedLimits
    private let onItem: ((Item) -> Void)?
    private var phase = Phase.undecided
    /// The first ``FileSignature/size`` bytes as received, to name the format of a document that is not a feed.
    private var beginning: [UInt8] = []
    /// The number of bytes received, up to and including the piece that exceeds the limit.
    private var received = 0
    private var cleaner = UTF8Cleaner()
    private var block = UTF8Cleaner.Block(size: FeedParser.blockSize)
    private var hasReportedRepair = false
    private var hasReportedOmission = false
    /// The number of line feeds before the XML.
    private var skippedLines = 0
    private var hasSkippedSpace = false
    /// Diagnostics from before the `FeedReader` was created, which then receives them.
    private var diagnostics: [Diagnostic] = []

    /// The size in bytes of the blocks passed to the scanner, which buffers an incomplete token until the next block.
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
        decoder = DocumentDecoder(contentType: contentType)
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
        let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(room))
        if beginning.count < FileSignature.size {
            beginning.append(contentsOf: piece.prefix(FileSignature.size - beginning.count))
        }
        decoder.decode(piece) { clean($0) }
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
        decoder.finish { clean($0) }
        cleaner.finish(into: &block)
        deliver(isLast: true)
        do {
            switch phase {
            case .undecided: throw DocumentError.Problem.empty
            case .html(let page):
                throw DocumentError.Problem.html(
                    title: DocumentHead.htmlTitle(page), feeds: WebLink.feeds(in: page, base: base))
            case .other(let beginning): throw DocumentError.Problem.notXML(beginning: beginning)
            case .json(let bytes):
                guard kind == .feed else { throw DocumentError.Problem.json("") }
                var reader = JSONFeed(base: base, limits: limits, onItem: onItem)
                let diagnostics = decoder.diagnostics + diagnostics
                return (try reader.feed(from: bytes, isCut: isFull, diagnostics: diagnostics), OutlineList())
            case .xml(let parser): return try finish(parser, expecting: kind)
            }
        } catch let problem as DocumentError.Problem {
            // The format of a document that is not as expected, which its first bytes may show.
            let format = FileSignature.name(of: beginning).map(DocumentError.Problem.file)
            throw DocumentError(format ?? problem, expected: kind)
        }
    }

    private func finish(
        _ parser: XMLDocument, expecting expected: DocumentError.Kind
    ) throws -> (head: Feed, outlines: OutlineList) {
        if isFull {
            parser.scanner.withReader { reader in
                reader.stop("the document is larger than \(limits.bytes) bytes; the rest is ignored")
            }
        }
        parser.scanner.finish()
        let result = parser.scanner.withReader { reader in
            reader.finish()
            return (
                feed: reader.show.feed, outlines: reader.outlines, root: reader.root, kind: reader.stack.kind,
                line: reader.diagnosticLog.lines.line
            )
        }
        guard let root = result.root else {
            throw DocumentError.Problem.unreadable(line: result.line, message: "there is no element")
        }
        switch (result.kind, expected) {
        case (.feed, .feed), (.subscriptions, .subscriptions): return (result.feed, result.outlines)
        case (.feed, .subscriptions): throw DocumentError.Problem.feed(title: result.feed.title)
        default:
            throw root.lowercased() == "html"
                ? DocumentError.Problem.html(title: nil) : DocumentError.Problem.root(root)
        }
    }

    // MARK: From UTF-8 to the reader

    private func clean(_ piece: UnsafeRawBufferPointer) {
        var index = 0
        while index < piece.count {
            index += cleaner.clean(UnsafeRawBufferPointer(rebasing: piece[index...]), into: &block)
            if block.isFull { deliver(isLast: false) }
        }
    }

    /// Passes the block to the scanner, or collects it if the document is JSON or HTML. All blocks except the last have
    /// the same size, so that their boundaries do not depend on the pieces.
    private func deliver(isLast: Bool) {
        if case .undecided = phase {
            skipSpace()
            guard isLast || block.isFull, block.count > 0 else { return }
            detectType()
            // `detectType` may have removed leading bytes: wait until the block is full again, so that it has the same
            // size as all others.
            guard isLast || block.isFull else { return }
        }
        let count = isLast ? block.count : min(block.count, Self.blockSize)
        diagnoseRepairs(before: isLast ? .max : count)
        let bytes = UnsafeBufferPointer(rebasing: block.contents[..<count])
        switch phase {
        case .xml(let parser): parser.scanner.push(bytes)
        case .json(var collected):
            // If the enumeration still referred to the array, each append would copy the whole array.
            phase = .undecided
            collected.append(contentsOf: bytes)
            phase = .json(collected)
        case .html(var page):
            page.append(contentsOf: bytes.prefix(Self.pageSize - page.count))
            phase = .html(page)
        case .other, .undecided: break
        }
        drop(count)
    }

    /// Removes the first `count` bytes of the block, and adjusts the offsets of the first repair and omission.
    private func drop(_ count: Int) {
        block.drop(count)
        cleaner.firstRepair = cleaner.firstRepair.map { max(0, $0 - count) }
        cleaner.firstOmission = cleaner.firstOmission.map { max(0, $0 - count) }
    }

    /// Removes white space and byte order marks from the beginning of the document.
    private func skipSpace() {
        var bytes = block.contents[...]
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
        let count = block.count - bytes.count
        hasSkippedSpace = hasSkippedSpace || count > 0
        drop(count)
    }

    /// Determines the type of the document from the first block.
    private func detectType() {
        let head = block.contents
        switch DocumentHead.classify(head) {
        case .json: phase = .json([])
        case .html: phase = .html([])
        case .other:
            let line = FeedValues.line(head.prefix(200)) ?? ""
            phase = .other(beginning: line.count > 60 ? line.prefix(60) + "…" : line)
        case .xml(let start, let junk):
            if junk > 0 {
                diagnostics.append(Diagnostic(line: 1, message: "\(junk) bytes before the XML are ignored"))
            } else if hasSkippedSpace {
                diagnostics.append(Diagnostic(line: 1, message: "white space before the XML is ignored"))
            }
            let reader = FeedReader(
                limits: limits, base: base, diagnostics: decoder.diagnostics + diagnostics, onItem: onItem)
            skippedLines += head[..<start].count { $0 == UInt8(ascii: "\n") }
            phase = .xml(XMLDocument(XMLScanner(reader: reader, skippedLines: skippedLines)))
            drop(start)
        }
    }

    /// Reports the document's first repaired and first omitted character, if they are in the first `count` bytes of the
    /// block. A later offset is reported with the next block, because it depends on how the document was split into
    /// pieces whether such an offset is known already.
    private func diagnoseRepairs(before count: Int) {
        if let offset = cleaner.firstRepair {
            if offset < count, !hasReportedRepair, !decoder.expectsRepairs {
                diagnose("the text is not all UTF-8; bytes that are not are read as Windows-1252", at: offset)
                hasReportedRepair = true
            }
            if offset < count { cleaner.firstRepair = nil }
        }
        if let offset = cleaner.firstOmission {
            if offset < count, !hasReportedOmission {
                diagnose("characters that XML does not allow are removed", at: offset)
                hasReportedOmission = true
            }
            if offset < count { cleaner.firstOmission = nil }
        }
    }

    private func diagnose(_ message: String, at offset: Int) {
        let linesInBlock = block.contents.prefix(offset).count { $0 == UInt8(ascii: "\n") }
        guard case .xml(let parser) = phase else {
            diagnostics.append(Diagnostic(line: 1 + skippedLines + linesInBlock, message: message))
            return
        }
        let line = parser.scanner.lineOfNextByte + linesInBlock
        parser.scanner.withReader { $0.diagnose(message, line: line) }
    }
}

/// An XML document: a reference to its scanner, which cannot be copied.
private final class XMLDocument {
    var scanner: XMLScanner

    init(_ scanner: consuming XMLScanner) {
        self.scanner = scanner
    }
}
