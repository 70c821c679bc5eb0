import PodcastFeed

/// Whether the episodes of a document can be told from those that were in the documents before. Knows which is which;
/// asks whether one who does not could find out.
///
/// An episode is recognized by a *sign* that the document before said of it, and said of no other:
///
/// - its guid;
/// - its media URL, but for the scheme;
/// - its media URL without the query, when title or day are still the same, and no two guids speak against it; both of
///   them where all media files have one name, because then the query is what tells them apart;
/// - its title, with the day or the second of publication, when it is still of the same kind and about as long.
///
/// What leaves an episode without any such sign is not done to a feed. These are the combinations left out, each within
/// one hour (or while the episode was not in the feed), and why no rule finds its way out of them:
///
/// - guid, URL, and title all changed: the second of publication alone is none, because many generators write a day at
///   00:00, and two episodes of one day would become one;
/// - guid, URL, and date changed by a day or more: serials and bulletins repeat their titles;
/// - no guid or a new one, and a new URL, while title and time are those of another episode, too: two bulletins of one
///   title in one second are told apart by guid or URL alone;
/// - no guid or a new one, another path, and no title, or no date: nothing is left to go by;
/// - no guid or a new one, another path, and another kind of media or a duration changed by more than ten minutes: a
///   video or a long version is an episode of its own in many feeds;
/// - a *new* episode that bears the sign of one that is not in the feed at the moment, such as its guid, or its title and
///   day: so does an old episode that was issued anew, and those are far more frequent;
/// - a guid that changes hands while its first owner gets another. A guid that is given to a second episode beside the
///   first is done to feeds, and so is its end;
/// - a media URL that a second episode gets, and guids that are numbers of places in the document: they say of another
///   episode that it is the one before, as loudly as any publisher could.
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

    /// What was said last of each episode that was ever served.
    private var known: [Int: Said] = [:]
    /// The episodes of which a sign was said last.
    private var keepers: [Sign: [Int]] = [:]

    /// Takes note of a document that was served.
    mutating func note(_ document: [Said]) {
        for said in document { known[said.identity] = said }
        keepers.removeAll(keepingCapacity: true)
        for said in known.values {
            for sign in Self.signs(of: said) { keepers[sign, default: []].append(said.identity) }
        }
    }

    /// - Parameter document: what would be served next.
    func holds(for document: [Said]) -> Bool {
        // The episode that a sign leads to in the document; -1 when it is that of several.
        var bearers: [Sign: Int] = [:]
        var present: [Int: Said] = [:]
        for said in document {
            present[said.identity] = said
            for sign in Self.signs(of: said) {
                bearers[sign] = bearers[sign, default: said.identity] == said.identity ? said.identity : -1
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
                    bearers[sign] == said.identity && keepers[sign] == [said.identity]
                        && Self.agrees(sign, said, old, hasSeveralNames)
                }
                guard isKnown else { return false }
            }
            for sign in own {
                for other in keepers[sign] ?? [] where other != said.identity {
                    guard let keeper = known[other] else { continue }
                    let confuses = Self.agrees(sign, said, keeper, hasSeveralNames)
                    if !Self.isHarmless(sign, of: said, before: old, now: present[other], confuses) { return false }
                }
            }
            return true
        }
    }

    /// Whether what has to go with a sign does.
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

    /// Whether an item may bear a sign that was another's before.
    ///
    /// - Parameters:
    ///   - old: the item's own episode, as it was before.
    ///   - now: the other as it stands in the same document, if it does.
    ///   - confuses: whether the item agrees with the other, as it was before, in all that goes with the sign.
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
