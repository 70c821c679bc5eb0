/// The builder of a ``Feed`` from the start tags, end tags and text of an XML document.
struct FeedReader: ~Copyable {
    var names = ElementNames()
    var stack: ElementStack
    var text = TextCollector()
    var show = ShowState()
    var current = ItemState()
    /// The subscriptions of an OPML document.
    var outlines = OutlineList()
    var urls: URLResolver
    var diagnosticLog: DiagnosticLog
    /// Whether a limit is exceeded, so that the rest of the document is ignored.
    private(set) var isStopped = false
    /// The processing of the text that is being collected.
    private var endOfText: FeedElement.End?
    let limits: FeedLimits
    /// Receives each item; the items are then not added to the feed. `nil` adds them to the feed.
    let onItem: ((Item) -> Void)?

    /// - Parameters:
    ///   - base: The URL of the document, for relative references.
    ///   - diagnostics: The diagnostics from before the first element.
    init(limits: FeedLimits, base: String?, diagnostics: [Diagnostic], onItem: ((Item) -> Void)?) {
        self.limits = limits
        self.onItem = onItem
        stack = ElementStack(base: base)
        urls = URLResolver(limits: limits)
        diagnosticLog = DiagnosticLog(diagnostics, limit: limits.diagnostics)
    }

    /// Whether text is being collected.
    var isCollecting: Bool { text.elementIndex != nil }
    /// Whether the root element is open.
    var isInsideRoot: Bool { root != nil && !stack.isRootClosed }
    /// The local name of the root element, once known.
    var root: String? { stack.root }
    var isInItem: Bool { current.isOpen }

    // MARK: Events from the scanner

    mutating func startElement(_ qualified: FeedBytes, _ attributes: FeedAttributes) {
        guard !isStopped else { return }
        guard !stack.isRootClosed else { return diagnoseTail() }
        var bindings = names.declare(attributes)
        if stack.isEmpty {
            stack.root = String(decoding: ElementNames.local(of: qualified), as: UTF8.self)
            bindings += names.bindRoot(qualified)
        }
        let name = names.name(qualified)
        if let prefix = names.newlyUnbound.take() {
            diagnose("the prefix “\(prefix)” is not bound to a namespace; it is treated as the usual one")
        }
        if isCollecting {
            if isPart(name) { return addToText(name, qualified, bindings: bindings, attributes) }
            diagnose("an element was not closed before the next began")
            bindings = close(before: attributes, bindings) { while $0.isCollecting { $0.closeLast() } }
        }
        if stack.count >= limits.depth {
            guard let index = room(for: name, attributes) else { return names.drop(bindings) }
            bindings = close(before: attributes, bindings) { while $0.stack.count > index { $0.closeLast() } }
        }
        if isInItem, Self.rule(name, in: stack.scope).role == .item {
            diagnose("an item was not closed before the next began")
            bindings = close(before: attributes, bindings) { while $0.isInItem, !$0.stack.isEmpty { $0.closeLast() } }
        }
        open(name, bindings: bindings, attributes)
    }

    /// Closes elements when a start tag whose declarations are already in force shows that they have ended.
    ///
    /// - Parameter bindings: The number of the tag's bindings.
    /// - Returns: The number of the tag's bindings without those of the closed elements.
    private mutating func close(
        before attributes: FeedAttributes, _ bindings: Int, _ close: (inout FeedReader) -> Void
    ) -> Int {
        names.drop(bindings)
        close(&self)
        return names.declare(attributes)
    }

    private mutating func open(_ name: FeedName, bindings: Int, _ attributes: FeedAttributes) {
        let rule = Self.rule(name, in: stack.scope)
        let base = attributes.value("xml:base").flatMap { url($0) }
        stack.push(ElementStack.Element(hash: name.hash, rule: rule, bindings: bindings), base: base)
        guard rule.role != .none else { return }
        let element = FeedRules.shared.elements[Int(rule.element)]
        endOfText = element.start(&self, attributes)
        guard endOfText != nil else { return }
        // Text without a type is HTML, although Atom specifies plain text, since many feeds omit the type of HTML.
        // Media RSS's `description` has a type, too.
        let isPlain = element.text == .html && ["text", "text/plain", "plain"].contains(attributes.type("type"))
        text.begin(at: stack.count - 1, element.text, isPlain: isPlain, limits: limits)
    }

    mutating func endElement(_ qualified: FeedBytes) {
        guard !stack.isRootClosed, !isStopped else { return }
        let hash = names.name(qualified).hash
        let found = stack.elements.lastIndex { $0.hash == hash }
        if let collected = text.elementIndex, found ?? -1 < collected, text.isVoid(ElementNames.local(of: qualified)) {
            return
        }
        guard let index = found else {
            if diagnosticLog.hasRoom { diagnose("an end tag </\(Self.excerpt(qualified))> has no start tag") }
            return
        }
        if index < stack.count - 1, diagnosticLog.hasRoom {
            diagnose("elements inside <\(Self.excerpt(qualified))> are not closed before it ends")
        }
        if let collected = text.elementIndex, index > collected { return endInsideText(index) }
        while stack.count > index { closeLast() }
    }

