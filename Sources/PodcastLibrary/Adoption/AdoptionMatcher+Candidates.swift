internal import Platform
internal import PodcastFeed
package import PodcastProtocol
internal import Transfers

// The episodes that a file may be.
extension AdoptionMatcher {
    /// Returns the episodes that a reading of the name suggests.
    func candidates(
        _ reading: NameReading, show: ShowID?, _ place: FilePlace
    ) -> [(episode: Int, evidence: Evidence)] {
        var found: [(Int, Evidence)] = []
        let key = reading.key
        var isLoose = reading.isLoose
        if let identifier = reading.identifier {
            let inside = ComparisonKey(identifier)
            if reading.hasWordInBrackets, !index.pathNames.contains(inside.letters) { isLoose = true }
            found += index.urls[equalTo: inside].map { ($0, .url) }
        }
        guard !key.letters.isEmpty else {
            // Only a date is left besides the show.
            guard let day = reading.day, !reading.isLoose else { return found }
            let named = show.map { [$0] } ?? only.map { [$0] } ?? Array(place.shows)
            return found
                + named.flatMap { index.byDay[AdoptionIndex.DayOfShow(show: $0, day: day.number)] ?? [] }
                .map { ($0, .onlyDay) }
        }
        found += index.urls[key.letters].map { ($0, evidence(.url, key, index.urls.keys[$0], isLoose)) }
        if !isLoose { found += index.names[key.letters].map { ($0, .mountName) } }
        // A name without the letters that are not ASCII equals the reduced title.
        for episode in index.titles[key.letters] + (index.asciiTitles[key.letters] ?? []) {
            found.append((episode, evidence(.title, key, index.titles.keys[episode], isLoose)))
        }
        // The minimum number of letters of a title that a program may have cut. gPodder cuts at 120 characters, others
        // later.
        if found.isEmpty, reading.isCut || key.count >= 60, !isLoose {
            found += index.beginning(with: key.letters).map { ($0, .cutTitle) }
        }
        return found
    }

    /// Returns what a text with the letters of a title or URL proves, depending on its numbers.
    private func evidence(
        _ full: Evidence, _ name: ComparisonKey, _ known: ComparisonKey, _ isLoose: Bool
    ) -> Evidence {
        if isLoose || full == .title && known.differsInCase(from: name) { return .similar }
        return switch known.agreement(withNumbersOf: name) {
        case .equal: full
        case .doubtful: .joinedNumber
        case .different: .similar
        }
    }

    /// Returns the candidates. If there are many, because a title or file name is common, only those with the date in
    /// the name or with the file's size.
    func limited(
        _ found: [(episode: Int, evidence: Evidence)], _ reading: NameReading, _ file: AdoptableFile
    ) -> [(episode: Int, evidence: Evidence)] {
        let counts = Dictionary(grouping: found, by: \.evidence).mapValues(\.count)
        func isCommon(_ evidence: Evidence) -> Bool { counts[evidence, default: 0] > Self.maxCandidates }
        guard found.contains(where: { isCommon($0.evidence) }) else { return found }
        // A name that many episodes share still supports what else suggests one of them.
        let others = Set(found.filter { !isCommon($0.evidence) }.map(\.episode))
        let special = found.filter {
            let episode = index.episodes[$0.episode]
            return others.contains($0.episode) || reading.day.map { days(of: episode).contains($0.number) } ?? false
                || episode.hasKnownSize && episode.size == file.size
        }
        return special.count > 2 * Self.maxCandidates ? [] : special
    }

    /// The number of episodes above which a name alone says nothing: some hosts call every file `default.mp3`.
    private static let maxCandidates = 32

    /// Returns the episodes that the file's content and the database of its program suggest.
    func candidates(inside file: AdoptableFile) -> [(episode: Int, evidence: Evidence)] {
        var found: [(Int, Evidence)] = []
        if let record = file.record {
            found += episodes(of: record).map { ($0, .record) }
        }
        if let identifier = file.tags.identifier {
            found += index.episodes(guid: identifier, url: identifier).map { ($0, .identifierTag) }
        }
        if let title = file.tags.title.map({ ComparisonKey($0) }), !title.letters.isEmpty {
            let titled = index.titles[equalTo: title]
            if titled.count <= Self.maxCandidates { found += titled.map { ($0, .titleTag) } }
        }
        let sized = index.sizes[file.size] ?? []
        if sized.count <= Self.maxCandidates { found += sized.map { ($0, sizeEvidence($0)) } }
        return found
    }

    /// Returns the episodes that another program's database means: those with the guid or URL, of its show if this
    /// show is subscribed.
    private func episodes(of record: ForeignRecord) -> [Int] {
        let found = index.episodes(guid: record.guid, url: record.url)
        guard found.count > 1 else { return found }
        let feed = EpisodeMatcher.comparable(url: record.feed)
        let show = shows.first { EpisodeMatcher.comparable(url: $0.url) == feed }?.podcast
        let own = found.filter { index.episodes[$0].podcast == show }
        return own.isEmpty ? found : own
    }

    /// Returns the one episode that another program's database means; `nil` if there is none, or more than one.
    package func episode(of record: ForeignRecord) -> EpisodeID? {
        let found = episodes(of: record)
        return found.count == 1 ? index.episodes[found[0]].id : nil
    }

