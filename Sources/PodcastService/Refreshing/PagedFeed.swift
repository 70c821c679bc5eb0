package import PodcastFeed

/// A feed in pages (RFC 5005 §3), followed from the first by `rel="next"` and joined into one. Pure: the caller fetches
/// what `next` names and hands it to `append`.
///
/// The pages behind the first are old episodes, which a regular refresh does without.
package struct PagedFeed: Sendable {
    package enum Occasion: Sendable, Equatable {
        case subscription
        /// A person asked for this show.
        case request
        case schedule
    }

    /// A hundred pages are a show of 10,000 episodes at the 100 a page that hosting companies serve.
    private static let pageLimit = 100

    private let limits: FeedLimits
    private let first: FeedAddress?
    /// All pages so far as one document: the facts of the first page, the items of all. `next` is where it goes on, or
    /// `nil` when it is whole.
    package private(set) var feed: Feed
    /// The next page to fetch; `nil` when there is none or it is not to be followed.
    package private(set) var next: String?
    private var pages = 1
    private var visited: Set<String>
    private var seen: Set<String> = []

    /// - Parameters:
    ///   - feed: the first page.
    ///   - url: where it came from, after redirects.
    package init(_ feed: Feed, from url: String, for occasion: Occasion, limits: FeedLimits = .standard) {
        self.limits = limits
        self.feed = feed
        first = FeedAddress(url)
        visited = Set([first?.key].compactMap(\.self))
        guard occasion != .schedule, feed.next != nil else { return }
        for item in feed.items { seen.formUnion(Self.keys(of: item)) }
        follow(feed.next)
    }

    /// Whether all items of the show are there: then an episode that is missing has left the feed.
    package var isWhole: Bool { feed.next == nil && !feed.isCut }

    /// Adds a page.
    ///
    /// - Parameters:
    ///   - page: the document found at `next`.
    ///   - url: where it came from, after redirects.
    package mutating func append(_ page: Feed, from url: String) {
        guard next != nil else { return }
        next = nil
        pages += 1
        if let address = FeedAddress(url) { visited.insert(address.key) }
        var fresh: [Item] = []
        var keys: Set<String> = []
        // Two items of one document are never one, so a page is compared with those before it only.
        for item in page.items {
            let own = Self.keys(of: item)
            keys.formUnion(own)
            if own.isDisjoint(with: seen) { fresh.append(item) }
        }
        seen.formUnion(keys)
        let room = max(0, limits.items - feed.items.count)
        feed.items += fresh.prefix(room)
        for diagnostic in page.diagnostics where feed.diagnostics.count < limits.diagnostics {
            feed.diagnostics.append(diagnostic)
        }
        feed.next = page.next
        feed.isCut = feed.isCut || page.isCut
        if fresh.count > room || (feed.items.count >= limits.items && page.next != nil) {
            return stop("the pages hold more than \(limits.items) items; the rest is left out")
        }
        // A server that does not know its own page number gives the same page for ever.
        guard !fresh.isEmpty || page.next == nil else {
            return stop("page \(pages) holds nothing new; the pages after it are left out")
        }
        follow(page.next)
    }

    /// The page could not be fetched: what is there stays, and the feed is not whole.
    package mutating func fail(_ message: String) {
        guard next != nil else { return }
        stop("page \(pages + 1): \(message); the pages from there on are left out")
    }

    private mutating func follow(_ text: String?) {
        guard let text else { return }
        guard pages < Self.pageLimit else {
            return stop("there are more than \(Self.pageLimit) pages; the rest is left out")
        }
        guard let first, var address = FeedAddress(text), !address.hasUserInfo else {
            return stop("the address of page \(pages + 1) cannot be used; the pages from there on are left out")
        }
        // Behind a proxy, servers write their pages' addresses with the scheme they were asked by inside.
        if address.host == first.host, first.isSecure, let secured = address.secured { address = secured }
        let isTrusted = address.host == first.host ? address.isSecure || !first.isSecure : address.isSecure
        guard isTrusted else {
            return stop("page \(pages + 1) is on another host without https; the pages from there on are left out")
        }
        guard visited.insert(address.key).inserted else {
            return stop("the pages go in a circle at page \(pages + 1)")
        }
        next = address.text
    }

    private mutating func stop(_ message: String) {
        next = nil
        // A full list is the parser's doing: this is worth more than its last entry.
        if feed.diagnostics.count >= limits.diagnostics { feed.diagnostics.removeLast() }
        feed.diagnostics.append(Diagnostic(line: 0, message: message))
    }

    /// What an item has in common with the same item on another page, where it stands when an episode was published
    /// between two fetches: its guid, and one sign more, since broken generators give all items one guid.
    private static func keys(of item: Item) -> Set<String> {
        let url = item.enclosures.first?.url
        guard let guid = item.guid else {
            if let url { return ["u " + url] }
            guard let title = item.title else { return [] }
            return ["t \(item.published?.seconds ?? 0) \(title)"]
        }
        var keys: Set<String> = []
        if let published = item.published { keys.insert("d \(published.seconds) \(guid)") }
        if let url { keys.insert("p \(url.prefix { $0 != "?" })\n\(guid)") }
        if keys.isEmpty { keys.insert("g \(item.title ?? "")\n\(guid)") }
        return keys
    }
}
