internal import Platform
package import PodcastFeed

/// The facts that identify an episode, from an item of a document or from a row of the library.
package struct EpisodeIdentity: Sendable, Equatable {
    package var guid: String?
    package var url: String
    package var title: String?
    package var published: PublicationDate?
    /// The MIME type according to the feed.
    package var type: String?
    /// The duration in seconds.
    package var duration: Double?
}

/// A matching of the items of a feed document with the library's rows of known episodes. It performs no I/O, and its
/// time is linear in the number of items and rows.
///
/// Every item is matched with at most one row and every row with at most one item, so that two items of a document are
/// never matched with the same episode. The criteria are applied in this order, each to the whole document. Items and
/// rows that one criterion has matched are excluded from the following criteria:
///
/// 1. the guid, where it is unique;
/// 2. a guid that several items or rows share (broken generators assign one guid to all items), together with the URL;
/// 3. the media URL: together with title and time, then alone if it is unique, then together with title and day;
/// 4. the media URL without its query (which may be a token that changes), if that URL is unique and title or day
/// agree; both must agree if all URLs have the same file name;
/// 5. title and second of publication, then title and day, with an equal guid, or with the same kind of media and
/// nearly the same duration (a reissued episode).
///
/// Matched items and rows still count when a criterion requires a unique value.
package struct EpisodeMatcher {
    /// The maximum difference in seconds between the durations of a reissued episode, due to other advertisements.
    static let durationTolerance = 600.0

    /// Returns for each item the index of its row, or `nil` if the episode is new.
    ///
    /// - Parameter isDelta: Whether the items are only the new ones of a document. A row without an item may then still
    ///   be in the document, and criteria 4 and 5, which assume that it is not, are not applied.
    package static func match(items: [EpisodeIdentity], rows: [EpisodeIdentity], isDelta: Bool = false) -> [Int?] {
        guard !rows.isEmpty else { return Array(repeating: nil, count: items.count) }
        var matching = EpisodeMatcher(items: items, rows: rows)
        matching.run(isDelta: isDelta)
        return matching.rowOfItem
    }

    /// Facts normalized for comparison.
    private struct Derived {
        /// The URL without scheme (a move to https is not a new file) and fragment.
        var url: String
        /// `url` without the query.
        var path: String
        /// The last component of `path`, with its slash.
        var fileName: Substring { path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[$0...] } ?? path[...] }
        /// The letters and digits of the title, case folded, or the whole title if it has neither; `nil` if the title
        /// is empty or a placeholder.
        var title: String?
        /// The number of the day of publication.
        var day: Int64?
        var seconds: Int64?
        var major: MediaType.Major?
        var duration: Double?
        var guid: String?
        /// Whether the guid equals the media URL. Such a guid changes with the URL, and is no additional evidence.
        var repeatsURL: Bool

        init(_ facts: EpisodeIdentity) {
            guid = facts.guid
            url = EpisodeMatcher.comparable(url: facts.url)
            repeatsURL = guid.map { EpisodeMatcher.comparable(url: $0) } == url
            path = String(url.prefix { $0 != "?" })
            title = EpisodeMatcher.canonical(title: facts.title)
            day = facts.published?.day?.number
            seconds = facts.published?.seconds
            major = MediaType(type: facts.type, url: facts.url).major
            duration = facts.duration
        }
    }

    /// The values that an item and its row have in common.
    private struct Key: Hashable {
        var first: String
        var second = ""
        /// The second or the day of publication, depending on the criterion. Two unknown times count as equal.
        var number: Int64?
    }

    /// The rows with the same key, and the number of items that have it.
    private struct Group {
        var items = 0
        var rows: [Int] = []
        /// The number of `rows` that are matched; the next one is the candidate.
        var used = 0
    }

    private let items: [EpisodeIdentity]
    private let rows: [EpisodeIdentity]
    private var rowOfItem: [Int?]
    private var isRowFree: [Bool]
    private var matched = 0

    private init(items: [EpisodeIdentity], rows: [EpisodeIdentity]) {
        self.items = items
        self.rows = rows
        rowOfItem = Array(repeating: nil, count: items.count)
        isRowFree = Array(repeating: true, count: rows.count)
    }

    /// Whether there are items and rows without a match.
    private var hasFree: Bool { matched < min(items.count, rows.count) }

    private mutating func run(isDelta: Bool) {
        pair(items, rows, uniqueOnly: true) { $0.guid.map { Key(first: $0) } }
        guard hasFree else { return }

        let items = items.map(Derived.init)
        let rows = rows.map(Derived.init)

        // 2. A guid that several items or rows share, only together with the URL.
        pair(items, rows, uniqueOnly: false) { facts in
            facts.guid.map { Key(first: $0, second: facts.url + "\n" + (facts.title ?? ""), number: facts.seconds) }
        }
        pair(items, rows, uniqueOnly: true) { facts in
            facts.guid.map { Key(first: $0, second: facts.url) }
        }

        // 3. The URL.
        pair(items, rows, uniqueOnly: false) { facts in
            guard facts.title != nil || facts.seconds != nil || facts.guid == nil else { return nil }
            return Key(first: facts.url, second: facts.title ?? "", number: facts.seconds)
        }
        pair(items, rows, uniqueOnly: true) { Key(first: $0.url) }
        pair(items, rows, uniqueOnly: true) { facts in
            Key(first: facts.url, second: facts.title ?? "", number: facts.day)
        }

        // 4. The URL without its query. A script that distinguishes episodes by the query serves all of them under one
        // file name, so a single file name proves nothing, and title and day must then both agree. Otherwise one of the
        // two suffices. Two different guids rule the match out, unless each of them equals its media URL.
        guard hasFree, !isDelta else { return }
        let hasSeveralNames = Self.hasSeveralFileNames(rows) || Self.hasSeveralFileNames(items)
        pair(items, rows, uniqueOnly: true, by: { Key(first: $0.path) }) { item, row in
            if let one = item.guid, let other = row.guid, one != other, !item.repeatsURL || !row.repeatsURL {
                return false
            }
            let (isSameTitle, isSameDay) = (item.title == row.title, item.day == row.day)
            if hasSeveralNames { return (isSameTitle && item.title != nil) || (isSameDay && item.day != nil) }
            return isSameTitle && isSameDay && (item.title != nil || item.day != nil)
        }

        // 5. Title and time. The second is compared before the day: if a feed changes the time zone of all its dates,
        // an episode may get the day of another one. Keys with the guid come first: even a guid that several episodes
        // share may distinguish episodes with equal titles.
        for time in [\Derived.seconds, \Derived.day] {
            pair(items, rows, uniqueOnly: true) { facts in facts.guid.flatMap { Self.key(facts, time, $0) } }
            pair(items, rows, uniqueOnly: true, by: { Self.key($0, time) }, if: Self.isSameMedia)
        }
        // Several episodes with the same title and second can be distinguished only by their order.
        pair(items, rows, uniqueOnly: false, by: { Self.key($0, \.seconds) }, if: Self.isSameMedia)
    }

    private static func hasSeveralFileNames(_ facts: [Derived]) -> Bool {
        guard let first = facts.first?.fileName else { return false }
        return facts.contains { $0.fileName != first }
    }

    /// Returns the title with the second or the day of publication.
    private static func key(_ facts: Derived, _ time: KeyPath<Derived, Int64?>, _ guid: String = "") -> Key? {
        guard let title = facts.title, let number = facts[keyPath: time], facts.day != nil else { return nil }
        return Key(first: title, second: guid, number: number)
    }

    private static func isSameMedia(_ item: Derived, _ row: Derived) -> Bool {
        if let one = item.major, let other = row.major, one != other { return false }
        if let one = item.duration, let other = row.duration, abs(one - other) > durationTolerance { return false }
        return true
    }

    /// Matches free items with free rows by equal keys.
    ///
    /// - Parameters:
    ///   - uniqueOnly: Whether the key must occur in one item and one row only, including matched ones. Otherwise items
    ///     and rows with one key are matched in their order.
    ///   - isSame: A further condition.
    private mutating func pair<Facts>(
        _ items: [Facts], _ rows: [Facts], uniqueOnly: Bool, by key: (Facts) -> Key?,
        if isSame: (Facts, Facts) -> Bool = { _, _ in true }
    ) {
        guard hasFree else { return }
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
            matched += 1
        }
    }

    static func comparable(url: String) -> String {
        var rest = Substring(url)
        for scheme in ["https://", "http://"] where rest.lowercased().hasPrefix(scheme) {
            rest = rest.dropFirst(scheme.count)
            break
        }
        return String(rest.prefix { $0 != "#" })
    }

    /// Normalizes a title for comparison: `Ep. 12 – Hello!` and `ep 12: hello` become equal.
    static func canonical(title: String?) -> String? {
        guard let title else { return nil }
        let letters = FileName.folded(title).filter { $0.isLetter || $0.isNumber }
        // Titles without letters or digits are compared unchanged.
        let result = letters.isEmpty ? FileName.trimmedSpace(title) : letters
        return result.isEmpty || result == "untitled" ? nil : result
    }
}
