/// The open elements, outermost first.
///
/// XML parsers in recovery mode close the innermost element at any end tag, so that one stray `</p>` would close an
/// item and a second one the channel. Here an end tag closes the innermost open element with its local name, and the
/// elements inside it; an end tag without a match is ignored.
struct ElementStack {
    struct Element {
        /// The hash of the local name.
        var hash: UInt32
        var rule: FeedRule
        /// Whether the start tag has an `xml:base`.
        var hasBase = false
        /// The number of namespace bindings that end with the element.
        var bindings = 0
    }

    private(set) var elements: [Element] = []
    /// The document's base URL and those of the open elements with `xml:base`; the last is in force.
    private var bases: [String]
    /// The local name of the root element; `nil` before it.
    var root: String?
    private(set) var isRootClosed = false
    /// The type of the root element.
    private(set) var kind = Kind.other

    enum Kind {
        case feed, subscriptions, other
    }

    init(base: String?) {
        bases = base.map { [$0] } ?? []
        elements.reserveCapacity(32)
    }

    var count: Int { elements.count }
    var isEmpty: Bool { elements.isEmpty }
    var base: String? { bases.last }
    /// The scope of the next element to be opened: the context that determines what the element means.
    var scope: FeedScope { elements.last?.rule.inside ?? .document }

    /// Returns the scope of the element at `index`, which its parent determines.
    func scope(around index: Int) -> FeedScope { index > 0 ? elements[index - 1].rule.inside : .document }

    mutating func push(_ element: Element, base: String? = nil) {
        var element = element
        if let base {
            bases.append(base)
            element.hasBase = true
        }
        if elements.isEmpty {
            kind = element.rule.role == .none ? .other : element.rule.role == .opml ? .subscriptions : .feed
        }
        elements.append(element)
    }

    mutating func pop() -> Element {
        let element = elements.removeLast()
        if element.hasBase { bases.removeLast() }
        if elements.isEmpty { isRootClosed = true }
        return element
    }
}
