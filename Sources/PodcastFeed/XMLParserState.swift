internal import CLibXML2

/// What libxml2's callbacks work on: the reader, and what has to be remembered between one callback and the next.
struct XMLParserState: ~Copyable {
    var reader: FeedReader
    var context: xmlParserCtxtPtr?
    /// The last error's text.
    private(set) var lastMessage: String?

    /// Line breaks before the first byte that this parser context got.
    private var linesBefore: Int
    /// The name in an end tag that did not match, between the error and the callback for it.
    private var mismatch: String?
    /// Whether an attribute of the tag being read had a mistake that libxml2 mends by dropping text.
    private var needsRepair = false
    /// Whether the last start tag, read again, ended in `/>`: should libxml2 have lost its end, no end tag will come.
    private var isEmptyElement = false
    /// What was not parsed when libxml2 gave up.
    private var rescued: [UInt8]?
    /// All namespace declarations so far, the last of each prefix: for a new context.
    private var bindings: [(prefix: String, uri: String)] = []
    /// Start tags to come that are ours, not the document's.
    private var wrappers = 0
    private var unboundPrefixes: Set<String> = []
    /// About how many microseconds have gone into what no proper document has.
    private var effort = 0

    /// Elements around what a new context gets, so that it has a root and that stray end tags do not close it at once.
    private static let wrapperCount = 64
    /// libxml2 closes one element at an end tag that closes many here; so its stack grows with each such mistake. Each
    /// level costs it 36 bytes.
    private static let depthLimit: Int32 = 250_000
    /// Two seconds. The worst real feeds have a mistake in each item.
    private static let effortLimit = 2_000_000
    /// Different names of elements and attributes. Feeds have some sixty; libxml2's dictionary has 16,384 places for
    /// all of them and grows slow beyond that.
    private static let nameLimit = 200_000
    /// Namespace declarations that are in force, two entries each; libxml2 looks through all of them for each name.
    private static let namespaceLimit: Int32 = 2_000
    /// A start tag whose end has not come. libxml2 compares each attribute of it with each other one.
    private static let tagLimit = 256 << 10
    /// A comment, a declaration or the like whose end has not come. libxml2 looks through all of it again whenever a
    /// block is added.
    private static let tokenLimit = 4 << 20
    /// The same for a reference: a feed whose one `&` is a mistake may have no semicolon behind it.
    private static let referenceLimit = 32 << 20
    /// The same for a CDATA section, of which ``FeedLimits/text`` says how much is kept.
    private static let sectionLimit = 16 << 20
    /// Namespace declarations to remember; real feeds have twenty.
    private static let bindingLimit = 64

    init(reader: consuming FeedReader, linesBefore: Int) {
        self.reader = reader
        self.linesBefore = linesBefore
    }

    var line: Int {
        guard let input = context?.pointee.input else { return reader.line }
        return linesBefore + Int(input.pointee.line)
    }

    /// The line behind all that was pushed, some of which waits for the end of a tag.
    var lineOfNextByte: Int {
        guard let input = context?.pointee.input, let cursor = input.pointee.cur, let end = input.pointee.end,
            end > cursor
        else { return line }
        return line + UnsafeBufferPointer(start: cursor, count: end - cursor).count { $0 == UInt8(ascii: "\n") }
    }

    /// Whether the parser may stand still: all is read, or enough.
    var isDone: Bool { reader.isStopped || (reader.root != nil && !reader.isInsideRoot) }

    mutating func giveUp() {
        guard reader.root != nil else { return }
        reader.stop("the XML cannot be followed from here (\(lastMessage ?? "unknown")); the rest is left out")
    }

    // MARK: What is too much work

    /// Stops where a document was made to take long: looks at what libxml2 has before it after each block.
    mutating func checkEffort() {
        guard let context, !reader.isStopped, context.pointee.instate != XML_PARSER_EOF else { return }
        let input = context.pointee.input?.pointee
        if let cursor = input?.cur, let end = input?.end, end - cursor > Self.tagLimit {
            // It hands on a few hundred bytes of a CDATA section for each block, until it has seen the end.
            if context.pointee.instate == XML_PARSER_CDATA_SECTION {
                if end - cursor > Self.sectionLimit { giveUp("a CDATA section has no end") }
                return
            }
            // `<!` and `<?`; inside a document type libxml2 stands wherever it has got to.
            let isTag =
                cursor[0] == UInt8(ascii: "<") && cursor[1] != UInt8(ascii: "!") && cursor[1] != UInt8(ascii: "?")
            // It waits for a semicolon behind each `&`, and looks back for a tag meanwhile.
            let limit = cursor[0] == UInt8(ascii: "&") ? Self.referenceLimit : Self.tokenLimit
            if isTag || end - cursor > limit { return giveUp("a tag, comment or declaration has no end") }
        }
        if effort > Self.effortLimit { giveUp("there are too many mistakes") }
        if context.pointee.nsNr > Self.namespaceLimit { giveUp("there are too many namespaces") }
        if let names = context.pointee.dict, xmlDictSize(names) > Self.nameLimit {
            giveUp("there are too many different names")
        }
    }

