internal import Foundation
internal import Platform

/// A left-to-right reader of the words and numbers of a date.
struct DateReader {
    private let bytes: FeedBytes
    private var index = 0
    /// The numbers of the date without its time.
    private var numbers: [(value: Int, digits: Int)] = []
    private var words: [DateWord] = []
    /// Whether the date has the `W` of an ISO 8601 week, or an unknown word after a month.
    private var hasUnsupportedWord = false
    private var clock = Clock()
    private var zone: Zone?
    /// The assumption made about the date, for a diagnostic; `nil` if there is none.
    private(set) var assumption: String?

    private struct Clock {
        var hour: Int?
        var minute = 0
        var second = 0
        var isAfternoon: Bool?
    }

    private enum Zone {
        case offset(Int)
        case named(TimeZone)
    }

    init(bytes: FeedBytes) { self.bytes = bytes }

    /// Reads the whole text. Returns `nil` if it does not state a day, or states an invalid time.
    mutating func read() -> PublicationDate? {
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard readNumber() else { return nil }
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x80...:
                readWord()
            case UInt8(ascii: "+"), UInt8(ascii: "-"):
                readSign()
            case UInt8(ascii: "("):
                while index < bytes.count, bytes[index] != UInt8(ascii: ")") { index += 1 }
                index += 1
            default:
                index += 1
            }
        }
        return date()
    }

    // MARK: Result

    private mutating func date() -> PublicationDate? {
        guard !hasUnsupportedWord, let (writtenYear, month, day) = calendar() else { return nil }
        var year = writtenYear
        if year.digits <= 2 { year.value += year.value < 50 ? 2000 : 1900 }  // RFC 5322, section 4.3
        if year.digits == 3 { year.value += 1900 }
        var hour = clock.hour ?? 0
        if let isAfternoon = clock.isAfternoon {
            guard (1...12).contains(hour) || (hour > 12 && isAfternoon) else { return nil }
            if hour <= 12 { hour = hour % 12 + (isAfternoon ? 12 : 0) }
        }
        let local = PublicationDate(
            year: year.value, month: month, day: day, hour: hour, minute: clock.minute, second: clock.second)
        guard let local else { return nil }
        let offset =
            switch zone {
            case .offset(let offset): offset
            case .named(let zone): zone.offset(atLocal: local.seconds)
            case nil: 0
            }
        return PublicationDate(seconds: local.seconds - Int64(offset), offset: offset)
    }

    /// Returns year, month and day; `nil` if they are incomplete or ambiguous.
    private mutating func calendar() -> (year: (value: Int, digits: Int), month: Int, day: Int)? {
        if let months = months() {
            guard numbers.count >= 2 else { return nil }
            // The date is written as `2024 Jan 2`, or else as `2 Jan 2024` or `Jan 2 2024`.
            let isYearFirst = numbers[0].digits == 4
            let (year, day) = isYearFirst ? (numbers[0], numbers[1].value) : (numbers[1], numbers[0].value)
            return month(among: months, year: year.value, day: day).map { (year, $0, day) }
        }
        guard numbers.count > 0 else { return nil }
        let first = numbers[0]
        if first.digits == 8, numbers.count == 1 {
            return ((first.value / 10_000, 4), first.value / 100 % 100, first.value % 100)
        }
        guard numbers.count >= 3 else { return nil }
        if first.digits == 4 { return (first, numbers[1].value, numbers[2].value) }
        // Only numbers, with the year last: day and month can be told apart only if one exceeds 12 or both are equal.
        let second = numbers[1]
        guard numbers[2].digits == 4 else { return nil }
        if first.value > 12 || first.value == second.value { return (numbers[2], second.value, first.value) }
        return second.value > 12 ? (numbers[2], first.value, second.value) : nil
    }

    /// Returns the months that the words may name, bit 0 for January; `nil` if they name none. A word that may also be
    /// a weekday, such as `mar.` in French, is ignored if it contradicts another month.
    private func months() -> Int? {
        let named = words.lazy.filter { $0.months != 0 }
        var months = named.reduce(-1) { $0 & $1.months }
        if months == 0 { months = named.filter { $0.weekdays == 0 }.reduce(-1) { $0 & $1.months } }
        return months > 0 ? months : nil
    }

    /// Returns the only month in the set, or the one whose date falls on the named weekday; `nil` if the month is
    /// still ambiguous. The set has several months because some names mean one month in Croatian and another in Polish
    /// and Czech.
    private mutating func month(among months: Int, year: Int, day: Int) -> Int? {
        guard months & (months - 1) != 0 else { return months.trailingZeroBitCount + 1 }
        let weekdays = words.lazy.filter { $0.months == 0 }.reduce(0x7F) { $0 & $1.weekdays }
        let fitting = (1...12).filter { month in
            let date = months >> (month - 1) & 1 == 1 ? GregorianDay(year: year, month: month, day: day) : nil
            return date.map { weekdays >> $0.weekday & 1 == 1 } ?? false
        }
        guard fitting.count == 1, weekdays != 0x7F else { return nil }
        assumption = "the month is ambiguous; the one that fits the weekday is used"
        return fitting[0]
    }

    /// Whether day, month and year were read, so that a time may follow.
    private var hasDay: Bool { numbers.count >= 3 || (numbers.count == 2 && months() != nil) }

    // MARK: Numbers

    /// Reads a number, or a time such as `10:30`, `10.30` or `10h30`.
    ///
    /// - Returns: `false` if the date is invalid, for example because the number has more than eight digits or is the
    ///   seventh.
    private mutating func readNumber() -> Bool {
        let (value, digits) = digitRun()
        guard digits <= 8 else { return false }
        if readUnit(after: value) { return true }
        let separator = index + 1 < bytes.count && bytes[index + 1].isDigit ? bytes[index] : 0
        let isDotted = separator == UInt8(ascii: ".") && digits <= 2 && hasDay
        if clock.hour == nil, separator == UInt8(ascii: ":") || isDotted {
            return readTime(hour: value, separator: separator)
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: ":"), clock.hour == nil { return false }
        guard clock.hour == nil else { return add((value, digits)) }
        if digits == 6, numbers.count == 1, numbers[0].digits == 8 {
            // ISO 8601's basic format, `T101500`.
            clock = Clock(hour: value / 10_000, minute: value / 100 % 100, second: value % 100)
        } else if digits == 2, numbers.count == 3, numbers[0].digits == 4, bytes[index - 3] | 0x20 == UInt8(ascii: "t")
        {
            // ISO 8601 with the hour only, `T10Z`.
            clock.hour = value
        } else if digits == 4, hasDay {
            // `1000 UT`, as in military use.
            (clock.hour, clock.minute) = (value / 100, value % 100)
        } else {
            return add((value, digits))
        }
        return true
    }

    /// - Returns: Whether there was room for the number.
    private mutating func add(_ number: (value: Int, digits: Int)) -> Bool {
        numbers.append(number)
        return numbers.count <= 6
    }

    private mutating func readTime(hour: Int, separator: UInt8) -> Bool {
        clock.hour = hour
        var count = 1
        while count < 3, index + 1 < bytes.count, bytes[index] == separator, bytes[index + 1].isDigit {
            index += 1
            let (part, digits) = digitRun()
            guard digits <= 2 else { return false }
            if count == 1 { clock.minute = part } else { clock.second = part }
            count += 1
        }
        if count == 3, index + 1 < bytes.count, bytes[index + 1].isDigit,
            bytes[index] == UInt8(ascii: ".") || bytes[index] == UInt8(ascii: ",")
        {
            index += 1
            _ = digitRun()
        }
        return true
    }

    /// Reads the unit after a number, as in `10h30`, `10時30分` or `10시 30분`.
    ///
    /// - Returns: Whether there is one.
    private mutating func readUnit(after value: Int) -> Bool {
        guard index < bytes.count else { return false }
        if clock.hour == nil, hasDay, bytes[index] | 0x20 == UInt8(ascii: "h"),
            index + 1 == bytes.count || !bytes[index + 1].isLetter
        {
            index += 1
            clock.hour = value
            if index < bytes.count, bytes[index].isDigit { clock.minute = digitRun().value }
            return true
        }
        guard bytes[index] >= 0x80 else { return false }
        let rest = bytes[index...]
        func begins(_ units: [String]) -> Bool { units.contains { rest.starts(with: $0.utf8) } }
        if begins(["時", "时", "點", "点", "시"]) {
            clock.hour = value
        } else if clock.hour != nil, begins(["分", "분"]) {
            clock.minute = value
        } else if clock.hour != nil, begins(["秒", "초"]) {
            clock.second = value
        } else {
            return false
        }
        index += 3
        return true
    }

    private mutating func digitRun() -> (value: Int, digits: Int) {
        var value = 0
        var digits = 0
        while index < bytes.count, bytes[index].isDigit {
            if digits < 10 { value = value * 10 + Int(bytes[index] - UInt8(ascii: "0")) }
            digits += 1
            index += 1
        }
        return (value, digits)
    }

    // MARK: Words

    private mutating func readWord() {
        let start = index
        while index < bytes.count, bytes[index].isLetter || bytes[index] >= 0x80 { index += 1 }
        // Nearly all words in dates are English months and weekdays of three letters, or zones.
        if index - start <= 5, let word = DateWord.english(FeedBytes(rebasing: bytes[start..<index])) {
            if let offset = word.zone {
                if clock.hour != nil, zone == nil { zone = .offset(offset) }
            } else if clock.hour == nil || numbers.count < 2 {
                add(word)
            }
            return
        }
        let word = Substring(String(decoding: bytes[start..<index], as: UTF8.self).lowercased())
        if let isAfternoon = halfOfDay(word) {
            clock.isAfternoon = isAfternoon
        } else if clock.hour != nil, readZone(word, from: start) {
            return
        } else {
            add(DateWord(word), word)
        }
    }

    private mutating func add(_ word: DateWord, _ text: Substring = "") {
        if word.months != 0 || word.weekdays != 0 {
            if words.count < 4 { words.append(word) }
        } else if clock.hour == nil, !DateWord.fillers.contains(text) {
            hasUnsupportedWord = hasUnsupportedWord || text == "w" || (text.count >= 3 && months() != nil)
        }
    }

    /// Returns `true` for a word that means the afternoon, such as `pm`, `p.m.` or `午後`, `false` for one that means the
    /// morning, and `nil` for others.
    private mutating func halfOfDay(_ word: Substring) -> Bool? {
        if let isAfternoon = DateWord.isAfternoon(word) { return isAfternoon }
        guard word == "a" || word == "p" else { return nil }
        var next = index
        while next < bytes.count, bytes[next] == UInt8(ascii: ".") || bytes[next].isXMLSpace { next += 1 }
        guard next < bytes.count, bytes[next] | 0x20 == UInt8(ascii: "m"),
            next + 1 == bytes.count || !bytes[next + 1].isLetter
        else { return nil }
        index = next + 1
        return word == "p"
    }

    /// Reads the time zone after a time.
    ///
    /// - Returns: Whether the word is a zone, known or unknown.
    private mutating func readZone(_ word: Substring, from start: Int) -> Bool {
        guard zone == nil else { return true }
        if let name = DateWord.seasonalZones[word] {
            zone = TimeZone(identifier: name).map(Zone.named)
            assumption = "“\(word.uppercased())” is read as summer or winter time according to the date"
            return true
        }
        if let offset = DateWord.zones[word] {
            zone = .offset(offset)
            return true
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: "/") {
            while index < bytes.count, bytes[index].isLetter || "/_-+".utf8.contains(bytes[index]) { index += 1 }
            let name = String(decoding: bytes[start..<index], as: UTF8.self)
            zone = TimeZone(identifier: name).map(Zone.named)
            assumption = zone == nil ? Self.unknown(name) : "its offset is that of \(name)"
            return true
        }
        let known = DateWord(word)
        guard known.months == 0, known.weekdays == 0, word.allSatisfy(\.isASCII), (2...5).contains(word.count),
            !DateWord.fillers.contains(word)
        else { return false }
        assumption = Self.unknown(word.uppercased())
        return true
    }

    private static func unknown(_ zone: String) -> String {
        "the time zone “\(zone.prefix(40))” is unknown, so UTC is assumed"
    }

    /// Reads a `+` or `-`, which after a time starts a UTC offset and elsewhere is a separator.
    private mutating func readSign() {
        let sign = bytes[index] == UInt8(ascii: "-") ? -1 : 1
        index += 1
        guard clock.hour != nil, index < bytes.count, bytes[index].isDigit else { return }
        var (value, digits) = digitRun()
        if digits <= 2 {
            value *= 100
            if index + 1 < bytes.count, bytes[index] == UInt8(ascii: ":"), bytes[index + 1].isDigit {
                index += 1
                value += digitRun().value
            }
        }
        // Time zones range from -12:00 to +14:00; offsets above 14 hours are ignored.
        guard digits <= 4, value % 100 < 60, value <= 1400 else {
            assumption = "the UTC offset is invalid, so it is ignored"
            return
        }
        zone = .offset(sign * (value / 100 * 3600 + value % 100 * 60))
    }
}

extension TimeZone {
    /// Returns the UTC offset in seconds at a local time, in seconds since 1970-01-01.
    fileprivate func offset(atLocal seconds: Int64) -> Int {
        // The offset of the time as if it were UTC is right except within hours of a change of the zone's rule.
        let estimate = secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
        return secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds) - Double(estimate)))
    }
}
