import Foundation
import PodcastProtocol

/// The episodes by everything that a file may show of them. Episodes are numbered by their place in `episodes`.
struct AdoptionIndex {
    /// A show and a day, as its number.
    struct DayOfShow: Hashable {
        var show: ShowID
        var day: Int64
    }

    /// The episodes by one of their texts.
    struct Texts {
        private(set) var keys: [ComparisonKey] = []
        private var episodes: [String: [Int]] = [:]

        /// - Parameter isEvidence: Whether the text may identify the episode.
        fileprivate mutating func append(_ key: ComparisonKey, isEvidence: Bool = true) {
            if isEvidence, !key.letters.isEmpty { episodes[key.letters, default: []].append(keys.count) }
            keys.append(key)
        }

        subscript(letters: String) -> [Int] { episodes[letters] ?? [] }

        /// Returns the episodes with the letters and numbers of a text.
        subscript(equalTo key: ComparisonKey) -> [Int] {
            self[key.letters].filter { keys[$0].agreement(withNumbersOf: key) == .equal }
        }
    }

    let episodes: [EpisodeSummary]
    private(set) var titles = Texts()
    private(set) var urls = Texts()
    private(set) var names = Texts()
    private(set) var asciiTitles: [String: [Int]] = [:]
    /// The names in the media URLs without their queries, for ids in brackets.
    private(set) var pathNames: Set<String> = []
    private(set) var sizes: [Int64: [Int]] = [:]
    private(set) var byDay: [DayOfShow: [Int]] = [:]
    /// The shows with an episode whose size is not known.
    private(set) var showsWithUnknownSizes: Set<ShowID> = []
    /// The shows by title and by folder.
    private(set) var shows: [String: Set<ShowID>] = [:]
    private var guids: [String: [Int]] = [:]
    private var addresses: [String: [Int]] = [:]
    /// The titles in the order of their bytes, for a search by their beginnings.
    private var sortedTitles: [(letters: String, episode: Int)] = []
    private var sortedShows: [(letters: String, show: ShowID)] = []

    init(shows: [Subscription], episodes: [EpisodeSummary]) {
        self.episodes = episodes
        for show in shows {
            for key in [ComparisonKey(show.title), ComparisonKey(show.name)] where !key.letters.isEmpty {
                self.shows[key.letters, default: []].insert(show.podcast)
                if let ascii = key.ascii { self.shows[ascii, default: []].insert(show.podcast) }
                sortedShows.append((key.letters, show.podcast))
            }
        }
        sortedShows.sort { $0.letters < $1.letters }
        for (number, episode) in episodes.enumerated() { add(episode, number) }
        sortedTitles.sort { $0.letters < $1.letters }
    }

    private mutating func add(_ episode: EpisodeSummary, _ number: Int) {
        let title = ComparisonKey(episode.title, joinsNumbers: true)
        titles.append(title)
        if !title.letters.isEmpty { sortedTitles.append((title.letters, number)) }
        if let ascii = title.ascii { asciiTitles[ascii, default: []].append(number) }
        urls.append(ComparisonKey(Self.fileName(ofURL: episode.url), joinsNumbers: true))
        // A name that is only the title is no further evidence.
        let name = ComparisonKey(FileName.stem(ofFile: episode.name))
        names.append(name, isEvidence: name.letters != title.letters)
        let path = FileName.stem(ofFile: String(Self.path(of: episode.url).split(separator: "/").last ?? ""))
        pathNames.insert(ComparisonKey(path.removingPercentEncoding ?? path).letters)
        if episode.hasKnownSize {
            sizes[episode.size, default: []].append(number)
        } else {
            showsWithUnknownSizes.insert(episode.podcast)
        }
        for day in episode.days() { byDay[DayOfShow(show: episode.podcast, day: day), default: []].append(number) }
        if let guid = episode.guid { guids[guid, default: []].append(number) }
        addresses[EpisodeMatcher.comparable(url: episode.url), default: []].append(number)
    }

    private static func path(of url: some StringProtocol) -> Substring {
        Substring(url.prefix { $0 != "?" && $0 != "#" })
    }

    /// Returns the name of the file that a program stores by default: the last component of the URL's path, decoded,
    /// without its extension. For a script it includes the query, which names the file.
    static func fileName(ofURL url: String) -> String {
        let url = url.prefix { $0 != "#" }
        let path = path(of: url)
        var name = String(path.split(separator: "/").last ?? "")
        if path.count < url.count, !NameReading.isMedia(name) { name += String(url.dropFirst(path.count)) }
        return NameReading.stem(of: name.removingPercentEncoding ?? name)
    }

    // MARK: Queries

    /// Returns the episodes with a guid, otherwise those with a media URL.
    func episodes(guid: String?, url: String) -> [Int] {
        let url = EpisodeMatcher.comparable(url: url)
        guard let guid, let found = guids[guid] else { return addresses[url] ?? [] }
        let exact = found.filter { EpisodeMatcher.comparable(url: episodes[$0].url) == url }
        return exact.isEmpty ? found : exact
    }

    /// Returns the episodes whose titles begin with the letters.
    func beginning(with letters: String) -> [Int] {
        Self.range(of: letters, in: sortedTitles, by: \.letters).map { sortedTitles[$0].episode }
    }

    /// Returns the shows whose title or folder has this name, or that a long folder name begins.
    func shows(named name: String) -> (shows: Set<ShowID>, isExact: Bool) {
        let key = ComparisonKey(name)
        if let found = shows[key.letters] { return (found, true) }
        // The minimum number of letters of a folder's name that a program may have cut. gPodder cuts at 60 characters.
        guard key.count >= 20 else { return ([], false) }
        let found = Self.range(of: key.letters, in: sortedShows, by: \.letters).map { sortedShows[$0].show }
        return (Set(found), false)
    }

    /// Returns the indices of the elements whose texts begin with a text. The elements are sorted by their texts.
    private static func range<Element>(
        of text: String, in sorted: [Element], by letters: (Element) -> String
    ) -> Range<Int> {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if letters(sorted[middle]) < text { low = middle + 1 } else { high = middle }
        }
        var end = low
        while end < sorted.count, letters(sorted[end]).hasPrefix(text) { end += 1 }
        return low..<end
    }
}
