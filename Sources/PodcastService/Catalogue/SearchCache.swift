internal import TransferCore

/// The results of the last searches, so that looking again asks nobody. Pure; times are in seconds of any clock.
package struct SearchCache: Sendable {
    private struct Kept: Sendable {
        var entries: [CatalogueEntry]
        var stored: Int64
        /// The number of its last use, of `uses`.
        var used: Int
    }

    /// An hour: new shows do not come up faster in the catalogues.
    package static let lifetime: Int64 = 3_600
    /// Terms. With 200 entries of half a kilobyte each that is 10 MB at most.
    package static let capacity = 100

    private var kept: [SearchTerm: Kept] = [:]
    private var uses = 0

    package init() {}

    package var count: Int { kept.count }

    /// What was found for a term within the last hour; `nil` when it has to be asked for.
    package mutating func entries(for term: SearchTerm, now: Int64) -> [CatalogueEntry]? {
        guard let found = kept[term] else { return nil }
        guard Self.isFresh(found, now: now) else {
            kept[term] = nil
            return nil
        }
        uses += 1
        kept[term]?.used = uses
        return found.entries
    }

    /// The least private space of those that are kept and fit.
    func space(where fits: (CatalogueEntry) -> Bool) -> AddressSpace? {
        kept.values.flatMap(\.entries).filter(fits).compactMap(\.space).min()
    }

    /// Keeps results; none at all are a result, too. When it is full the term goes that was not used for longest.
    package mutating func store(_ entries: [CatalogueEntry], for term: SearchTerm, now: Int64) {
        kept = kept.filter { Self.isFresh($0.value, now: now) }
        if kept[term] == nil, kept.count >= Self.capacity, let oldest = kept.min(by: { $0.value.used < $1.value.used })
        {
            kept[oldest.key] = nil
        }
        uses += 1
        kept[term] = Kept(entries: entries, stored: now, used: uses)
    }

    /// A result from the future is of a clock that was set back: nothing is known of its age.
    private static func isFresh(_ kept: Kept, now: Int64) -> Bool {
        kept.stored <= now && now - kept.stored < lifetime
    }
}
