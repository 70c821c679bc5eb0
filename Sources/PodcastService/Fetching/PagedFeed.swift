internal import Platform
internal import PodcastFeed

/// A paged feed (RFC 5005 §3), followed from the first page by `rel="next"` and merged into one document. Does no I/O:
/// the caller fetches `next` and passes the page to `append`.
///
/// Further pages contain old episodes, which a regular refresh does not need.
struct PagedFeed: Sendable {
    /// The reason for a fetch, which determines whether further pages are fetched.
    enum Occasion: Sendable, Equatable {
        case subscription
        /// A person asked for a refresh of this show. A refresh of all shows counts as `schedule`.
        case request
        case schedule
    }

    /// Maximum number of pages: a hundred hold 10,000 episodes at the 100 per page that hosting companies serve.
    private static let pageLimit = 100

    private let limits: FeedLimits
    private let first: WebAddress?
    /// The pages appended so far, merged into one document: the metadata of the first page, the items of all. Its own
    /// `next` is the address of the following page, even if that is not fetched; `nil` if there is none.
    private(set) var feed: Feed
    /// The next page to fetch; `nil` if there is none or it is not to be followed.
    private(set) var next: String?
    /// The maximum size of the next page in bytes. All pages together have at most `limits.bytes`, so that they need no
    /// more memory than one large document. A page that exceeds it is truncated, and later pages are not fetched; then
    /// `feed.isWhole` is `false`.
    private(set) var room: Int
    /// The reason why a further page was not fetched or was ignored; `nil` if there is none.
    private(set) var problem: String?
    private var pages = 1
    /// The keys of the pages' addresses, to detect loops.
    private var visited: Set<String>
    /// The keys of the items on all pages so far.
    private var seen: Set<String> = []

    /// - Parameters:
    ///   - feed: the first page.
    ///   - size: the number of bytes that were parsed of its document.
    ///   - url: its address, after redirects.
    init(
        _ feed: Feed, size: Int = 0, from url: String, for occasion: Occasion, limits: FeedLimits = .standard
    ) {
        self.limits = limits
        self.feed = feed
        room = max(0, limits.bytes - size)
        first = try? WebAddress(url)
        visited = Set([first?.key].compactMap(\.self))
        guard occasion != .schedule, feed.next != nil else { return }
        for item in feed.items { seen.formUnion(Self.keys(of: item)) }
        follow(feed.next)
    }

    /// Adds a page, and determines the next page to fetch. Does nothing if `next` is `nil`.
    ///
    /// - Parameters:
    ///   - page: the document at `next`, parsed up to `room` bytes.
    ///   - size: the number of bytes that were parsed of the document.
    ///   - url: its address, after redirects.
    mutating func append(_ page: Feed, size: Int = 0, from url: String) {
        guard next != nil else { return }
        next = nil
        pages += 1
        room = max(0, room - size)
        if let address = try? WebAddress(url) { visited.insert(address.key) }
        var fresh: [Item] = []
        var keys: Set<String> = []
        // Two items of one document are different items even if their keys are equal. So compare the page only with
        // earlier pages.
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
        feed.isCut = feed.isCut || page.isCut || fresh.count > room
        if fresh.count > room || (feed.items.count >= limits.items && page.next != nil) {
            return stop("the pages have more than \(limits.items) items; the rest is ignored")
        }
        // A server that ignores the page number returns the same page forever.
        guard !fresh.isEmpty || page.next == nil else {
            return stop("page \(pages) has no new items; later pages are ignored")
        }
        follow(page.next)
    }

    /// Records that the page at `next` could not be fetched. The items of earlier pages stay, and `feed.isWhole` is
    /// `false`.
    mutating func fail(_ message: String) {
        guard next != nil else { return }
        stop("page \(pages + 1): \(message); that page and later ones are ignored")
    }

    private mutating func follow(_ text: String?) {
        guard let text else { return }
        guard pages < Self.pageLimit else {
            return stop("there are more than \(Self.pageLimit) pages; the rest is ignored")
        }
        guard room > 0 else { return stop("the pages are larger than \(limits.bytes) bytes; the rest is ignored") }
        guard let first, var address = try? WebAddress(text), !address.hasUserInfo else {
            return stop("the address of page \(pages + 1) cannot be used; that page and later ones are ignored")
        }
        // A server behind a proxy may write page addresses with the scheme used internally.
        if address.host == first.host, first.isSecure, let secured = address.secured { address = secured }
        let isTrusted = address.host == first.host ? address.isSecure || !first.isSecure : address.isSecure
        guard isTrusted else {
            return stop("page \(pages + 1) is on another host without https; that page and later ones are ignored")
        }
        guard visited.insert(address.key).inserted else { return stop("the pages form a loop at page \(pages + 1)") }
        next = address.text
    }

    /// Follows no further page, and reports why.
    private mutating func stop(_ message: String) {
        next = nil
        problem = message
        // If the list is full, replace its last entry: this message is more important.
        if feed.diagnostics.count >= limits.diagnostics { feed.diagnostics.removeLast() }
        feed.diagnostics.append(Diagnostic(line: 0, message: message))
    }

    /// Returns the keys by which an item is recognized on another page. An item appears on two pages if an episode is
    /// published between the fetches of these pages.
    ///
    /// Each key of an item with a guid combines the guid with one more property, since broken generators use one guid
    /// for all items. The key of an item without a guid is its media URL, or its date and title if it has no media.
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
