package import PodcastFeed

/// What tells one episode from another, of an item in a document or of a row in the library.
package struct IdentityFacts: Sendable, Equatable {
    package var guid: String?
    package var url: String
    package var title: String?
    package var published: PublicationDate?
    /// MIME type as the feed says it.
    package var type: String?
    /// Seconds.
    package var duration: Double?

    package init(
        guid: String? = nil, url: String, title: String? = nil, published: PublicationDate? = nil,
        type: String? = nil, duration: Double? = nil
    ) {
        self.guid = guid
        self.url = url
        self.title = title
        self.published = published
        self.type = type
        self.duration = duration
    }
}

/// Decides which items of a document are episodes that the library knows. Pure; linear in items and rows.
///
/// Every item is paired with at most one row and every row with at most one item, so that two items of a document are
/// never one episode. The stronger sign is asked first, over the whole document, and what it pairs is out of the game:
///
/// 1. the guid, where it is unique;
/// 2. a guid that several share (broken generators give one to all), together with URL;
/// 3. the media URL, where it is unique, else together with title and day;
/// 4. the media URL without its query, where that is unique and title or day agree (tokens that rotate), or both
///    where there is no other file name;
/// 5. title and second, then title and day of publication, with a guid that several share, or with the same kind of
///    media and nearly the same duration (an episode issued anew).
///
/// From 2 on a row is considered only because nothing stronger found it in the document: it is absent from it.
package struct Identity {
    /// Seconds by which the durations of one episode issued twice may differ: other advertisements.
    static let durationTolerance = 600.0

    /// For each item the index of its row, or `nil` when it is new.
    package static func match(items: [IdentityFacts], rows: [IdentityFacts]) -> [Int?] {
        guard !rows.isEmpty else { return Array(repeating: nil, count: items.count) }
        var matching = Identity(items: items, rows: rows)
        matching.run()
        return matching.rowOfItem
    }

    /// Facts in the form in which they are compared.
    private struct Derived {
        /// Without scheme (a move to https is no new file) and fragment.
        var url: String
        /// Without query, too.
        var path: String
        /// What follows the last slash of `path`.
        var fileName: Substring { path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[$0...] } ?? path[...] }
        /// Letters and digits only, case folded; `nil` when nothing is left or it says nothing.
        var title: String?
        var day: CalendarDay?
        var seconds: Int64?
        var major: MediaType.Major?
        var duration: Double?
        var guid: String?
        /// Whether the guid is the media URL once more: then it changes with it, and says no more than it.
        var repeatsURL: Bool

        init(_ facts: IdentityFacts) {
            guid = Identity.guid(facts)
            url = Identity.comparable(url: facts.url)
            repeatsURL = guid.map { Identity.comparable(url: $0) } == url
            path = String(url.prefix { $0 != "?" })
            title = Identity.canonical(title: facts.title)
            day = facts.published.flatMap(CalendarDay.init)
            seconds = facts.published?.seconds
            major = MediaType(type: facts.type, url: facts.url).major
            duration = facts.duration
        }
    }

    private struct Key: Hashable {
        var first: String
        var second: String
        /// Two unknown dates are equal.
        var number: Int64?

        init(first: String, second: String = "", _ number: Int64? = nil) {
            self.first = first
            self.second = second
            self.number = number
        }
    }

    private struct Group {
        var items = 0
        var rows: [Int] = []
        /// How many of `rows` were looked at.
        var used = 0
    }

    private let items: [IdentityFacts]
    private let rows: [IdentityFacts]
    private var rowOfItem: [Int?]
    private var isRowFree: [Bool]
    private var freeItems: Int
    private var freeRows: Int

    private init(items: [IdentityFacts], rows: [IdentityFacts]) {
        self.items = items
        self.rows = rows
        rowOfItem = Array(repeating: nil, count: items.count)
        isRowFree = Array(repeating: true, count: rows.count)
        freeItems = items.count
        freeRows = rows.count
    }

    private mutating func run() {
        pair(items, rows, uniqueOnly: true) { Self.guid($0).map { Key(first: $0) } }
        guard freeItems > 0, freeRows > 0 else { return }

        let items = items.map(Derived.init)
        let rows = rows.map(Derived.init)

        // 2. A shared guid, never alone.
        pair(items, rows, uniqueOnly: false) { facts in
            facts.guid.map { Key(first: $0, second: facts.url + "\n" + (facts.title ?? ""), facts.seconds) }
        }
        pair(items, rows, uniqueOnly: true) { facts in
            facts.guid.map { Key(first: $0, second: facts.url) }
        }

        // 3. The URL.
        pair(items, rows, uniqueOnly: false) { facts in
            guard facts.title != nil || facts.seconds != nil || facts.guid == nil else { return nil }
            return Key(first: facts.url, second: facts.title ?? "", facts.seconds)
        }
        pair(items, rows, uniqueOnly: true) { Key(first: $0.url) }
        pair(items, rows, uniqueOnly: true) { facts in
            Key(first: facts.url, second: facts.title ?? "", facts.day?.number)
        }

        // 4. The URL without its query. A script that tells episodes apart by the query serves them all by one name, so
        // where there is one file name only, it proves nothing: then title and day must both agree, else one of them.
        // Two guids that differ are a sign against it.
        guard freeItems > 0, freeRows > 0 else { return }
        let hasSeveralNames = Self.hasSeveralFileNames(rows) || Self.hasSeveralFileNames(items)
        pair(items, rows, uniqueOnly: true, by: { Key(first: $0.path) }) { item, row in
            if let one = item.guid, let other = row.guid, one != other, !item.repeatsURL || !row.repeatsURL {
                return false
            }
            let (isSameTitle, isSameDay) = (item.title == row.title, item.day == row.day)
            if hasSeveralNames { return (isSameTitle && item.title != nil) || (isSameDay && item.day != nil) }
            return isSameTitle && isSameDay && (item.title != nil || item.day != nil)
        }

        // 5. Title and time. The second before the day: where dates are written in another zone all at once, an episode
        // gets the day that another had. A shared guid helps where a title is shared, too.
        pair(items, rows, uniqueOnly: true) { facts in facts.guid.flatMap { Self.titleAndSecond(facts, $0) } }
        pair(items, rows, uniqueOnly: true, by: { Self.titleAndSecond($0) }, if: Self.isSameMedia)
        pair(items, rows, uniqueOnly: true) { facts in facts.guid.flatMap { Self.titleAndDay(facts, $0) } }
        pair(items, rows, uniqueOnly: true, by: { Self.titleAndDay($0) }, if: Self.isSameMedia)
        // Several of one title in one second: what is left is their order.
        pair(items, rows, uniqueOnly: false, by: { Self.titleAndSecond($0) }, if: Self.isSameMedia)
    }

    private static func hasSeveralFileNames(_ facts: [Derived]) -> Bool {
        guard let first = facts.first?.fileName else { return false }
        return facts.contains { $0.fileName != first }
    }

    private static func titleAndSecond(_ facts: Derived, _ guid: String = "") -> Key? {
        guard let title = facts.title, let seconds = facts.seconds, facts.day != nil else { return nil }
        return Key(first: title, second: guid, seconds)
    }

    private static func titleAndDay(_ facts: Derived, _ guid: String = "") -> Key? {
        guard let title = facts.title, let day = facts.day else { return nil }
        return Key(first: title, second: guid, day.number)
    }

    private static func isSameMedia(_ item: Derived, _ row: Derived) -> Bool {
        if let one = item.major, let other = row.major, one != other { return false }
        if let one = item.duration, let other = row.duration, abs(one - other) > durationTolerance { return false }
        return true
    }

    /// Pairs free items with free rows of the same key.
    ///
    /// - Parameters:
    ///   - uniqueOnly: whether the key must be that of one item and one row only, counting those already paired.
    ///     Otherwise items and rows of one key are paired in their order.
    ///   - isSame: a further condition.
    private mutating func pair<Facts>(
        _ items: [Facts], _ rows: [Facts], uniqueOnly: Bool, by key: (Facts) -> Key?,
        if isSame: (Facts, Facts) -> Bool = { _, _ in true }
    ) {
        guard freeItems > 0, freeRows > 0 else { return }
        var groups: [Key: Group] = [:]
        groups.reserveCapacity(rows.count)
        for (index, row) in rows.enumerated() where uniqueOnly || isRowFree[index] {
            if let key = key(row) { groups[key, default: Group()].rows.append(index) }
        }
        let itemKeys = items.map(key)
        if uniqueOnly {
            for case .some(let key) in itemKeys { groups[key]?.items += 1 }
        }
        for (index, itemKey) in itemKeys.enumerated() where rowOfItem[index] == nil {
            guard let itemKey, let group = groups[itemKey] else { continue }
            if uniqueOnly, group.items != 1 || group.rows.count != 1 { continue }
            guard group.used < group.rows.count else { continue }
            let row = group.rows[group.used]
            guard isRowFree[row], isSame(items[index], rows[row]) else { continue }
            groups[itemKey]?.used += 1
            rowOfItem[index] = row
            isRowFree[row] = false
            freeItems -= 1
            freeRows -= 1
        }
    }

    /// The guid without outer space; an empty one is none.
    private static func guid(_ facts: IdentityFacts) -> String? {
        guard let guid = facts.guid else { return nil }
        if let first = guid.utf8.first, let last = guid.utf8.last, first > 0x20, last > 0x20 { return guid }
        let trimmed = FileName.trimmedSpace(guid)
        return trimmed.isEmpty ? nil : trimmed
    }

    static func comparable(url: String) -> String {
        var rest = Substring(url)
        for scheme in ["https://", "http://"] where rest.lowercased().hasPrefix(scheme) {
            rest = rest.dropFirst(scheme.count)
            break
        }
        return String(rest.prefix { $0 != "#" })
    }

    /// The title as two spellings of it are compared: `Ep. 12 – Hello!` and `ep 12: hello` are one.
    static func canonical(title: String?) -> String? {
        guard let title else { return nil }
        let letters = FileName.folded(title).filter { $0.isLetter || $0.isNumber }
        // Titles of symbols only are compared as they are.
        let result = letters.isEmpty ? FileName.trimmedSpace(title) : letters
        return result.isEmpty || result == "untitled" ? nil : result
    }
}
