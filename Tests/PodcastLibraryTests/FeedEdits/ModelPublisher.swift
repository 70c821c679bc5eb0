import PodcastFeed
import TestSupport

/// A show's publisher and hosting company, who make typical edits of its feed. They know each item's identity, which
/// real feeds do not contain.
///
/// A value type. An edit is tried on a copy. The copy is discarded if the episodes of its document could not be matched
/// with those of the documents served before (`Distinguishability`).
struct ModelPublisher: Sendable {
    enum Order: Sendable {
        case newestFirst, oldestFirst
        case shuffled(seed: UInt64)
    }

    enum GUIDs: CaseIterable, Sendable {
        case none, fixed, url
    }

    enum Titles: CaseIterable, Sendable {
        /// Each episode has its own title.
        case own
        /// A bulletin: all episodes have the same title.
        case same
        /// Some episodes have no title.
        case few
    }

    enum Dates: CaseIterable, Sendable {
        case precise
        /// The generator writes only the day, at 00:00.
        case days
        /// Some episodes have no date.
        case few
    }

    /// The kinds of the show's titles and dates, which never change.
    let titles: Titles
    let dates: Dates
    /// Whether all media have the path of one script, so that only the query distinguishes the files.
    let isScript: Bool
    /// The percentage of edits that add an episode.
    let productivity: Int
    /// The probability in percent that an hour has an edit, and after each edit that the same hour has another.
    let diligence: Int

    var guids: GUIDs
    var episodes: [ModelEpisode] = []
    var host = 1
    var isSecure: Bool
    var trackers: [String] = []
    /// A token in every media URL.
    var token: Int?
    /// The UTC offset of new dates in seconds.
    var zone: Int
    var cap: Int?
    var order = Order.newestFirst
    /// A counter for unique values.
    var counter = 0

    init(using dice: inout SeededGenerator, now: Int64) {
        titles = dice.pick(.own, .own, .same, .few)
        dates = dice.pick(.precise, .precise, .days, .few)
        isScript = dice.chance(20)
        productivity = dice.pick(6, 10, 25)
        diligence = dice.pick(25, 45, 70)
        guids = dice.pick(.none, .fixed, .fixed, .url)
        isSecure = dice.chance(50)
        zone = dice.pick(0, 3600, -18_000, 46_800, -36_000)
        cap = dice.chance(40) || isScript ? dice.pick(1, 5, 12, 30) : nil
        let backlog = Int.random(in: 0...20, using: &dice)
        for age in 0..<backlog { publish(at: now - Int64(backlog - age) * 40_000, using: &dice) }
    }

    mutating func fresh() -> Int {
        counter += 1
        return counter
    }

    /// Returns what the feed says about an episode if it lists the episode.
    func say(_ episode: ModelEpisode) -> Said {
        var address = "host\(host).example/"
        var query: [String] = []
        if isScript {
            address += "play.\(episode.media.rawValue)"
            query.append("id=\(episode.file)")
        } else {
            address += "audio/\(episode.file).\(episode.media.rawValue)"
        }
        if let token = episode.token { query.append("edit=\(token)") }
        if let token { query.append("token=\(token)&x=<y>") }
        if !query.isEmpty { address += "?" + query.joined(separator: "&") }
        let scheme = isSecure ? "https://" : "http://"
        address = trackers.joined() + address
        let guid: String? =
            switch episode.guid {
            case .none: nil
            case .fixed(let guid): guid
            case .url: scheme + address
            }
        return Said(episode, guid: guid, scheme: scheme, address: address)
    }

    /// The current document.
    var document: [Said] {
        var listed = episodes.filter { !$0.isRemoved }
        listed.sort { one, other in
            let (first, second) = (one.published?.seconds ?? .max, other.published?.seconds ?? .max)
            return first != second ? first > second : one.identity > other.identity
        }
        if let cap { listed = Array(listed.prefix(cap)) }
        switch order {
        case .newestFirst: break
        case .oldestFirst: listed.reverse()
        case .shuffled(let seed):
            var dice = SeededGenerator(seed: seed)
            listed.shuffle(using: &dice)
        }
        return listed.map(say)
    }

    // MARK: New episodes

    @discardableResult
    mutating func publish(at now: Int64, using dice: inout SeededGenerator) -> ModelEpisode {
        let identity = episodes.count
        var episode = ModelEpisode(identity: identity, file: "ep-\(fresh())")
        episode.words = newWords(identity, using: &dice)
        episode.published = newDate(at: now, using: &dice)
        episode.duration = dice.chance(80) ? Double(Int.random(in: 600...7200, using: &dice)) : nil
        episode.length = dice.chance(80) ? Int64.random(in: 10_000_000...90_000_000, using: &dice) : nil
        episode.guid = newGUID()
        episodes.append(episode)
        return episode
    }

    mutating func newGUID() -> ModelEpisode.GUID {
        switch guids {
        case .none: .none
        case .fixed: .fixed("urn:item:\(fresh())")
        case .url: .url
        }
    }

    mutating func newWords(_ number: Int, using dice: inout SeededGenerator) -> String? {
        switch titles {
        case .same: return "Nachrichten für Köln"
        case .few where dice.chance(30): return nil
        case .own, .few:
            let subject = dice.pick("Über Straßen", "Q&A with R. Müller", "a < b", "Café déjà vu", "The Weather")
            return "Ep \(number) \(subject) \(fresh())"
        }
    }

    private func newDate(at now: Int64, using dice: inout SeededGenerator) -> PublicationDate? {
        switch dates {
        case .precise: break
        case .few where dice.chance(30): return nil
        case .few: break
        case .days:
            let local = now + Int64(zone)
            return PublicationDate(seconds: local - local % 86_400 - Int64(zone), offset: zone)
        }
        return PublicationDate(seconds: now - Int64.random(in: 0..<3600, using: &dice), offset: zone)
    }
}
