/// Builds a ``Feed`` from the start tags, end tags and text of an XML document.
///
/// It keeps a stack of open elements of its own. libxml2, when told to recover, closes whatever is open at an end tag
/// of any name, so that one stray `</p>` would end an item and the next would end the channel. Here an end tag closes
/// the nearest open element of its name, and what stands inside; one without a partner is passed over.
struct FeedReader: ~Copyable {
    /// An element whose end tag has not come.
    private struct Open {
        var hash: UInt32
        var rule: FeedRule
        /// Whether an `xml:base` stood in its tag.
        var hasBase = false
    }

    /// What the names of elements are looked up in. To be emptied when the parser context goes.
    var names = FeedNameCache()
    /// Set when a limit is reached: nothing more shall be read.
    private(set) var isStopped = false
    /// The local name of the root element, once there was one.
    private(set) var root: String?

    var feed = Feed(format: .rss2)
    var item = Item()
    var isInItem = false
    /// Takes the items in the place of the feed.
    let onItem: ((Item) -> Void)?
    var itemCount = 0
    /// How good the source of each field is that has a value, the less the better; cleared for each item.
    var itemRanks = FieldRanks()
    var feedRanks = FieldRanks()
    /// `media:content`, which counts when the item has no enclosure.
    var mediaContents: [Enclosure] = []
    /// The elements of `podcast:` whose attributes were read and whose text is being collected.
    var pending = Pending()
    /// The subscriptions of a document that is OPML.
    var outlines = OutlineList()
    var updatePeriod: Int?
    var updateFrequency: Int?
    var timeToLive: Int?
    var podcastFrequency: Int?
    /// The line that the parser has reached; set before each call that may need it.
    var line = 0
    let limits: FeedLimits

    private let rules = FeedRules.shared
    private var open: [Open] = []
    private var bases: [String]
    var urls: URLResolver
    /// The text of the element that is being collected.
    private var text = TextBuffer()
    /// The place in `open` of the element whose text is collected; -1 when none is.
    private var collector = -1
    private var textLimit = 0
    private var isTextCut = false
    private var isRootClosed = false
    private var hasNotedDepth = false
    private var hasNotedTail = false

    /// - Parameter base: The URL the document came from, for references relative to it.
    init(limits: FeedLimits, base: String?, onItem: ((Item) -> Void)?) {
        self.limits = limits
        self.onItem = onItem
        urls = URLResolver(limits: limits)
        bases = base.map { [$0] } ?? []
        open.reserveCapacity(32)
    }

    /// Whether text is being collected, so that a mended reference is worth its trouble.
    var isCollecting: Bool { collector >= 0 }
    /// Whether the document has begun and its root element is still open.
    var isInsideRoot: Bool { root != nil && !isRootClosed }
    /// Whether one more diagnostic would be kept, so that composing it is worth its trouble.
    var wantsNotes: Bool { feed.diagnostics.count <= limits.diagnostics }
    var base: String? { bases.last }
    /// What the root element says.
    private(set) var kind = Kind.other

    enum Kind {
        case feed, subscriptions, other
    }

    // MARK: What the parser reports

    mutating func startElement(
        local: UnsafePointer<UInt8>, prefix: UnsafePointer<UInt8>?, uri: UnsafePointer<UInt8>?,
        attributes: FeedAttributes
    ) {
        guard !isStopped else { return }
        guard !isRootClosed else { return noteTail() }
        let name = names.name(local: local, prefix: prefix, uri: uri)
        if open.isEmpty { root = String(cString: local) }
        if collector >= 0, startInsideText(name, local: local, prefix: prefix, attributes: attributes) { return }

        if open.count >= limits.depth, !makeRoom(for: name, attributes) { return }
        var scope = open.last?.rule.inside ?? .document
        var rule = self.rule(name, in: scope)
        if rule.handler.isItem, isInItem {
            note("an item was not closed before the next began")
            closeItem()
            scope = open.last?.rule.inside ?? .document
            rule = self.rule(name, in: scope)
        }
        var element = Open(hash: name.hash, rule: rule)
        if let reference = attributes.value("base", prefix: "xml"), let address = url(reference) {
            bases.append(address)
            element.hasBase = true
        }
        if open.isEmpty { kind = rule.handler == .none ? .other : rule.handler == .opml ? .subscriptions : .feed }
        open.append(element)
        if rule.handler == .none { return }
        let wantsText = start(rule.handler, attributes)
        if rule.handler.collects, wantsText { collect(rule.handler) }
    }

