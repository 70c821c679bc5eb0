import PodcastFeed
import TestSupport

extension ModelPublisher {
    /// The kinds of edits, with their frequencies.
    enum Edit: String, CaseIterable, Sendable {
        case publish = "publish"
        case publishNamesake = "publish another of the same title on the same day"
        case retitle = "retitle"
        case retypeset = "retypeset a title"
        case rewriteNotes = "rewrite notes"
        case moveDate = "mend a date"
        case dropDate = "drop a date"
        case respellZone = "write all dates in another zone"
        case changeLength = "change a length"
        case changeDuration = "change a duration"
        case addQuery = "change one URL's query"
        case upload = "upload the media anew, to another path"
        case reencode = "turn MP3 into M4A"
        case film = "turn a recording into a video"
        case reissue = "delete an item and post it again, with another guid and URL"
        case remove = "remove"
        case comeBack = "bring back"
        case reorder = "reorder the items"
        case cap = "cap the feed"
        case uncap = "uncap the feed"
        case rotateTokens = "rotate the token of all URLs"
        case migrateHost = "move all media to another host"
        case changeCompany = "move to another company: other hosts, guids and spelling of titles"
        case toggleTracking = "put a tracker before all URLs, or take it away"
        case toggleScheme = "move all media between http and https"
        case introduceGUIDs = "introduce guids"
        case withdrawGUIDs = "remove all guids"
        case migrateGUIDs = "give all items guids of another format"
        case shareGUID = "give an item the guid of another"
        case unshareGUID = "give an item a guid of its own"

        var weight: Int {
            switch self {
            case .publish: 0  // Chosen by the show's productivity.
            case .retitle, .rewriteNotes, .moveDate, .upload, .rotateTokens, .remove, .comeBack: 6
            case .publishNamesake, .introduceGUIDs, .shareGUID, .reissue, .migrateHost: 4
            case .withdrawGUIDs: 1
            default: 3
            }
        }
    }

    /// Chooses a random edit.
    func edit(using dice: inout SeededGenerator) -> Edit {
        if dice.chance(productivity) { return .publish }
        var number = Int.random(in: 0..<Edit.allCases.reduce(0) { $0 + $1.weight }, using: &dice)
        for edit in Edit.allCases {
            number -= edit.weight
            if number < 0 { return edit }
        }
        return .publish
    }

    /// The subject of an edit.
    enum Subject: Sendable {
        case feed
        case episode(Int)
    }

    /// Performs an edit, and returns its subject; `nil` if there is nothing to edit in this way.
    mutating func make(_ edit: Edit, now: Int64, using dice: inout SeededGenerator) -> Subject? {
        switch edit {
        case .publish: return .episode(publish(at: now, using: &dice).identity)
        case .publishNamesake: return publishNamesake(now: now, using: &dice)
        case .comeBack:
            guard let index = episodes.indices.filter({ episodes[$0].isRemoved }).randomElement(using: &dice) else {
                return nil
            }
            episodes[index].isRemoved = false
            return .episode(episodes[index].identity)
        case .respellZone, .reorder, .cap, .uncap, .rotateTokens, .migrateHost, .changeCompany,
            .toggleTracking, .toggleScheme, .introduceGUIDs, .withdrawGUIDs, .migrateGUIDs:
            return makeOnAll(edit, using: &dice) ? .feed : nil
        default:
            // Recent episodes are edited more often than old ones.
            let listed = episodes.indices.filter { !episodes[$0].isRemoved }
            var choice = dice.chance(60) ? Array(listed.suffix(5)) : listed
            if edit == .unshareGUID { choice = listed.filter { hasSharedGUID($0, among: listed) } }
            guard let index = choice.randomElement(using: &dice),
                makeOnOne(edit, index, now: now, among: listed, using: &dice)
            else { return nil }
            return .episode(episodes[index].identity)
        }
    }

    private mutating func publishNamesake(now: Int64, using dice: inout SeededGenerator) -> Subject? {
        guard let model = episodes.last(where: { !$0.isRemoved && $0.words != nil && $0.published != nil }) else {
            return nil
        }
        let identity = publish(at: now, using: &dice).identity
        episodes[identity].words = model.words
        episodes[identity].published = model.published
        if dice.chance(70) { episodes[identity].published?.seconds += Int64.random(in: 1...60, using: &dice) }
        return .episode(identity)
    }

