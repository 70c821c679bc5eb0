import Foundation
import Platform
import PodcastFeed
import PodcastProtocol

/// One way to read the name of a downloaded file: the text that may be a title or the name in the media URL, and the
/// parts that a program has put around it.
struct NameReading {
    /// The key of the text, once all parts are removed.
    var key = ComparisonKey("")
    private var text: String
    /// A date in the name outside the text.
    var day: GregorianDay?
    /// The text in brackets at the end, without them: the id in the names of yt-dlp.
    var identifier: String?
    /// Whether a number was removed that may be part of the title: a counter of copies at the end or a track number at
    /// the start. The text then needs further evidence.
    var isLoose = false
    /// Whether the text in brackets may be a word of the title, unless it is the name in a media URL.
    var hasWordInBrackets = false
    /// Whether a program has cut the text and put a digest after it.
    var isCut = false

    private init(_ text: String) { self.text = text }

    private func replacing(_ text: some StringProtocol) -> NameReading {
        var copy = self
        copy.text = FileName.trimmedSpace(String(text))
        return copy
    }

    /// Returns the ways to read a name, those that change it least first.
    static func all(of fileName: String) -> [NameReading] {
        let stem = stem(of: fileName)
        var readings = [NameReading(stem)]
        if let decoded = stem.removingPercentEncoding, decoded != stem { readings.append(NameReading(decoded)) }
        let steps = [
            withoutDigest, withoutBrackets, { withoutDate($0, andTime: false) },
            // Digits after a date may be a time of day, or begin a file name, as in `2014-02-08_2014_final`.
            { $0.day == nil ? withoutDate($0, andTime: true) : nil }, withoutCounter, withoutTrack,
        ]
        for step in steps {
            readings += readings.compactMap(step)
        }
        for index in readings.indices { readings[index].key = ComparisonKey(readings[index].text) }
        var seen: Set<String> = []
        return readings.filter { seen.insert("\($0.key.letters)|\($0.day?.number ?? -1)|\($0.isLoose)").inserted }
    }

    /// Returns the name without its extension. A query that a program has stored with the name is removed as well.
    static func stem(of fileName: String) -> String {
        isMedia(fileName) ? FileName.stem(ofFile: withoutQuery(fileName)) : fileName
    }

    /// Returns the extension of a file name in lower case, without the query.
    static func fileExtension(of fileName: String) -> String {
        FileName.fileExtension(of: withoutQuery(fileName)).lowercased()
    }

    static func isMedia(_ fileName: String) -> Bool { isMedia(fileExtension: fileExtension(of: fileName)) }

    private static func isMedia(fileExtension suffix: String) -> Bool {
        MediaType.mediaExtensions.contains(suffix) && MediaType.extensions[suffix]?.major != .other
    }

    /// Removes a query after the extension of media: `a.mp3?token=1`. A title may have a question mark of its own.
    private static func withoutQuery(_ fileName: String) -> String {
        guard let mark = fileName.firstIndex(of: "?") else { return fileName }
        let name = String(fileName[..<mark])
        return isMedia(fileExtension: FileName.fileExtension(of: name).lowercased()) ? name : fileName
    }

    // MARK: Steps

    /// Removes `_` and an MD5 digest at the end, which AntennaPod puts after a title that it has cut.
    private static func withoutDigest(_ reading: NameReading) -> NameReading? {
        guard let underscore = reading.text.lastIndex(of: "_") else { return nil }
        let digest = reading.text[underscore...].dropFirst()
        guard digest.count == 32, digest.allSatisfy({ $0.isHexDigit }) else { return nil }
        var result = reading.replacing(reading.text[..<underscore])
        result.isCut = true
        return result
    }

    private static func withoutBrackets(_ reading: NameReading) -> NameReading? {
        guard reading.text.hasSuffix("]"), let open = reading.text.lastIndex(of: "["), open > reading.text.startIndex
        else {
            return nil
        }
        var result = reading.replacing(reading.text[..<open])
        let inside = String(reading.text[reading.text.index(after: open)...].dropLast())
        result.identifier = inside
        // An id has no spaces, and digits or both cases; `[bonus]` belongs to the title.
        let isID =
            !inside.contains(" ")
            && (inside.contains(where: \.isNumber) || inside.contains { "-_".contains($0) }
                || inside.contains(where: \.isUppercase) && inside.contains(where: \.isLowercase))
        result.hasWordInBrackets = !isID
        return result.text.isEmpty ? nil : result
    }