    /// - Parameters:
    ///   - hash: Of the local name in the end tag.
    ///   - name: The name, for a diagnostic.
    mutating func endElement(hash: UInt32, name: UnsafePointer<UInt8>) {
        guard !isRootClosed, !isStopped else { return }
        let found = open.lastIndex { $0.hash == hash }
        if collector >= 0, found ?? -1 < collector, isVoid(name) { return }
        guard let place = found else {
            if wantsNotes { note("an end tag </\(String(cString: name).prefix(40))> has no start tag") }
            return
        }
        if place < open.count - 1, wantsNotes {
            note("elements inside <\(String(cString: name).prefix(40))> are not closed before it ends")
        }
        if collector >= 0, place > collector { return endInsideText(place) }
        while open.count > place { closeLast() }
    }

    mutating func characters(_ bytes: FeedBytes, isCDATA: Bool) {
        guard collector >= 0 else { return }
        let room = textLimit - text.count
        guard room > 0 else {
            isTextCut = true
            return
        }
        if open.count - 1 > collector, !isCDATA, open[collector].rule.handler.isHTML {
            // Text between elements that are handed on as markup: what was escaped has to be so again.
            for byte in bytes {
                switch byte {
                case UInt8(ascii: "&"): text.append("&amp;".utf8)
                case UInt8(ascii: "<"): text.append("&lt;".utf8)
                default: text.append(byte)
                }
            }
            return
        }
        if bytes.count > room {
            isTextCut = true
            text.append(FeedBytes(rebasing: bytes[..<room]))
        } else {
            text.append(bytes)
        }
    }

    /// The same for text that the parser did not understand and that is mended.
    mutating func characters(_ string: String) {
        var string = string
        string.withUTF8 { characters($0, isCDATA: true) }
    }

    /// The document is over. An item whose end did not come is left out: its title may be half of the real one, and
    /// names are given once.
    mutating func finish() {
        if isInItem {
            note("the document ends inside an item; that item is left out")
            isInItem = false
            feed.isCut = true
        } else if isInsideRoot, !isStopped {
            note("the document ends before its root element is closed")
            feed.isCut = true
        }
        finishFeed()
    }

    /// Notes something that was mended or passed over.
    mutating func note(_ message: String) {
        note(message, line: line)
    }

    mutating func note(_ message: String, line: Int) {
        if feed.diagnostics.count < limits.diagnostics {
            feed.diagnostics.append(Diagnostic(line: line, message: message))
        } else if feed.diagnostics.count == limits.diagnostics {
            feed.diagnostics.append(Diagnostic(line: line, message: "there are more diagnostics; they are left out"))
        }
    }

    /// Reads no further, and says why.
    mutating func stop(_ message: String) {
        guard !isStopped else { return }
        note(message)
        isStopped = true
        feed.isCut = true
    }

    // MARK: The stack

    private func rule(_ name: FeedName, in scope: FeedScope) -> FeedRule {
        rules.table[Int(scope.rawValue) * rules.nameCount + Int(name.index)]
    }

    /// Deals with an element where as many are open as may be.
    ///
    /// What is nested so deep is most often not nested at all: it was not closed. So the episodes and subscriptions
    /// behind it still count, and everything else is passed over.
    ///
    /// - Returns: Whether the element may be opened.
    private mutating func makeRoom(for name: FeedName, _ attributes: FeedAttributes) -> Bool {
        noteDepth()
        let handler = rule(name, in: .nothing).handler
        if handler == .outline { _ = start(.outline, attributes) }
        guard handler.isItem,
            let place = open.lastIndex(where: { [.root, .channel, .feed].contains($0.rule.inside) }),
            place + 1 < limits.depth
        else { return false }
        while open.count > place + 1 { closeLast() }
        return true
    }

