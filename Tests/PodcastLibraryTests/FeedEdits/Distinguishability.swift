import PodcastFeed

/// A check of whether the episodes of a feed document can be matched with those of the documents served before. It
/// knows the true identities, and decides whether they could be derived from the documents alone.
///
/// An episode is recognized by a *sign*, a value that belongs to no other episode. This must be true in the next
/// document, and in the last served state of every episode, even if the episode is no longer in the feed. The signs
/// are:
///
/// - its guid;
/// - its media URL, ignoring the scheme;
/// - its media URL without the query, if title or day are unchanged and the guids do not contradict each other. If all
///   media files have one name, the query distinguishes them, and both title and day must be unchanged;
/// - its title with the day or the second of publication, if the media type is unchanged and the duration similar.
///
/// The test discards edits that would leave an episode without any sign. It excludes the following combinations of
/// edits if all edits of a combination were made after the episode was last served. No rule could handle them:
///
/// - guid, URL and title all changed: the second of publication alone is not a sign, because many generators write a
///   day at 00:00, and two episodes of one day would be merged;
/// - guid and URL changed, and the date changed by a day or more: serials and bulletins repeat their titles;
/// - no guid or a new one, and a new URL, while title and time equal those of another episode: two bulletins with one
///   title in one second differ only in guid or URL;
/// - no guid or a new one, another path, and no title or no date: no sign is left;
/// - no guid or a new one, another path, and another media type or a duration changed by more than ten minutes: in many
///   feeds a video or a long version is an episode of its own;
/// - a *new* episode with the sign of one that is currently not in the feed, such as its guid, or its title and day: a
///   reissued old episode has these too, and is far more frequent;
/// - a guid that moves to another episode while its first owner gets a new one. (Edits that make two episodes share a
///   guid, or end this sharing, are not excluded.);
/// - a media URL that moves to a second episode, and guids that are positions in the document: both explicitly identify
///   the wrong episode.
struct Distinguishability: Sendable {
    private enum Sign: Hashable, Sendable {
        case guid(String)
        case address(String)
        case place(String)
        case day(String, Int64)
        case second(String, Int64)
    }

    private static func signs(of said: Said) -> [Sign] {
        var signs: [Sign] = [.address(said.address), .place(said.place)]
        if let guid = said.guid { signs.append(.guid(guid)) }
        if let words = said.words, let published = said.published, let day = said.day {
            signs.append(.day(words, day))
            signs.append(.second(words, published.seconds))
        }
        return signs
    }

    /// The last served state of each episode.
    private var known: [Int: Said] = [:]
    /// The episodes with each sign in their last served state.
    private var servedOwners: [Sign: [Int]] = [:]

    /// Records a served document.
    mutating func note(_ document: [Said]) {
        for said in document { known[said.identity] = said }
        servedOwners.removeAll(keepingCapacity: true)
        for said in known.values {
            for sign in Self.signs(of: said) { servedOwners[sign, default: []].append(said.identity) }
        }
    }

    /// Returns whether all episodes of the next document can be distinguished.
    func holds(for document: [Said]) -> Bool {
        // The episode of each sign in the document; -1 if there are several.
        var nextOwner: [Sign: Int] = [:]
        var present: [Int: Said] = [:]
        for said in document {
            present[said.identity] = said
            for sign in Self.signs(of: said) {
                nextOwner[sign] = nextOwner[sign, default: said.identity] == said.identity ? said.identity : -1
            }
        }
        let hasSeveralNames =
            known.values.contains { $0.fileName != known.first?.value.fileName }
            || document.contains { $0.fileName != document.first?.fileName }
        return document.allSatisfy { said in
            let old = known[said.identity]
            let own = Self.signs(of: said)
            if let old {
                let isKnown = own.contains { sign in
                    nextOwner[sign] == said.identity && servedOwners[sign] == [said.identity]
                        && Self.agrees(sign, said, old, hasSeveralNames)
                }
                guard isKnown else { return false }
            }
            for sign in own {
                for other in servedOwners[sign] ?? [] where other != said.identity {
                    guard let owner = known[other] else { continue }
                    let confuses = Self.agrees(sign, said, owner, hasSeveralNames)
                    if !Self.isHarmless(sign, of: said, before: old, now: present[other], confuses) { return false }
                }
            }
            return true
        }
    }

    /// Whether two states that share a sign also meet its additional conditions, such as a similar duration.
    private static func agrees(_ sign: Sign, _ one: Said, _ other: Said, _ hasSeveralNames: Bool) -> Bool {
        switch sign {
        case .guid, .address: return true
        case .place:
            if let guid = one.guid, let before = other.guid, guid != before, !(one.guidIsURL && other.guidIsURL) {
                return false
            }
            let (isSameTitle, isSameDay) = (one.words == other.words, one.day == other.day)
            if hasSeveralNames { return (isSameTitle && one.words != nil) || (isSameDay && one.day != nil) }
            return isSameTitle && isSameDay && (one.words != nil || one.day != nil)
        case .day, .second:
            if (one.media == .mp4) != (other.media == .mp4) { return false }
            guard let duration = one.duration, let before = other.duration else { return true }
            return abs(duration - before) <= 600
        }
    }

    /// Whether an item may have a sign that belonged to another episode before.
    ///
    /// - Parameters:
    ///   - old: The previous state of the item's own episode.
    ///   - now: The other episode's state in the same document, if it is listed.
    ///   - confuses: Whether the item agrees with the other episode's previous state in all conditions of the sign.
    private static func isHarmless(
        _ sign: Sign, of said: Said, before old: Said?, now: Said?, _ confuses: Bool
    ) -> Bool {
        switch sign {
        case .guid(let guid): old?.guid == guid || now?.guid == guid
        case .address: old?.address == said.address || now != nil
        case .place: old?.place == said.place || now != nil || !confuses
        case .day, .second: old != nil || now != nil || !confuses
        }
    }
}
