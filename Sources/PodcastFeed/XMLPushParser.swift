internal import CLibXML2

/// Runs libxml2's SAX2 push parser over a document and reports to a ``FeedReader``.
///
/// The options recover from mistakes (`RECOVER`), give attribute values with their references replaced (`NOENT`:
/// without it `&amp;` arrives as `&#38;`), never open a connection (`NONET`), and lift libxml2's own limits (`HUGE`), in
/// whose place ``FeedLimits`` stand. The handler has no `getEntity` and no `entityDecl`: so no entity that a document
/// declares is ever known, and none can be expanded or read from a file.
///
/// Not for two threads at once. The corresponding C functions are `xmlCreatePushParserCtxt` and `xmlParseChunk`.
final class XMLPushParser {
    /// At a fixed address, which libxml2 hands to each callback.
    private let state: UnsafeMutablePointer<XMLParserState>
    private var restarts = 0

    /// A document with that many places at which libxml2 gives up is no document; each costs the copy of a block.
    private static let restartLimit = 10_000

    /// - Parameter skippedLines: Line breaks before the first byte that the parser will get.
    init(reader: consuming FeedReader, skippedLines: Int) {
        Self.initialised
        state = .allocate(capacity: 1)
        state.initialize(to: XMLParserState(reader: reader, linesBefore: skippedLines))
        open()
    }

    deinit {
        close()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// The line that the parser has reached.
    var line: Int { state.pointee.line }
    /// The line of the first byte that was not pushed yet.
    var lineOfNextByte: Int { state.pointee.lineOfNextByte }
    /// Why nothing was understood, when the parser gave up before the root element.
    var failure: String? { state.pointee.lastMessage }

    func withReader<Result>(_ body: (inout FeedReader) -> Result) -> Result {
        body(&state.pointee.reader)
    }

    /// Parses the next piece of UTF-8, which may be cut anywhere.
    func push(_ bytes: UnsafeBufferPointer<UInt8>) {
        parse(bytes, isLast: false)
    }

    /// Parses what waited for more. Nothing may be pushed afterwards.
    func finish() {
        parse(UnsafeBufferPointer(start: nil, count: 0), isLast: true)
        state.pointee.reader.line = line
        close()
    }

    private func parse(_ bytes: UnsafeBufferPointer<UInt8>, isLast: Bool) {
        feed(bytes, isLast: isLast)
        while let context = state.pointee.context, context.pointee.instate == XML_PARSER_EOF, !state.pointee.isDone {
            guard let rest = state.pointee.takeRescued(), restarts < Self.restartLimit else {
                if !isLast { state.pointee.giveUp() }
                return
            }
            restarts += 1
            // A new context and the copy of a block.
            state.pointee.add(effort: 50)
            resume(with: rest, isLast: isLast)
        }
    }

    private func feed(_ bytes: UnsafeBufferPointer<UInt8>, isLast: Bool) {
        guard let context = state.pointee.context, !state.pointee.reader.isStopped else { return }
        state.pointee.forgive()
        bytes.withMemoryRebound(to: CChar.self) {
            _ = xmlParseChunk(context, $0.baseAddress, Int32($0.count), isLast ? 1 : 0)
        }
        if !isLast { state.pointee.checkEffort() }
    }

    /// Goes on behind a place at which libxml2 gave up, with a new parser in a state like the old one's.
    private func resume(with rest: [UInt8], isLast: Bool) {
        let line = self.line
        close()
        state.pointee.prepareToResume(linesBefore: line - 1)
        open()
        var prologue = state.pointee.prologue
        prologue.withUTF8 { feed($0, isLast: false) }
        rest.withUnsafeBufferPointer { feed($0, isLast: false) }
        if isLast { feed(UnsafeBufferPointer(start: nil, count: 0), isLast: true) }
    }

    // MARK: libxml2

    /// libxml2 asks for this once, before threads use it.
    private static let initialised: Void = xmlInitParser()

    private func open() {
        var handler = xmlSAXHandler()
        handler.initialized = UInt32(XML_SAX2_MAGIC)
        handler.startElementNs = { user, local, prefix, uri, bindingCount, bindings, count, defaulted, attributes in
            guard let user, let local else { return }
            // The last ones do not stand in the tag: a declaration of the document gives them.
            user.assumingMemoryBound(to: XMLParserState.self).pointee.startElement(
                local, prefix, uri, bindings: bindings, Int(bindingCount), attributes: attributes,
                Int(count - defaulted))
        }
        handler.endElementNs = { user, local, prefix, uri in
            guard let user, let local else { return }
            user.assumingMemoryBound(to: XMLParserState.self).pointee.endElement(local, prefix, uri)
        }
        handler.characters = { user, bytes, count in
            user?.assumingMemoryBound(to: XMLParserState.self).pointee.characters(
                UnsafeBufferPointer(start: bytes, count: Int(count)), isCDATA: false)
        }
        handler.ignorableWhitespace = handler.characters
        handler.cdataBlock = { user, bytes, count in
            user?.assumingMemoryBound(to: XMLParserState.self).pointee.characters(
                UnsafeBufferPointer(start: bytes, count: Int(count)), isCDATA: true)
        }
        handler.comment = { user, _ in
            user?.assumingMemoryBound(to: XMLParserState.self).pointee.forgive()
        }
        handler.processingInstruction = { user, _, _ in
            user?.assumingMemoryBound(to: XMLParserState.self).pointee.forgive()
        }
        handler.serror = { user, error in
            guard let user, let error else { return }
            user.assumingMemoryBound(to: XMLParserState.self).pointee.report(error.pointee)
        }
        guard let context = xmlCreatePushParserCtxt(&handler, state, nil, 0, nil) else { return }
        let options = [XML_PARSE_RECOVER, XML_PARSE_NOENT, XML_PARSE_NONET, XML_PARSE_HUGE, XML_PARSE_IGNORE_ENC]
        xmlCtxtUseOptions(context, options.reduce(0) { $0 | Int32($1.rawValue) })
        xmlSwitchEncoding(context, XML_CHAR_ENCODING_UTF8)
        state.pointee.context = context
    }

    private func close() {
        guard let context = state.pointee.context else { return }
        state.pointee.context = nil
        state.pointee.reader.names.removeAll()
        // libxml2 makes a document to keep entity declarations in, and leaves it to the caller.
        if let document = context.pointee.myDoc { xmlFreeDoc(document) }
        context.pointee.myDoc = nil
        xmlFreeParserCtxt(context)
    }
}
