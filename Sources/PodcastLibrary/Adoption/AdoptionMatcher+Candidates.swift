internal import Platform
internal import PodcastFeed
package import PodcastProtocol

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
            let named = (index.urls[inside.letters] ?? []).filter {
                index.urlKeys[$0].agreement(withNumbersOf: inside) == .equal
            }
            if reading.hasWordInBrackets, !index.pathNames.contains(inside.letters) { isLoose = true }
            found += named.map { ($0, .url) }
        }
        guard !key.letters.isEmpty else {
            // Only a date is left besides the show.
            guard let day = reading.day, !reading.isLoose else { return found }
            let named = show.map { [$0] } ?? only.map { [$0] } ?? Array(place.shows)
            for show in named {
                for episode in index.byDay[AdoptionIndex.DayOfShow(show: show, day: day.number)] ?? [] {
                    found.append((episode, .onlyDay))
                }
            }
            return found
        }
        for episode in index.urls[key.letters] ?? [] {
            found.append((episode, evidence(.url, key, index.urlKeys[episode], isLoose)))
        }
        for episode in index.names[key.letters] ?? [] where !isLoose { found.append((episode, .mountName)) }
        // A name without the letters that are not ASCII equals the reduced title.
        for episode in (index.titles[key.letters] ?? []) + (index.asciiTitles[key.letters] ?? []) {
            found.append((episode, evidence(.title, key, index.titleKeys[episode], isLoose)))
        }
        if found.isEmpty, reading.isCut || key.count >= Self.shortestCut, !isLoose {
            found += index.beginning(with: key.letters).map { ($0, .cutTitle) }
        }
        return found
    }

    /// Returns what a text with the letters of a title or URL proves, depending on its numbers.
    private func evidence(
        _ full: Evidence, _ name: ComparisonKey, _ known: ComparisonKey, _ isLoose: Bool
    ) -> Evidence {
        if isLoose { return .similar }
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
        let common = Set(counts.filter { $0.value > Self.maxCandidates }.keys)
        guard !common.isEmpty else { return found }
        // A name that many episodes share still supports what else suggests one of them.
        let others = Set(found.filter { !common.contains($0.evidence) }.map(\.episode))
        let special = found.filter {
            let episode = index.episodes[$0.episode]
            return !common.contains($0.evidence) || others.contains($0.episode)
                || reading.day.map { days(of: episode).contains($0.number) } ?? false
                || episode.hasKnownSize && episode.size.bytes == file.size
        }
        return special.count > 2 * Self.maxCandidates ? [] : special
    }

    /// The minimum number of letters of a title that a program may have cut. gPodder cuts at 120 characters, others
    /// later.
    private static let shortestCut = 60
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
            let titled = (index.titles[title.letters] ?? []).filter {
                index.titleKeys[$0].agreement(withNumbersOf: title) == .equal
            }
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
        let show = shows.first { EpisodeMatcher.comparable(url: $0.url) == feed }?.id
        let own = found.filter { index.episodes[$0].show == show }
        return own.isEmpty ? found : own
    }

    /// Returns the one episode that another program's database means; `nil` if there is none, or more than one.
    package func episode(of record: ForeignRecord) -> EpisodeID? {
        let found = episodes(of: record)
        return found.count == 1 ? index.episodes[found[0]].id : nil
    }

    func sizeEvidence(_ episode: Int) -> Evidence {
        let (show, size) = (index.episodes[episode].show, index.episodes[episode].size)
        if size.source == .server { return .confirmedSize }
        let isKnown = !index.showsWithUnknownSizes.contains(show) && size.bytes >= Self.leastTellingSize
        let equal = index.sizes[size.bytes]?.count { index.episodes[$0].show == show }
        return isKnown && equal == 1 ? .onlySize : .feedSize
    }

    /// The minimum size of a file, in bytes, that tells it from others of the show.
    private static let leastTellingSize: Int64 = 1_000_000
}
