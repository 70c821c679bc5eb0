import Foundation
import Platform
import PodcastProtocol

/// The episodes by everything that a file may show of them. Episodes are numbered by their place in `episodes`.
struct AdoptionIndex {
    /// A show and a day, as its number.
    struct DayOfShow: Hashable {
        var show: ShowID
        var day: Int64
    }

    let episodes: [AdoptableEpisode]
    private(set) var titleKeys: [ComparisonKey] = []
    private(set) var urlKeys: [ComparisonKey] = []
    private(set) var nameKeys: [ComparisonKey] = []
    private(set) var titles: [String: [Int]] = [:]
    private(set) var asciiTitles: [String: [Int]] = [:]
    private(set) var urls: [String: [Int]] = [:]
    private(set) var names: [String: [Int]] = [:]
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

    init(shows: [Subscription], episodes: [AdoptableEpisode]) {
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

    private mutating func add(_ episode: AdoptableEpisode, _ number: Int) {
        let title = ComparisonKey(episode.title, joinsNumbers: true)
        let url = ComparisonKey(Self.fileName(ofURL: episode.url), joinsNumbers: true)
        let name = ComparisonKey(FileName.stem(ofFile: episode.name))
        titleKeys.append(title)
        urlKeys.append(url)
        nameKeys.append(name)
        if !title.letters.isEmpty {
            titles[title.letters, default: []].append(number)
            sortedTitles.append((title.letters, number))
            if let ascii = title.ascii { asciiTitles[ascii, default: []].append(number) }
        }
        if !url.letters.isEmpty { urls[url.letters, default: []].append(number) }
        let path = FileName.stem(ofFile: String(Self.path(of: episode.url).split(separator: "/").last ?? ""))
        pathNames.insert(ComparisonKey(path.removingPercentEncoding ?? path).letters)
        // A name that is only the title is no further evidence.
        if !name.letters.isEmpty, name.letters != title.letters { names[name.letters, default: []].append(number) }
        if episode.hasKnownSize {
            sizes[episode.size.bytes, default: []].append(number)
        } else {
            showsWithUnknownSizes.insert(episode.show)
        }
        for day in episode.days() { byDay[DayOfShow(show: episode.show, day: day), default: []].append(number) }
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
        let decoded = name.removingPercentEncoding ?? name
        return NameReading.stem(of: decoded)
    }

    // MARK: Queries

    /// Returns the episodes with a guid, otherwise those with a media URL.
    func episodes(guid: String?, url: String) -> [Int] {
        if let guid, let found = guids[guid] {
            if found.count == 1 { return found }
            let exact = found.filter {
                EpisodeMatcher.comparable(url: episodes[$0].url) == EpisodeMatcher.comparable(url: url)
            }
            return exact.isEmpty ? found : exact
        }
        return addresses[EpisodeMatcher.comparable(url: url)] ?? []
    }

    /// Returns the episodes whose titles begin with the letters.
    func beginning(with letters: String) -> [Int] {
        Self.range(of: letters, in: sortedTitles, by: \.letters).map { sortedTitles[$0].episode }
    }

    /// Returns the shows whose title or folder has this name, or that a long folder name begins.
    func shows(named name: String) -> (shows: Set<ShowID>, isExact: Bool) {
        let key = ComparisonKey(name)
        if let found = shows[key.letters] { return (found, true) }
        guard key.count >= Self.shortestFolder else { return ([], false) }
        let found = Self.range(of: key.letters, in: sortedShows, by: \.letters).map { sortedShows[$0].show }
        return (Set(found), false)
    }

    /// The minimum number of letters of a folder's name that a program may have cut. gPodder cuts at 60 characters.
    private static let shortestFolder = 20

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