    /// Removes the first date: year, month and day, with or without separators.
    ///
    /// - Parameter andTime: Whether to remove the time of day after it as well, which must be there.
    private static func withoutDate(_ reading: NameReading, andTime: Bool) -> NameReading? {
        let bytes = Array(reading.text.utf8)
        for start in bytes.indices.dropLast(7) where start == 0 || !isDigit(bytes[start - 1]) {
            guard let (day, dateEnd, timeEnd) = date(in: bytes, at: start) else { continue }
            guard let end = andTime ? timeEnd : dateEnd else { return nil }
            let before = String(decoding: bytes[..<start], as: UTF8.self)
            let after = String(decoding: bytes[end...], as: UTF8.self)
            var result = reading.replacing("\(before) \(after)")
            result.day = day
            return result
        }
        return nil
    }

    private static func date(in bytes: [UInt8], at start: Int) -> (GregorianDay, end: Int, timeEnd: Int?)? {
        var index = start
        func number(_ count: Int) -> Int? {
            guard index + count <= bytes.count, bytes[index..<index + count].allSatisfy(isDigit) else { return nil }
            defer { index += count }
            return bytes[index..<index + count].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }
        func separator() -> UInt8? {
            guard index < bytes.count, "-_. ".utf8.contains(bytes[index]) else { return nil }
            defer { index += 1 }
            return bytes[index]
        }
        guard let year = number(4), (1990...2100).contains(year) else { return nil }
        let mark = separator()
        guard let month = number(2), separator() == mark, let number = number(2),
            let day = GregorianDay(year: year, month: month, day: number)
        else { return nil }
        let end = index
        guard end < bytes.count else { return (day, end, nil) }
        // A time of day, `T0800` or `-080000`.
        if "Tt-_ ".utf8.contains(bytes[end]) {
            let digits = bytes[(end + 1)...].prefix { isDigit($0) }
            if digits.count == 4 || digits.count == 6, digits.first.map({ $0 <= UInt8(ascii: "2") }) ?? false {
                return (day, end, end + 1 + digits.count)
            }
        }
        return isDigit(bytes[end]) ? nil : (day, end, nil)
    }

    /// Removes a counter of copies: ` (2)`, `-1`, `_2`, `.1`.
    private static func withoutCounter(_ reading: NameReading) -> NameReading? {
        var rest = reading.text[...]
        let isBracketed = rest.hasSuffix(")")
        if isBracketed { rest = rest.dropLast() }
        let digits = rest.reversed().prefix { $0.isASCII && $0.isNumber }.count
        guard (1...2).contains(digits) else { return nil }
        rest = rest.dropLast(digits)
        guard let mark = rest.last, isBracketed ? mark == "(" : "-_.".contains(mark) else { return nil }
        var result = reading.replacing(rest.dropLast())
        result.isLoose = true
        return result.text.isEmpty ? nil : result
    }

    /// Removes a track number: `012 - `, `12. `, `03_`.
    private static func withoutTrack(_ reading: NameReading) -> NameReading? {
        let digits = reading.text.prefix { $0.isASCII && $0.isNumber }
        guard (1...4).contains(digits.count) else { return nil }
        let rest = reading.text.dropFirst(digits.count).drop { " -_.)".contains($0) }
        guard rest.count < reading.text.count - digits.count, !rest.isEmpty else { return nil }
        var result = reading.replacing(rest)
        result.isLoose = true
        return result
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

/// The shows that the folders and tags of a file name.
struct FilePlace {
    /// The shows whose folder the file's innermost folder is; a folder of a season or a year is passed over.
    private(set) var parentShows: Set<ShowID> = []
    /// The shows that any of the folders names.
    private(set) var shows: Set<ShowID> = []
    /// The shows that the album in the tags names.
    private(set) var albums: Set<ShowID> = []

    init(_ file: AdoptableFile, _ index: AdoptionIndex) {
        let folders = file.folders.reversed().map { (name: $0, found: index.shows(named: $0)) }
        if let place = folders.firstIndex(where: { !$0.found.shows.isEmpty }) {
            let found = folders[place].found
            shows = found.shows
            if found.isExact, folders[..<place].allSatisfy({ Self.isDivision($0.name) }) { parentShows = shows }
        }
        if let found = file.tags.album.map(index.shows), found.isExact { albums = found.shows }
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
        // The maximum number of words of a show's name at the start or end of a file name.
        for count in 1...min(words.count, 12) {
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

}