    private mutating func giveUp(_ reason: String) {
        lastMessage = reason
        reader.line = line
        reader.stop("\(reason); the rest is left out")
    }

    /// Notes work, in about microseconds.
    mutating func add(effort more: Int) {
        effort += more
    }

    // MARK: Going on where libxml2 gives up

    mutating func takeRescued() -> [UInt8]? {
        defer { rescued = nil }
        return rescued
    }

    mutating func prepareToResume(linesBefore: Int) {
        self.linesBefore = linesBefore
        mismatch = nil
        needsRepair = false
        wrappers = Self.wrapperCount
    }

    /// What a new context gets first.
    var prologue: String {
        var declarations = ""
        for (prefix, uri) in bindings {
            let value = uri.split(separator: "&", omittingEmptySubsequences: false).joined(separator: "&amp;")
                .split(separator: "<", omittingEmptySubsequences: false).joined(separator: "&lt;")
                .split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "&quot;")
            declarations += " xmlns\(prefix.isEmpty ? "" : ":")\(prefix)=\"\(value)\""
        }
        return "<_\(declarations)>" + String(repeating: "<_>", count: Self.wrapperCount - 1)
    }

    /// Keeps what is not parsed yet, from `offset` bytes behind the parser's place.
    private mutating func rescue(skipping offset: Int) {
        guard let input = context?.pointee.input, let cursor = input.pointee.cur, let end = input.pointee.end,
            end - cursor > offset
        else { return }
        rescued = Array(UnsafeBufferPointer(start: cursor + offset, count: end - cursor - offset))
    }

    // MARK: Callbacks

    mutating func startElement(
        _ local: UnsafePointer<UInt8>, _ prefix: UnsafePointer<UInt8>?, _ uri: UnsafePointer<UInt8>?,
        bindings: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ bindingCount: Int,
        attributes: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ attributeCount: Int
    ) {
        forgive()
        if wrappers > 0 {
            wrappers -= 1
            return
        }
        // Measured: 10 s for a tag with 200,000 attributes, and four times as much for twice as many.
        effort += attributeCount * attributeCount / 4096
        if bindingCount > 0, let bindings { remember(bindings, bindingCount) }
        var found = FeedAttributes(pointers: attributes, count: attributeCount, source: source)
        if needsRepair {
            needsRepair = false
            found.repaired = rawStartTag(local)
        }
        reader.line = line
        reader.startElement(local: local, prefix: prefix, uri: uri, attributes: found)
        isEmptyElement = found.repaired?.isEmptyElement == true
        if let context, context.pointee.nameNr > Self.depthLimit {
            reader.stop("too many elements are not closed; the rest is left out")
        }
        if reader.isStopped, let context { xmlStopParser(context) }
    }

    mutating func endElement(
        _ local: UnsafePointer<UInt8>, _ prefix: UnsafePointer<UInt8>?, _ uri: UnsafePointer<UInt8>?
    ) {
        forgive()
        reader.line = line
        isEmptyElement = false
        if var name = mismatch {
            mismatch = nil
            name.append("\0")
            name.withUTF8 { bytes in
                guard let start = bytes.baseAddress else { return }
                reader.endElement(hash: FeedName.hash(ofLocalPart: start), name: start)
            }
        } else {
            reader.endElement(hash: reader.names.name(local: local, prefix: prefix, uri: uri).hash, name: local)
        }
    }

    mutating func characters(_ bytes: UnsafeBufferPointer<UInt8>, isCDATA: Bool) {
        forgive()
        reader.characters(bytes, isCDATA: isCDATA)
    }

    /// Lets libxml2 forget that the document has mistakes.
    ///
    /// Once one was found it drops `&amp;`, `&lt;` and the other references to XML's own entities from all text that
    /// follows (`xmlParseReference` returns early unless `wellFormed`), although it was told to recover.
    mutating func forgive() {
        context?.pointee.wellFormed = 1
    }

    /// Reads the references to XML's own entities that follow the parser's place at once, since libxml2 would drop
    /// them: it takes note of the mistake after it was reported, and nothing is called in between.
    private mutating func takeReferences() {
        guard let context, let input = context.pointee.input, context.pointee.instate == XML_PARSER_CONTENT else {
            return
        }
        if effort > Self.effortLimit {
            // Here libxml2 has nothing more to do with its input than to look at it again. Elsewhere it has, and less
            // than a block's or a token's worth of mistakes is left to it.
            giveUp("there are too many mistakes")
            return xmlStopParser(context)
        }
        while let cursor = input.pointee.cur, let end = input.pointee.end, cursor < end,
            cursor.pointee == UInt8(ascii: "&")
        {
            let rest = UnsafeBufferPointer(start: cursor + 1, count: end - cursor - 1)
            guard let (name, text) = Self.ownEntities.first(where: { rest.starts(with: $0.name.utf8) }) else { return }
            withUnsafePointer(to: text) {
                reader.characters(UnsafeBufferPointer(start: $0, count: 1), isCDATA: false)
            }
            input.pointee.cur = cursor + 1 + name.utf8.count
            input.pointee.col += Int32(1 + name.utf8.count)
        }
    }

    private static let ownEntities: [(name: String, text: UInt8)] = [
        ("amp;", UInt8(ascii: "&")), ("lt;", UInt8(ascii: "<")), ("gt;", UInt8(ascii: ">")),
        ("quot;", UInt8(ascii: "\"")), ("apos;", UInt8(ascii: "'")),
    ]

    /// Hands on the text before a `]]>` that closes nothing: libxml2 drops what it has not reported yet, and the first
    /// bracket (`xmlParseCharData`).
    private mutating func takeTextBeforeBrackets() {
        guard let input = context?.pointee.input, let cursor = input.pointee.cur, let end = input.pointee.end,
            cursor < end
        else { return }
        let text = UnsafeBufferPointer(start: cursor, count: end - cursor)
        // Where the parser stands before the brackets itself, it keeps the text.
        guard let place = text.firstRange(of: Array("]]>".utf8))?.lowerBound, place > 0 else { return }
        reader.characters(UnsafeBufferPointer(rebasing: text[...place]), isCDATA: false)
    }

    /// An error. The values are valid during the call, and so is the parser's place in its input.
    mutating func report(_ error: xmlError) {
        guard !reader.isStopped else { return }
        effort += 1
        let code = xmlParserErrors(rawValue: UInt32(bitPattern: error.code))
        let state = context?.pointee.instate
        reader.line = line
        switch code {
        case XML_ERR_UNDECLARED_ENTITY, XML_WAR_UNDECLARED_ENTITY:
            guard state != XML_PARSER_DTD else { return }
            mendEntity(error.str1.map { String(cString: $0) } ?? "", isInAttribute: state == XML_PARSER_ATTRIBUTE_VALUE)
            takeReferences()
        case XML_ERR_ENTITYREF_SEMICOL_MISSING:
            mendAmpersand(isInAttribute: state == XML_PARSER_ATTRIBUTE_VALUE)
            takeReferences()
        case XML_ERR_NAME_REQUIRED where previousByte == UInt8(ascii: "&"):
            mendAmpersand(isInAttribute: state == XML_PARSER_ATTRIBUTE_VALUE)
            takeReferences()
        case XML_ERR_INVALID_CHAR where previousByte == UInt8(ascii: ";"):
            noteMessage(of: error)
            takeReferences()
        case XML_ERR_NAME_REQUIRED where previousByte == UInt8(ascii: "<") && state == XML_PARSER_START_TAG:
            reader.note("a “<” stands where “&lt;” is meant")
            reader.characters("<")
            rescue(skipping: 0)
        case XML_ERR_INTERNAL_ERROR where state == XML_PARSER_CONTENT:
            reader.note("a “<” stands where “&lt;” is meant")
            reader.characters("<")
            rescue(skipping: 1)
        case XML_ERR_MISPLACED_CDATA_END:
            noteMessage(of: error)
            takeTextBeforeBrackets()
        case XML_ERR_DOCUMENT_END:
            // Also reported when the document is cut, which the reader sees for itself.
            guard state == XML_PARSER_EPILOG else { return }
            if reader.isInsideRoot { rescue(skipping: 0) } else { reader.noteTail() }
        case XML_ERR_TAG_NAME_MISMATCH:
            guard let name = error.str2 else { return }
            mismatch = String(cString: name)
        case XML_ERR_ATTRIBUTE_NOT_STARTED, XML_ERR_LT_IN_ATTRIBUTE, XML_ERR_ATTRIBUTE_WITHOUT_VALUE,
            XML_ERR_SPACE_REQUIRED, XML_ERR_ATTRIBUTE_REDEFINED:
            if state != XML_PARSER_DTD { needsRepair = true }
            noteMessage(of: error)
        case XML_ERR_TAG_NOT_FINISHED:
            break  // At the end of a cut document: likewise.
        case XML_ERR_GT_REQUIRED:
            noteMessage(of: error)
            guard isEmptyElement, let name = error.str1 else { return }
            isEmptyElement = false
            name.withMemoryRebound(to: UInt8.self, capacity: 1) {
                reader.endElement(hash: FeedName.hash(ofLocalPart: $0), name: $0)
            }
        default:
            if error.domain == Int32(XML_FROM_NAMESPACE.rawValue), let prefix = error.str1 {
                noteUnbound(String(cString: prefix))
            } else if error.level != XML_ERR_WARNING {
                noteMessage(of: error)
            }
        }
    }

    // MARK: Mending

    /// What the parser has behind it, as far as it is still in its buffer.
    private var source: UnsafeBufferPointer<UInt8> {
        guard let input = context?.pointee.input, let cursor = input.pointee.cur, let base = input.pointee.base,
            cursor > base
        else { return UnsafeBufferPointer(start: nil, count: 0) }
        return UnsafeBufferPointer(start: base, count: cursor - base)
    }

    private var previousByte: UInt8? {
        guard let input = context?.pointee.input, let cursor = input.pointee.cur, let base = input.pointee.base,
            cursor > base
        else { return nil }
        return (cursor - 1).pointee
    }

    /// `&name;` that nothing declares, or that the document declares for itself: HTML's names mean what they mean
    /// there, others stay as they stand.
    private mutating func mendEntity(_ name: String, isInAttribute: Bool) {
        let character = HTMLEntities.character(name)
        if reader.wantsNotes {
            reader.note(
                "the entity “&\(name.prefix(40));” is not one of XML's; "
                    + (character == nil ? "it stays as it stands" : "it is read as in HTML"))
        }
        if isInAttribute {
            needsRepair = true
        } else if reader.isCollecting {
            reader.characters(character.map { String($0) } ?? "&\(name);")
        }
    }

    /// `&` alone, or with a name behind it and no semicolon.
    private mutating func mendAmpersand(isInAttribute: Bool) {
        note("an “&” stands where “&amp;” is meant")
        if isInAttribute {
            needsRepair = true
            return
        }
        guard reader.isCollecting, let input = context?.pointee.input, let cursor = input.pointee.cur,
            let base = input.pointee.base
        else { return }
        var start = cursor
        while start > base, (start - 1).pointee != UInt8(ascii: "&") { start -= 1 }
        guard start > base else { return }
        reader.characters(UnsafeBufferPointer(start: start - 1, count: cursor - start + 1), isCDATA: true)
    }

    private func rawStartTag(_ local: UnsafePointer<UInt8>) -> RawStartTag? {
        guard let input = context?.pointee.input, let base = input.pointee.base, let cursor = input.pointee.cur,
            let end = input.pointee.end, base <= cursor, cursor <= end
        else { return nil }
        return RawStartTag(named: local, at: cursor, in: base..<end)
    }

    private mutating func remember(_ pairs: UnsafeMutablePointer<UnsafePointer<UInt8>?>, _ count: Int) {
        for index in 0..<count {
            let prefix = pairs[2 * index].map { String(cString: $0) } ?? ""
            let uri = pairs[2 * index + 1].map { String(cString: $0) } ?? ""
            if let place = bindings.firstIndex(where: { $0.prefix == prefix }) {
                bindings[place].uri = uri
            } else if bindings.count < Self.bindingLimit {
                bindings.append((prefix, uri))
            }
        }
    }

    // MARK: Diagnostics

    private mutating func note(_ message: @autoclosure () -> String) {
        if reader.wantsNotes { reader.note(message()) }
    }

    private mutating func noteUnbound(_ prefix: String) {
        guard unboundPrefixes.count < 16, unboundPrefixes.insert(prefix).inserted else { return }
        reader.note("the prefix “\(prefix.prefix(40))” is not bound to a namespace; it is taken for the usual one")
    }

    private mutating func noteMessage(of error: xmlError) {
        guard reader.wantsNotes || lastMessage == nil, let message = error.message else { return }
        let text = String(cString: message).prefix(200).prefix { $0 != "\n" }
        lastMessage = String(text)
        reader.note("libxml2: \(text)")
    }
}