    mutating func characters(_ bytes: FeedBytes, isCDATA: Bool) {
        guard let collected = text.elementIndex else { return }
        let isMarkup = isCDATA || !text.isHTML || stack.count - 1 == collected
        text.append(bytes, isMarkup: isMarkup && !text.isPlain)
    }

    /// Finishes the document. An item that is still open is omitted, because its title may be incomplete, and an
    /// episode's file name is made from the title only once.
    mutating func finish() {
        if isInItem {
            diagnose("the document ends inside an item; that item is ignored")
            current.isOpen = false
            show.feed.isCut = true
        } else if isInsideRoot, !isStopped {
            diagnose("the document ends before its root element is closed")
            show.feed.isCut = true
        }
        show.finish()
        show.feed.diagnostics = diagnosticLog.diagnostics
    }

    /// Adds a diagnostic about a mistake in the document that the reader has corrected or skipped.
    mutating func diagnose(_ message: String, line: Int? = nil) { diagnosticLog.add(message, line: line) }

    /// Stops parsing, with a diagnostic.
    mutating func stop(_ message: String) {
        guard !isStopped else { return }
        diagnose(message)
        isStopped = true
        show.feed.isCut = true
    }

    /// Reports content after the end of the root element.
    mutating func diagnoseTail() { diagnosticLog.addOnce("content after the end of the root element is ignored") }

    // MARK: The stack

    private static func rule(_ name: FeedName, in scope: FeedScope) -> FeedRule {
        let rule = FeedRules.shared.rule(name.index, in: scope)
        return rule.isIgnored && name.fallback != 0 ? FeedRules.shared.rule(name.fallback, in: scope) : rule
    }

    /// Handles an element at the maximum depth.
    ///
    /// Such deep nesting usually means that elements were not closed. Items and subscriptions are therefore still
    /// processed. An item closes all elements around it except the feed. Everything else is skipped.
    ///
    /// - Returns: The number of elements that may stay open around the element; `nil` if it is skipped.
    private mutating func room(for name: FeedName, _ attributes: FeedAttributes) -> Int? {
        diagnoseDepth()
        let role = Self.rule(name, in: .nothing).role
        if role == .outline { startOutline(attributes) }
        guard role == .item,
            let index = stack.elements.lastIndex(where: { [.root, .channel, .feed].contains($0.rule.inside) }),
            index + 1 < limits.depth
        else { return nil }
        return index + 1
    }

    private mutating func diagnoseDepth() {
        diagnosticLog.addOnce("elements are nested deeper than \(limits.depth); those inside are ignored")
    }

    private mutating func closeLast() {
        if let collected = text.elementIndex, stack.count - 1 > collected { endInsideText(collected + 1) }
        let element = stack.pop()
        if stack.count == text.elementIndex {
            text.end()
            finishText()
        } else if element.rule.role == .item {
            finishItem()
        }
        names.drop(element.bindings)
    }

    private mutating func finishText() {
        guard let end = endOfText else { return }
        if !text.isCut {
            end(&self, text.buffer.contents)
        } else if text.kind == .url {
            diagnose("a URL is longer than \(text.limit) bytes and is ignored")
        } else {
            diagnose("a text is longer than \(text.limit) bytes and is cut")
            end(&self, UTF8Cleaner.wholeCharacters(text.buffer.contents))
        }
    }

    // MARK: Elements inside a text

    /// Returns whether an element inside collected text may be a part of it.
    private func isPart(_ name: FeedName) -> Bool {
        guard let collected = text.elementIndex else { return false }
        // Text that is not HTML contains no elements. If an element starts here that has a rule beside the text's
        // element, it is a sibling, and the text's element was not closed.
        let isSibling = !text.isHTML && Self.rule(name, in: stack.scope(around: collected)).role != .none
        return Self.rule(name, in: .nothing).role != .item && !isSibling
    }

    private mutating func addToText(
        _ name: FeedName, _ qualified: FeedBytes, bindings: Int, _ attributes: FeedAttributes
    ) {
        if stack.count >= limits.depth {
            diagnoseDepth()
        } else if text.startTag(ElementNames.local(of: qualified), attributes) {
            return stack.push(ElementStack.Element(hash: name.hash, rule: .ignore, bindings: bindings))
        }
        names.drop(bindings)
    }

    private mutating func endInsideText(_ index: Int) {
        while stack.count > index {
            names.drop(stack.pop().bindings)
            text.endTag()
        }
    }
}
