import PodcastFeed
import PodcastProtocol

/// The shows that the folders and tags of a file name.
struct FilePlace {
    /// The shows whose folder the file's innermost folder is; a folder of a season or a year is passed over.
    private(set) var parentShows: Set<ShowID> = []
    /// The shows that any of the folders names.
    private(set) var shows: Set<ShowID> = []
    /// The shows that the album in the tags names.
    private(set) var albums: Set<ShowID> = []

    init(_ file: AdoptableFile, _ index: AdoptionIndex) {
        var isParent = true
        for folder in file.folders.reversed() {
            let found = index.shows(named: folder)
            if !found.shows.isEmpty {
                if shows.isEmpty { shows = found.shows }
                if isParent, found.isExact { parentShows = found.shows }
            }
            isParent = isParent && Self.isDivision(folder)
            if !shows.isEmpty { break }
        }
        if let album = file.tags.album {
            let found = index.shows(named: album)
            if found.isExact { albums = found.shows }
        }
    }

    /// Whether a folder divides a show: `Season 2`, `2019`.
    private static func isDivision(_ folder: String) -> Bool {
        let words = ComparisonKey(folder).words
        guard let last = words.last, words.count <= 2 else { return false }
        return last.allSatisfy(\.isNumber) || words.first.map { ["season", "staffel", "series"].contains($0) } ?? false
    }

    /// Returns the reading, and those without the name of a show at its start or end.
    func withoutShow(_ reading: NameReading, _ index: AdoptionIndex) -> [(NameReading, show: ShowID?)] {
        var found: [(NameReading, show: ShowID?)] = [(reading, nil)]
        let words = reading.key.words
        guard !words.isEmpty else { return found }
        for count in 1...min(words.count, Self.maxWords) {
            for (part, rest) in [
                (words[..<count], words[count...]), (words[(words.count - count)...], words[..<(words.count - count)]),
            ] {
                guard let named = index.shows[part.joined()] else { continue }
                var shorter = reading
                shorter.key = ComparisonKey(rest.joined(separator: " "))
                found += named.map { (shorter, $0) }
            }
        }
        return found
    }

    /// The maximum number of words of a show's name at the start or end of a file name.
    private static let maxWords = 12
}
