internal import Platform
internal import PodcastProtocol
internal import Transfers

/// The results of recent searches, so that a repeated search needs no request. Does no I/O, and reads no clock.
struct SearchCache: Sendable {
    /// A catalogue, the number of entries requested from it, and the term.
    struct Key: Hashable {
        var catalogue: String
        var count: Int
        var term: SearchTerm
    }

    private struct Kept: Sendable {
        var entries: [FoundShow]
        var stored: Instant
        /// The value of `uses` at the last use.
        var used: Int
    }

    /// Lifetime of a result: an hour, since catalogues do not list new shows faster.
    static let lifetime = Duration.seconds(3_600)
    /// Maximum number of searches: at 200 entries of half a kilobyte each, at most 10 MB.
    static let capacity = 100

    private var kept: [Key: Kept] = [:]
    /// The number of uses of any search, to order searches by last use.
    private var uses = 0

    var count: Int { kept.count }

    /// Returns the results of a search from the last hour; `nil` if there are none.
    mutating func entries(for key: Key, now: Instant) -> [FoundShow]? {
        guard let found = kept[key] else { return nil }
        guard Self.isFresh(found, now: now) else {
            kept[key] = nil
            return nil
        }
        uses += 1
        kept[key]?.used = uses
        return found.entries
    }

    /// Returns the least private address space of the cached entries that match.
    func space(where fits: (FoundShow) -> Bool) -> AddressSpace? {
        kept.values.flatMap(\.entries).filter(fits).compactMap(\.space).min()
    }

    /// Stores results; an empty list is a result, too. Removes the least recently used search when full.
    mutating func store(_ entries: [FoundShow], for key: Key, now: Instant) {
        kept = kept.filter { Self.isFresh($0.value, now: now) }
        if kept[key] == nil, kept.count >= Self.capacity, let oldest = kept.min(by: { $0.value.used < $1.value.used }) {
            kept[oldest.key] = nil
        }
        uses += 1
        kept[key] = Kept(entries: entries, stored: now, used: uses)
    }

    private static func isFresh(_ kept: Kept, now: Instant) -> Bool { now - kept.stored < lifetime }
}
