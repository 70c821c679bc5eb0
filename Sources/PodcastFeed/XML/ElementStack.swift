/// The elements whose end tags have not come, outermost first.
///
/// XML's parsers, when told to recover, close whatever is open at an end tag of any name, so that one stray `</p>` would
/// end an item and the next would end the channel. Here an end tag closes the nearest open element of its name, and what
/// stands inside; one without a partner is passed over.
struct ElementStack {
    struct Element {
        /// Of the local name.
        var hash: UInt32
        var rule: FeedRule
        /// Whether an `xml:base` stood in its tag.
        var hasBase = false
        /// Namespace bindings that end with it.
        var bindings = 0
    }

    private(set) var elements: [Element] = []
    /// The addresses that relative references are relative to, the last of which is in force.
    private var bases: [String]
    /// The local name of the root element, once there was one.
    private(set) var root: String?
    private(set) var isRootClosed = false
    /// What the root element says.
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
    /// Where the next element would stand.
    var scope: FeedScope { elements.last?.rule.inside ?? .document }

    /// Where the element at a place stands.
    func scope(around place: Int) -> FeedScope {
        place > 0 ? elements[place - 1].rule.inside : .document
    }

    mutating func push(_ element: Element, base: String? = nil) {
        var element = element
        if let base {
            bases.append(base)
            element.hasBase = true
        }
        if elements.isEmpty {
            kind = element.rule.handler == .none ? .other : element.rule.handler == .opml ? .subscriptions : .feed
        }
        elements.append(element)
    }

    mutating func pop() -> Element {
        let element = elements.removeLast()
        if element.hasBase { bases.removeLast() }
        if elements.isEmpty { isRootClosed = true }
        return element
    }

    mutating func setRoot(_ name: FeedBytes) {
        root = String(decoding: name, as: UTF8.self)
    }
}