    func sizeEvidence(_ episode: Int) -> Evidence {
        let episode = index.episodes[episode]
        let (show, size) = (episode.podcast, episode.size)
        if episode.sizeSource == .server { return .confirmedSize }
        // The minimum size of a file, in bytes, that tells it from others of the show.
        let isKnown = !index.showsWithUnknownSizes.contains(show) && size >= 1_000_000
        let equal = index.sizes[size]?.count { index.episodes[$0].podcast == show }
        return isKnown && equal == 1 ? .onlySize : .feedSize
    }

}

/// A reason to believe that a file is an episode's. The raw value is the phrase that people read.
enum Evidence: String, Hashable {
    /// The database of the program that downloaded the file.
    case record = "the program's database"
    case identifierTag = "podcast identifier in the tags"
    /// The last component of the media URL, or the same text as an id in brackets.
    case url = "file name in the feed"
    case mountName = "name in podfs"
    case title = "title"
    case titleTag = "title in the tags"
    /// The beginning of a long title.
    case cutTitle = "beginning of the title"
    /// Nothing but the date, besides the show.
    case onlyDay = "only the date"
    case confirmedSize = "size of the server's file"
    case feedSize = "size in the feed"
    /// The size in the feed, if the feed states the sizes of all episodes of the show, and no other has this one.
    case onlySize = "exact size in the feed"
    case day = "date"
    case duration = "duration"
    case showInName = "show in the name"
    case folder = "folder of the show"
    case album = "album of the show"
    case givenShow = "--show"
    /// A long name that occurs once in the library, in place of the show's.
    case distinctive = "long and unique"
    /// The text of a title or URL, if a program has dropped a period between two digits: `15` for `1.5`.
    case joinedNumber = "number without a period"
    /// The text of a title or URL, but with other numbers or in another case, or after a counter was removed.
    case similar = "similar name"

    /// The weight: an adoption needs the sum 6. Either of the first two suffices alone; a name or title needs the
    /// show, the date, the size or the duration as well.
    var weight: Int {
        switch self {
        case .record, .identifierTag: 8
        case .url, .mountName, .title, .titleTag, .cutTitle, .onlyDay, .confirmedSize, .onlySize: 4
        case .feedSize, .day, .duration: 3
        case .showInName, .folder, .album, .givenShow, .distinctive, .joinedNumber: 2
        case .similar: 1
        }
    }

    /// Evidence that says which episode the file is, unlike a size or a duration, which episodes of equal length share.
    static let naming: Set<Evidence> = [
        .record, .identifierTag, .url, .mountName, .title, .titleTag, .cutTitle, .onlyDay, .joinedNumber, .similar,
    ]

    /// The sizes in bytes.
    static let sizes: Set<Evidence> = [.confirmedSize, .feedSize, .onlySize]

    /// Evidence that holds for one file only, whatever its name.
    static let decisive: Set<Evidence> = sizes.union([.record, .identifierTag, .duration])

    /// Evidence that a stricter reading of the same name replaces.
    static let loose: Set<Evidence> = [.similar, .joinedNumber, .cutTitle, .onlyDay]
}

/// The containers of media files, by extension and by content.
enum MediaContainer {
    /// The extensions and formats that belong together.
    private static let families: [(extensions: Set<String>, formats: Set<MediaFormat>)] = [
        (["mp3", "mp2", "mp1", "mpga", "mpa"], [.id3, .mpegAudio]),
        (
            ["m4a", "m4b", "mp4", "m4v", "mov", "qt", "m4r", "f4a", "f4v", "3gp", "3gpp", "3g2", "3ga"],
            [.isoMedia]
        ),
        (["ogg", "oga", "opus", "spx", "ogv", "ogx", "ogm"], [.ogg]), (["flac"], [.flac, .id3]),
        (["wav", "wave", "avi", "divx"], [.riff]), (["aac", "adts"], [.aac, .id3]),
        (["webm", "weba", "mkv", "mka", "mk3d"], [.matroska]), (["wma", "wmv", "asf"], [.asf]),
        (["ts", "mts", "m2ts"], [.transportStream]),
    ]

    /// The extensions of both audio and video.
    private static let either: Set<String> = ["mp4", "webm", "ogg", "ogx", "3gp", "3gpp", "3g2"]

    /// Whether a file may be an episode's. Its name or its content must be of the kind that the extension of the
    /// episode's file promises: servers deliver M4A as `.mp3`, and programs store it so.
    /// A name with the extension of the media URL is accepted too, whatever MIME type the feed states.
    static func fits(_ format: MediaFormat?, named suffix: String, episode: String, url: String) -> Bool {
        if !suffix.isEmpty, suffix == MediaType.pathExtension(of: url) { return true }
        let majors = [suffix, episode].compactMap { either.contains($0) ? nil : MediaType.extensions[$0]?.major }
        if majors.count == 2, majors[0] != majors[1] { return false }
        guard let family = families.first(where: { $0.extensions.contains(episode) }) else { return true }
        return family.extensions.contains(suffix) || format.map(family.formats.contains) ?? suffix.isEmpty
    }
}