    private mutating func makeOnOne(
        _ edit: Edit, _ index: Int, now: Int64, among listed: [Int], using dice: inout SeededGenerator
    ) -> Bool {
        switch edit {
        case .retitle:
            let words = newWords(episodes[index].identity, using: &dice)
            episodes[index].words = words == episodes[index].words ? "Sondersendung \(fresh())" : words
        case .retypeset:
            guard episodes[index].words != nil else { return false }
            episodes[index].typesetting = Int.random(in: 0...4, using: &dice)
        case .rewriteNotes: episodes[index].revision += 1
        case .moveDate:
            guard episodes[index].published != nil else {
                episodes[index].published = PublicationDate(seconds: now, offset: zone)
                return true
            }
            episodes[index].published?.seconds += dice.pick(-86_400, -7200, -3600, -1, 3600, 43_200, 86_400)
        case .dropDate:
            guard dice.chance(30) else { return false }
            episodes[index].published = nil
        case .changeLength:
            let length = Int64.random(in: 10_000_000...90_000_000, using: &dice)
            episodes[index].length = dice.pick(length, length, nil)
        case .changeDuration:
            guard let duration = episodes[index].duration else {
                episodes[index].duration = 1800
                return true
            }
            episodes[index].duration = max(60, duration + dice.pick(-90, 30, 120, 700))
        case .addQuery: episodes[index].token = fresh()
        case .upload:
            episodes[index].file = "ep-\(fresh())"
            episodes[index].length = Int64.random(in: 10_000_000...90_000_000, using: &dice)
        case .reencode:
            guard episodes[index].media == .mp3 else { return false }
            episodes[index].media = .m4a
            episodes[index].length = Int64.random(in: 10_000_000...90_000_000, using: &dice)
        case .film:
            guard dice.chance(30), episodes[index].media != .mp4 else { return false }
            episodes[index].media = .mp4
        case .reissue:
            episodes[index].file = "ep-\(fresh())"
            episodes[index].guid = newGUID()
        case .remove: episodes[index].isRemoved = true
        case .shareGUID:
            guard let other = listed.randomElement(using: &dice), other != index,
                case .fixed(let guid) = episodes[other].guid
            else { return false }
            episodes[index].guid = .fixed(guid)
        case .unshareGUID: episodes[index].guid = .fixed("urn:item:\(fresh())")
        default: return false
        }
        return true
    }

    private mutating func makeOnAll(_ edit: Edit, using dice: inout SeededGenerator) -> Bool {
        switch edit {
        case .respellZone:
            zone = dice.pick(0, 3600, -18_000, 46_800, -36_000)
            for index in episodes.indices { episodes[index].published?.offset = zone }
        case .reorder: order = dice.pick(.newestFirst, .oldestFirst, .shuffled(seed: dice.next()))
        case .cap: cap = dice.pick(1, 3, 8, 20)
        case .uncap:
            guard cap != nil else { return false }
            cap = nil
        case .rotateTokens: token = fresh()
        case .migrateHost: host = fresh()
        case .changeCompany:
            host = fresh()
            if guids != .none { guids = dice.pick(.fixed, .url) }
            let typesetting = Int.random(in: 0...4, using: &dice)
            for index in episodes.indices {
                episodes[index].guid = newGUID()
                episodes[index].typesetting = typesetting
            }
        case .toggleTracking:
            // Removing trackers is as frequent as adding them.
            if trackers.isEmpty {
                trackers = dice.pick(["track.example/e/"], ["track.example/e/", "other.example/redirect.mp3/"])
            } else {
                trackers = []
            }
        case .toggleScheme: isSecure.toggle()
        case .introduceGUIDs:
            guard guids == .none else { return false }
            guids = dice.pick(.fixed, .url)
            for index in episodes.indices { episodes[index].guid = newGUID() }
        case .withdrawGUIDs:
            guard guids != .none else { return false }
            guids = .none
            for index in episodes.indices { episodes[index].guid = .none }
        case .migrateGUIDs:
            guard guids != .none else { return false }
            guids = dice.pick(.fixed, .fixed, .url)
            for index in episodes.indices { episodes[index].guid = newGUID() }
        default: return false
        }
        return true
    }

    private func hasSharedGUID(_ index: Int, among listed: [Int]) -> Bool {
        guard case .fixed(let guid) = episodes[index].guid else { return false }
        return listed.contains { other in
            if other != index, case .fixed(guid) = episodes[other].guid { true } else { false }
        }
    }
}
