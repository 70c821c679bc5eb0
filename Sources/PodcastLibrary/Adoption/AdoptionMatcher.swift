internal import Platform
internal import PodcastFeed
package import PodcastProtocol

/// A matching of media files that other programs have downloaded with the episodes of the library. It performs no IO.
///
/// Each piece of evidence that a file is an episode's has a weight (`Evidence`). An episode fits if the weights of its
/// evidence add up to `threshold` and nothing contradicts it. The file is adopted if no other episode fits nearly as
/// well (`margin`) and no other file fits this episode better. The hard rules:
///
/// - A server has confirmed a size, and the file's differs clearly: not adopted.
/// - A date in the name outside title and URL differs from the day of publication: not adopted.
/// - The folder, the album or the name belongs to another show, or the title in the tags to another episode: not
///   adopted.
/// - A file of another format than the episode's name promises, or shorter than its headers say, is not adopted.
/// - A title or file name that is not unique, short, or only similar needs further evidence. It is not unique if a
///   program has stored another file of the same name with a counter.
package struct AdoptionMatcher {
    /// The sum of weights that an adoption needs, that of a certain one, and the distance to the next best episode.
    static let threshold = 6
    static let certainty = 9
    static let margin = 3

    let shows: [Subscription]
    let index: AdoptionIndex
    /// The show that the user has named.
    let only: ShowID?
    /// The UTC offset of this machine in seconds: some programs write its days into names.
    private let localOffset: Int

    /// - Parameters:
    ///   - only: The show that the user has named. The other shows should be among `shows` all the same.
    ///   - localOffset: The UTC offset of this machine in seconds.
    package init(
        shows: [Subscription], episodes: [EpisodeSummary], only: ShowID? = nil, localOffset: Int = 0
    ) {
        self.shows = shows
        self.only = only
        self.localOffset = localOffset
        index = AdoptionIndex(
            shows: shows, episodes: only.map { only in episodes.filter { $0.podcast == only } } ?? episodes)
    }

    /// Returns the decisions about the files, in their order.
    package func decisions(about files: [AdoptableFile]) -> [AdoptionDecision] {
        var rulings = Rulings()
        /// The files whose name is only similar to that of an episode.
        var similar: [EpisodeID: [Claim]] = [:]
        for (number, file) in files.enumerated() {
            let (decision, match) = decision(about: file)
            rulings.decisions.append(decision)
            guard let match else { continue }
            let episode = index.episodes[match.episode].id
            let claim = (file: number, match: match)
            if match.evidence.contains(.similar) { similar[episode, default: []].append(claim) }
            if case .adopt = decision { rulings.claims[episode, default: []].append(claim) }
        }
        refuseSharedNames(files, &rulings, similar)
        refuseOtherSizes(files, &rulings)
        for (episode, claims) in rulings.claims where claims.count > 1 {
            let best = claims.max { isBetter($1, than: $0, files) }
            for claim in claims where claim.file != best?.file {
                rulings.decisions[claim.file] = .duplicate(episode, of: best.map { files[$0.file].path } ?? "")
            }
        }
        return rulings.decisions
    }

    /// The index of a file that may be an episode's, and its match.
    private typealias Claim = (file: Int, match: Match)

    /// The decisions about the files so far, and the files that fit each episode.
    private struct Rulings {
        var decisions: [AdoptionDecision] = []
        var claims: [EpisodeID: [Claim]] = [:]

        mutating func refuse(_ claim: Claim, for episode: EpisodeID, because contradiction: String) {
            decisions[claim.file] = .contradicted(
                episode, evidence: claim.match.phrase, contradiction: contradiction)
            claims[episode]?.removeAll { $0.file == claim.file }
        }
    }

    /// Refuses the files of an episode that only their names suggest, if a folder has several of one name, with a
    /// counter. Then two episodes have the same title or file name, and the feed may list only one of them.
    private func refuseSharedNames(
        _ files: [AdoptableFile], _ rulings: inout Rulings, _ similar: [EpisodeID: [Claim]]
    ) {
        for (episode, others) in similar {
            let undecided = rulings.claims[episode, default: []].filter {
                $0.match.evidence.isDisjoint(with: Evidence.decisive)
            }
            for claim in undecided {
                let isSimilar = claim.match.evidence.contains(.similar)
                let other = (isSimilar ? others + undecided : others).first { other in
                    other.file != claim.file && files[other.file].size != files[claim.file].size
                        && files[other.file].folders == files[claim.file].folders
                        && claim.match.evidence.contains(.day) == other.match.evidence.contains(.day)
                }
                guard let other else { continue }
                rulings.refuse(
                    claim, for: episode, because: "'\(files[other.file].path)' has the same name but for a number")
            }
        }
    }

    /// Refuses files whose size differs clearly from the feed's, for the shows whose feed gives the sizes of nearly all
    /// other files exactly; those that only their titles suggest also if it differs a little. Shows use a title again,
    /// and the feed no longer lists the episode that had it first.
    private func refuseOtherSizes(_ files: [AdoptableFile], _ rulings: inout Rulings) {
        var equal: [ShowID: Int] = [:]
        var different: [ShowID: [Claim]] = [:]
        for claim in rulings.claims.values.joined() {
            let episode = index.episodes[claim.match.episode]
            // A size that several episodes have is the publisher's guess.
            guard episode.sizeSource == .feed, index.sizes[episode.size]?.count == 1 else { continue }
            if files[claim.file].size == episode.size {
                equal[episode.podcast, default: 0] += 1
            } else if Self.differsClearly(files[claim.file].size, from: episode.size)
                || claim.match.evidence.isDisjoint(with: [.url, .day, .duration])
            {
                different[episode.podcast, default: []].append(claim)
            }
        }
        for (show, others) in different where equal[show, default: 0] >= max(5, 4 * others.count) {
            for claim in others where claim.match.evidence.isDisjoint(with: [.record, .identifierTag]) {
                let episode = index.episodes[claim.match.episode]
                let sizes =
                    "\(ByteText.size(files[claim.file].size)), the feed says \(ByteText.size(episode.size))"
                rulings.refuse(
                    claim, for: episode.id, because: "it has \(sizes), which is right for the other files")
            }
        }
    }

    private func isBetter(_ one: Claim, than other: Claim, _ files: [AdoptableFile]) -> Bool {
        let (first, second) = (files[one.file], files[other.file])
        if one.match.score != other.match.score { return one.match.score > other.match.score }
        if first.size != second.size { return first.size > second.size }
        return (first.path.utf8.count, first.path) < (second.path.utf8.count, second.path)
    }

    // MARK: One file

    /// The evidence that a file is an episode's.
    struct Match {
        /// The index of the episode.
        var episode: Int
        var evidence: Set<Evidence> = []
        var contradiction: String?
        /// Whether the contradiction is the title in the tags, which names another episode than the file name.
        var isTagConflict = false

        /// The sum of the weights. A name in podfs that has the title is no further evidence: other programs write date
        /// and title too.
        var score: Int {
            let counted = evidence.contains(.title) ? evidence.subtracting([.mountName]) : evidence
            return counted.reduce(0) { $0 + $1.weight }
        }

        /// The evidence as a phrase, the strongest first.
        var phrase: String {
            let parts = evidence.sorted { ($1.weight, $0.rawValue) < ($0.weight, $1.rawValue) }
            return parts.map(\.rawValue).joined(separator: ", ")
        }
    }

    private func decision(about file: AdoptableFile) -> (AdoptionDecision, Match?) {
        if file.tags.isTruncated { return (.unusable("the file is incomplete: it ends before its headers say"), nil) }
        let matches = matches(of: file).sorted { ($0.score, $1.episode) > ($1.score, $0.episode) }
        let possible = matches.filter { $0.contradiction == nil }
        guard let best = possible.first, best.score >= Self.threshold, isNamed(best) else {
            guard let near = matches.first else { return (.unknown, nil) }
            let id = index.episodes[near.episode].id
            if let contradiction = near.contradiction {
                return (.contradicted(id, evidence: near.phrase, contradiction: contradiction), nil)
            }
            return (.weak(id, evidence: near.phrase), near)
        }
        // An episode that the name means, while the tags mean another one, is a rival of that one.
        let rivals = matches.filter {
            $0.episode != best.episode && ($0.contradiction == nil || $0.isTagConflict)
                && best.score - possibleScore(of: $0, beside: best) < Self.margin
        }
        if !rivals.isEmpty {
            let ids = ([best] + rivals).map { index.episodes[$0.episode].id }
            return (.ambiguous(ids, evidence: best.phrase), nil)
        }
        let episode = index.episodes[best.episode]
        if episode.complete { return (.present(episode.id), nil) }
        let confidence = AdoptionDecision.Confidence(
            isCertain: best.score >= Self.certainty, evidence: best.phrase)
        return (.adopt(episode.id, confidence), best)
    }

    /// Whether a match is more than an equal size and duration. These suffice only if the show is known, and if no
    /// other episode of it can have the same size.
    private func isNamed(_ match: Match) -> Bool {
        let show = index.episodes[match.episode].podcast
        return !match.evidence.isDisjoint(with: Evidence.naming) || !index.showsWithUnknownSizes.contains(show)
    }

    /// Returns the score that a rival would have if what is not known of it were equal as well.
    private func possibleScore(of rival: Match, beside best: Match) -> Int {
        let episode = index.episodes[rival.episode]
        var score = rival.score
        if !best.evidence.isDisjoint(with: Evidence.sizes), !episode.hasKnownSize {
            score += Evidence.feedSize.weight
        }
        if best.evidence.contains(.duration), episode.duration == nil { score += Evidence.duration.weight }
        if best.evidence.contains(.day), episode.published == nil { score += Evidence.day.weight }
        return score
    }

    /// Returns the episodes that any evidence suggests, each once.
    private func matches(of file: AdoptableFile) -> [Match] {
        var found: [Int: Match] = [:]
        let place = FilePlace(file, index)
        for reading in NameReading.all(of: file.name) {
            for (reading, show) in place.withoutShow(reading, index) {
                for (episode, evidence) in limited(candidates(reading, show: show, place), reading, file) {
                    let match = match(file, episode, [evidence], reading, show: show, place)
                    found[episode] = Self.better(match, found[episode])
                }
            }
        }
        for (episode, evidence) in candidates(inside: file) {
            let match = match(file, episode, [evidence], nil, show: nil, place)
            found[episode] = Self.united(match, found[episode])
        }
        return Array(found.values)
    }

    /// Returns the better of two readings of one name, with the identifying evidence of both.
    private static func better(_ new: Match, _ old: Match?) -> Match {
        guard let old else { return new }
        // A date that one reading finds in the title, and another beside it, contradicts nothing.
        if (new.contradiction == nil) != (old.contradiction == nil) { return new.contradiction == nil ? new : old }
        var best = new.score >= old.score ? new : old
        // A name that is the text itself needs no second, looser reading of it.
        best.evidence.formUnion(
            new.evidence.union(old.evidence).intersection(Evidence.naming).subtracting(Evidence.loose))
        return best
    }

    /// Returns the evidence in the name and in the file together.
    private static func united(_ inside: Match, _ name: Match?) -> Match {
        guard var name else { return inside }
        name.evidence.formUnion(inside.evidence)
        name.contradiction = name.contradiction ?? inside.contradiction
        return name
    }

    // MARK: Evidence

    /// Adds to the evidence that has led to an episode what else supports or contradicts it.
    private func match(
        _ file: AdoptableFile, _ number: Int, _ evidence: Set<Evidence>, _ reading: NameReading?, show: ShowID?,
        _ place: FilePlace
    ) -> Match {
        let episode = index.episodes[number]
        var match = Match(episode: number, evidence: evidence)
        if index.sizes[file.size]?.contains(number) ?? false { match.evidence.insert(sizeEvidence(number)) }
        if let day = reading?.day, evidence.isDisjoint(with: [.onlyDay]), days(of: episode).contains(day.number) {
            match.evidence.insert(.day)
        }
        if let known = episode.duration, let own = file.tags.duration, known >= 60, abs(known - own) <= 2 {
            match.evidence.insert(.duration)
        }
        let ofShow: [(Evidence, Bool)] = [
            (.showInName, show == episode.podcast), (.givenShow, only == episode.podcast),
            (.folder, place.shows.contains(episode.podcast)), (.album, place.albums.contains(episode.podcast)),
            (.distinctive, isDistinctive(number, evidence)),
        ]
        if let (evidence, _) = ofShow.first(where: \.1) { match.evidence.insert(evidence) }
        match.contradiction = contradiction(file, episode, reading, show: show, place)
        if match.contradiction == nil, hasTagOfAnother(file, episode, number) {
            match.contradiction = "the title in its tags is that of another episode"
            match.isTagConflict = true
        }
        return match
    }

    /// Whether a name is long enough to occur in one show only, and occurs once in the library.
    private func isDistinctive(_ number: Int, _ evidence: Set<Evidence>) -> Bool {
        if !evidence.isDisjoint(with: [.title, .cutTitle, .titleTag]) {
            let key = index.titles.keys[number]
            return key.count >= 20 && key.words.count >= 3 && index.titles[key.letters].count == 1
        }
        if evidence.contains(.url) {
            let key = index.urls.keys[number]
            let letters = key.letters.count { !$0.isNumber }
            return (letters >= 10 || key.count >= 20) && index.urls[key.letters].count == 1
        }
        let key = index.names.keys[number]
        return evidence.contains(.mountName) && index.names[key.letters].count == 1 && key.count >= 20
    }

    /// Returns why the file cannot be the episode's; `nil` if nothing speaks against it.
    private func contradiction(
        _ file: AdoptableFile, _ episode: EpisodeSummary, _ reading: NameReading?, show: ShowID?, _ place: FilePlace
    ) -> String? {
        if let show, show != episode.podcast { return "its name names another show" }
        if only == nil, !place.parentShows.isEmpty, !place.parentShows.contains(episode.podcast) {
            return "its folder is that of another show"
        }
        if only == nil, !place.albums.isEmpty, !place.albums.contains(episode.podcast) {
            return "the album in its tags is another show"
        }
        if let day = reading?.day, let published = episode.published, !days(of: episode).contains(day.number) {
            let own = GregorianDay(seconds: published, offset: episode.publishedOffset)?.description ?? "unknown"
            return "the date in its name is \(day), the episode's is \(own)"
        }
        if episode.sizeSource == .server, Self.differsClearly(file.size, from: episode.size) {
            return "it has \(ByteText.size(file.size)), the server's file \(ByteText.size(episode.size))"
        }
        let suffix = FileName.fileExtension(of: episode.name).lowercased()
        if !MediaContainer.fits(
            file.format, named: NameReading.fileExtension(of: file.name), episode: suffix, url: episode.url)
        {
            return "its format is not that of a .\(suffix) file"
        }
        return nil
    }

    /// Whether the title in the tags is exactly that of another episode of the show.
    private func hasTagOfAnother(_ file: AdoptableFile, _ episode: EpisodeSummary, _ number: Int) -> Bool {
        guard let title = file.tags.title.map({ ComparisonKey($0) }), title.letters != index.titles.keys[number].letters
        else { return false }
        return index.titles[title.letters].contains { index.episodes[$0].podcast == episode.podcast }
    }

    /// Whether a size differs from a confirmed one by more than tags and covers that programs add to a file.
    static func differsClearly(_ size: Int64, from confirmed: Int64) -> Bool {
        let difference = size - confirmed
        return difference < 0 ? -difference > max(64 << 10, confirmed / 100) : difference > (4 << 20) + confirmed / 50
    }

    /// The days on which an episode was published, in the time zones that programs use: the feed's, UTC, and this
    /// machine's.
    func days(of episode: EpisodeSummary) -> Set<Int64> { episode.days(alsoAt: localOffset) }
}
