internal import Foundation
internal import Platform

/// The meaning of a word in a date.
struct DateWord {
    /// The months that the word names in any language, bit 0 for January.
    var months = 0
    /// The weekdays that the word names, bit 0 for Monday.
    var weekdays = 0
    /// The offset of the time zone that the word names, in seconds east of UTC.
    var zone: Int?

    /// - Parameter word: In lower case.
    init(_ word: Substring) {
        // `mar` is looked up in the table instead, because it may also be a weekday.
        if word.utf8.count == 3, let month = Self.english(word), month != 2 {
            months = 1 << month
        } else if let known = Self.table[word] {
            self = known
        } else if word.utf8.count > 3, word.allSatisfy(\.isASCII), let month = Self.english(word.prefix(3)) {
            // Words that start like an English month, such as `Sept` and `Janv`. Weekdays that start like one are in
            // the table, so they do not get here.
            months = 1 << month
        } else if let known = Self.abbreviations[word] {
            self = known
        }
    }

    private init(months: Int = 0, weekdays: Int = 0, zone: Int? = nil) {
        (self.months, self.weekdays, self.zone) = (months, weekdays, zone)
    }

    private func union(_ other: DateWord?) -> DateWord {
        DateWord(months: months | (other?.months ?? 0), weekdays: weekdays | (other?.weekdays ?? 0))
    }

    private static func english(_ word: Substring) -> Int? { englishMonths.firstIndex { $0 == word } }

    private static let englishMonths = GregorianDay.monthNames.map { Substring($0.lowercased()) }

    /// The languages of the European Union, Russian, Ukrainian and Turkish.
    private static let languages = [
        "bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "ga", "hr", "hu", "it", "lt", "lv", "mt", "nl",
        "pl", "pt", "ro", "ru", "sk", "sl", "sv", "tr", "uk",
    ]

    /// The words in the names and abbreviations of months and weekdays in `languages`, in each of their `spellings`.
    private static let table: [Substring: DateWord] = {
        var table: [Substring: DateWord] = [:]
        func add(_ name: String, _ word: DateWord) {
            for spelling in spellings(of: name.lowercased()) {
                for part in spelling.split(whereSeparator: { !$0.isLetter }) where part.count > 1 {
                    table[part] = word.union(table[part])
                }
            }
        }
        let formatter = DateFormatter()
        for language in languages {
            formatter.locale = Locale(identifier: language)
            for names in [
                formatter.monthSymbols, formatter.shortMonthSymbols, formatter.standaloneMonthSymbols,
                formatter.shortStandaloneMonthSymbols,
            ] {
                for (month, name) in names.enumerated() { add(name, DateWord(months: 1 << month)) }
            }
            for names in [
                formatter.weekdaySymbols, formatter.shortWeekdaySymbols, formatter.standaloneWeekdaySymbols,
                formatter.shortStandaloneWeekdaySymbols,
            ] {
                // Foundation's week begins on Sunday.
                for (day, name) in names.enumerated() { add(name, DateWord(weekdays: 1 << ((day + 6) % 7))) }
            }
        }
        return table
    }()

    /// Returns a name with its accents, without them, and with two letters for each umlaut.
    private static func spellings(of name: String) -> [String] {
        let scalars = name.decomposedStringWithCanonicalMapping.unicodeScalars
        let plain = scalars.filter { $0.properties.generalCategory != .nonspacingMark }.map { strokes[$0] ?? $0 }
        return [
            name, String(String.UnicodeScalarView(plain)),
            zip("äöü", "aou").reduce(name) { $0.replacing(String($1.0), with: "\($1.1)e") },
        ]
    }

    /// Letters whose stroke or missing dot is not a combining mark.
    private static let strokes: [Unicode.Scalar: Unicode.Scalar] = ["ł": "l", "ı": "i", "ø": "o", "ħ": "h"]

    /// The prefixes of the table's words, from three characters on, because publishers abbreviate freely. A prefix that
    /// several words share names the months and weekdays of all of them.
    private static let abbreviations: [Substring: DateWord] = table.reduce(into: [:]) { all, entry in
        for length in 3..<max(3, entry.key.count) {
            let prefix = entry.key.prefix(length)
            all[prefix] = entry.value.union(all[prefix])
        }
    }

    /// Words in a date that have no effect on its value: `10:00 Uhr`, `5 января 2024 года`.
    static let fillers: Set<Substring> = [
        "uhr", "klo", "ora", "ore", "года", "год", "року", "gada", "del", "the", "and",
    ]

    /// Returns `true` if a word, or the end of a run of Chinese, Japanese or Korean characters, means the afternoon or
    /// evening, `false` if it means the morning, and `nil` otherwise.
    static func isAfternoon(_ word: Substring) -> Bool? {
        if word == "pm" { return true }
        if word == "am" { return false }
        if word.utf8.count < 6 { return nil }
        if ["下午", "午後", "오후", "晚上", "中午"].contains(where: word.hasSuffix) { return true }
        if ["上午", "午前", "오전", "凌晨", "早上"].contains(where: word.hasSuffix) { return false }
        return nil
    }

    /// The offsets of zone abbreviations, in seconds east of UTC. RFC 822 defines those up to `pdt`; publishers use the
    /// others, too.
    static let zones: [Substring: Int] = {
        let hours: [(Substring, Double)] = [
            ("ut", 0), ("gmt", 0), ("z", 0), ("est", -5), ("edt", -4), ("cst", -6), ("cdt", -5), ("mst", -7),
            ("mdt", -6), ("pst", -8), ("pdt", -7), ("utc", 0), ("wet", 0), ("akst", -9), ("akdt", -8), ("hst", -10),
            ("ast", -4), ("adt", -3), ("nst", -3.5), ("ndt", -2.5), ("brt", -3), ("art", -3), ("bst", 1), ("west", 1),
            ("cet", 1), ("cest", 2), ("met", 1), ("mest", 2), ("mez", 1), ("mesz", 2), ("eet", 2), ("eest", 3),
            ("sast", 2), ("msk", 3), ("мск", 3), ("ist", 5.5), ("sgt", 8), ("hkt", 8), ("awst", 8), ("jst", 9),
            ("kst", 9), ("acst", 9.5), ("acdt", 10.5), ("aest", 10), ("aedt", 11), ("nzst", 12), ("nzdt", 13),
        ]
        return Dictionary(uniqueKeysWithValues: hours.map { ($0, Int($1 * 3600)) })
    }()

    /// The IANA zones of abbreviations that mean summer time or winter time, depending on the date.
    static let seasonalZones: [Substring: String] = [
        "et": "America/New_York", "ct": "America/Chicago", "mt": "America/Denver", "pt": "America/Los_Angeles",
        "akt": "America/Anchorage", "at": "America/Halifax",
    ]

    /// Returns an English month or weekday of three letters, or a zone. It is recognized without creating a string,
    /// because nearly all words in dates are among these.
    static func english(_ bytes: FeedBytes) -> DateWord? {
        var packed: UInt64 = 0
        for byte in bytes {
            guard byte.isLetter else { return nil }
            packed = packed << 8 | UInt64(byte | 0x20)
        }
        return english[packed]
    }

    private static let english: [UInt64: DateWord] = {
        var words: [UInt64: DateWord] = [:]
        func packed(_ word: Substring) -> UInt64 { word.utf8.reduce(0) { $0 << 8 | UInt64($1) } }
        for (name, offset) in zones where name.allSatisfy(\.isASCII) { words[packed(name)] = DateWord(zone: offset) }
        for name in englishMonths + ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] {
            words[packed(name)] = DateWord(name)
        }
        return words
    }()
}