    private mutating func noteDepth() {
        guard !hasNotedDepth else { return }
        hasNotedDepth = true
        note("elements are nested deeper than \(limits.depth); those inside are passed over")
    }

    /// Something stands behind the end of the root element.
    mutating func noteTail() {
        guard !hasNotedTail else { return }
        hasNotedTail = true
        note("what follows the end of the document is passed over")
    }

    private mutating func closeLast() {
        if collector >= 0, open.count - 1 > collector { endInsideText(collector + 1) }
        let element = open.removeLast()
        if open.count == collector {
            let handler = element.rule.handler
            collector = -1
            if !isTextCut {
                end(handler, text.contents)
            } else if handler.isURL {
                note("a URL is longer than \(textLimit) bytes and is left out")
            } else {
                note("a text is longer than \(textLimit) bytes and is cut")
                end(handler, UTF8Cleaner.wholeCharacters(text.contents))
            }
            text.removeAll()
        } else if element.rule.handler.isItem {
            finishItem()
        }
        if element.hasBase { bases.removeLast() }
        if open.isEmpty { isRootClosed = true }
    }

    /// Closes everything down to the item that is open, and it too.
    private mutating func closeItem() {
        while isInItem, !open.isEmpty { closeLast() }
    }

    // MARK: Text

    private mutating func collect(_ handler: FeedHandler) {
        collector = open.count - 1
        isTextCut = false
        textLimit = handler.isHTML ? limits.text : handler.isURL ? limits.url : limits.line
    }

    /// - Returns: Whether the element was dealt with as a part of the text.
    private mutating func startInsideText(
        _ name: FeedName, local: UnsafePointer<UInt8>, prefix: UnsafePointer<UInt8>?, attributes: FeedAttributes
    ) -> Bool {
        let outer = open[collector]
        let anywhere = rule(name, in: .nothing).handler
        let scope = collector > 0 ? open[collector - 1].rule.inside : .document
        // A line of text has no elements inside: this one was not closed, and the next of its kind begins.
        let isSibling = !outer.rule.handler.isHTML && rule(name, in: scope).handler != .none
        if anywhere == .item || anywhere == .entry || isSibling {
            note("an element was not closed before the next began")
            while open.count > collector, collector >= 0 { closeLast() }
            return false
        }
        guard open.count < limits.depth else {
            noteDepth()
            return true
        }
        let isMarkup = outer.rule.handler.isHTML && text.count < textLimit
        if isMarkup {
            text.append(UInt8(ascii: "<"))
            text.append(FeedBytes(start: local, count: Self.length(local)))
            attributes.forEach { name, value in
                text.append(" \(name)=\"".utf8)
                for byte in value {
                    switch byte {
                    case UInt8(ascii: "&"): text.append("&amp;".utf8)
                    case UInt8(ascii: "<"): text.append("&lt;".utf8)
                    case UInt8(ascii: "\""): text.append("&quot;".utf8)
                    default: text.append(byte)
                    }
                }
                text.append(UInt8(ascii: "\""))
            }
            text.append(UInt8(ascii: ">"))
        }
        if isVoid(local) { return true }
        tagNames.append(isMarkup ? String(cString: local) : "")
        open.append(Open(hash: name.hash, rule: .ignore))
        return true
    }

    /// The names of the elements that are open inside the collected text; empty for those that are not handed on.
    private var tagNames: [String] = []

    private mutating func endInsideText(_ place: Int) {
        while open.count > place {
            open.removeLast()
            let name = tagNames.popLast() ?? ""
            if !name.isEmpty { text.append("</\(name)>".utf8) }
        }
    }

    /// Whether text is collected as HTML and the element is one that HTML never closes.
    private func isVoid(_ name: UnsafePointer<UInt8>) -> Bool {
        open[collector].rule.handler.isHTML && Self.voidElements.contains(String(cString: name))
    }

    /// HTML's elements without content, which have no end tag.
    private static let voidElements: Set<String> = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
    ]

    private static func length(_ name: UnsafePointer<UInt8>) -> Int {
        var end = name
        while end.pointee != 0 { end += 1 }
        return end - name
    }
}
