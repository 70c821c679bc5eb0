import PodcastFeed
import PodcastLibrary
import PodcastProtocol
import Transfers

/// The rows that the library should have for a show.
///
/// The library has to guess which items of two versions of a feed are the same episode. This model knows it from the
/// `identity` in `Said`, the data of one item in a feed of the test.
struct ExpectedLibrary {
    /// An expected row; the key in `entries` is the identity of its item.
    struct Entry {
        /// The data of the item in the last feed that contained it.
        var said: Said
        let firstSeen: Int64
        var changed: Int64
        /// Whether the feed still contains the item.
        var listed = true
        /// Whether the row was hidden from all listings.
        var buried = false
        /// The confirmed size in bytes.
        var confirmed: Int64?
        /// The id and the name that the library assigned to the row, which must not change.
        var id: EpisodeID?
        var name: String?
    }

    /// The expected result of a merge.
    struct Change: Equatable {
        var inserted: Set<Int> = []
        var updated: Set<Int> = []
        var unlisted: Set<Int> = []
    }

    /// A difference between the library and the expectation, and the episode concerned.
    struct Mistake: Error {
        var identity: Int?
        var text: String
    }

    private(set) var entries: [Int: Entry] = [:]

    mutating func merge(_ items: [Said], isWhole: Bool, now: Int64) -> Change {
        var change = Change()
        for said in items {
            guard var row = entries[said.identity] else {
                entries[said.identity] = Entry(said: said, firstSeen: now, changed: now)
                change.inserted.insert(said.identity)
                continue
            }
            let returns = row.buried && !row.listed
            if !row.said.isSame(as: said) || !row.listed { change.updated.insert(said.identity) }
            if !row.said.looksSame(as: said) || returns { row.changed = now }
            if returns { row.buried = false }
            // The feed now describes another file, so the confirmed size no longer applies.
            let hasOtherLength = row.said.length != nil && said.length != nil && row.said.length != said.length
            if hasOtherLength || row.said.place != said.place { row.confirmed = nil }
            row.listed = true
            row.said = said
            entries[said.identity] = row
        }
        guard isWhole else { return change }
        let present = Set(items.map(\.identity))
        for (identity, row) in entries where row.listed && !present.contains(identity) {
            entries[identity]?.listed = false
            if !row.buried { change.unlisted.insert(identity) }
        }
        return change
    }

    mutating func bury(_ identity: Int, now: Int64) {
        guard entries[identity]?.buried == false else { return }
        entries[identity]?.buried = true
        entries[identity]?.changed = now
    }

    mutating func confirm(_ identity: Int, size: Int64, now: Int64) {
        guard entries[identity]?.confirmed != size else { return }
        entries[identity]?.changed = now
        entries[identity]?.confirmed = size
    }

    /// Compares all rows, and records ids and names of new ones.
    mutating func compare(_ rows: [Episode], _ result: MergeResult, _ change: Change) throws(Mistake) {
        var found: [Int: Episode] = [:]
        for row in rows {
            guard let identity = Said.identity(inNotes: row.notes), entries[identity] != nil else {
                throw Mistake(text: "row \(row.id) matches no published item")
            }
            if let other = found.updateValue(row, forKey: identity) {
                throw Mistake(
                    identity: identity, text: "is in rows \(other.id) (\(other.name)) and \(row.id) (\(row.name))")
            }
            try compare(row, identity)
        }
        for (identity, row) in entries where !row.buried && found[identity] == nil {
            throw Mistake(identity: identity, text: "has no row")
        }
        let shown = entries.filter { !$0.value.buried }
        guard rows.count == shown.count, result.podcast.episodes == shown.count else {
            throw Mistake(text: "\(rows.count) rows, \(result.podcast.episodes) counted, \(shown.count) are right")
        }
        let owners = Dictionary(entries.compactMap { key, row in row.id.map { ($0, key) } }) { first, _ in first }
        let reported = Change(
            inserted: Set(result.inserted.compactMap { owners[$0] }),
            updated: Set(result.updated.compactMap { owners[$0] }),
            unlisted: Set(result.unlisted.compactMap { owners[$0] }))
        guard reported == change, result.inserted.count == change.inserted.count,
            result.updated.count == change.updated.count, result.unlisted.count == change.unlisted.count
        else { throw Mistake(text: "the merge says \(reported) and must say \(change)") }
    }

    private mutating func compare(_ row: Episode, _ identity: Int) throws(Mistake) {
        guard var right = entries[identity] else { return }
        func require(_ condition: Bool, _ text: @autoclosure () -> String) throws(Mistake) {
            guard !condition else { return }
            throw Mistake(
                identity: identity,
                text: "\(text()); row \(row.id) is “\(row.name)”, guid \(row.guid ?? "none"), "
                    + "“\(row.title)”, \(row.url); said: \(right.said.summary)")
        }
        if let id = right.id, let name = right.name {
            try require(row.id == id, "was row \(id)")
            try require(row.name.utf8.elementsEqual(name.utf8), "was the file “\(name)”")
        } else {
            try require(!entries.values.contains { $0.id == row.id }, "took the row of another")
            try require(!entries.values.contains { $0.name == row.name }, "took the name of another")
            right.id = row.id
            right.name = row.name
            entries[identity] = right
        }
        let said = right.said
        try require(!right.buried, "is buried")
        try require(row.url == said.url, "has another URL")
        try require(row.guid == said.guid, "has another guid")
        try require(row.title.utf8.elementsEqual((said.title ?? "Untitled").utf8), "has another title")
        try require(row.published == said.published?.seconds, "has another date (mtime)")
        try require(row.publishedOffset == said.published?.offset ?? 0, "has another zone")
        try require(row.firstSeen == right.firstSeen, "was first seen at \(right.firstSeen), not \(row.firstSeen)")
        try require(row.changed == right.changed, "changed at \(right.changed) (ctime), not \(row.changed)")
        try require(row.duration == said.duration && row.length == said.length, "is of another length")
        try require(row.type == said.media.type && row.notes == said.notes, "has another type or notes")
        try require(row.listed == right.listed, "is listed: \(row.listed)")
        try require(row.confirmedSize == right.confirmed, "confirmed: \(String(describing: row.confirmedSize))")
    }
}
