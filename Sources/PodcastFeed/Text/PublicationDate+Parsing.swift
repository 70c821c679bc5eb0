extension PublicationDate {
    /// Parses a date in any spelling used in feeds; `nil` if it names no day, or an invalid time.
    ///
    /// Accepts RFC 822 and its successors (any weekday, also a wrong one, or none; full month names; two-digit years;
    /// no seconds; named zones), ISO 8601 and RFC 3339, `asctime`, and American `January 2, 2024 3:04 PM`. A wrong hour
    /// is never corrected: a guess would sort an old episode as today's.
    package init?(parsing text: some StringProtocol) {
        var text = String(text)
        guard let date = text.withUTF8({ PublicationDate(parsing: $0) }) else { return nil }
        self = date
    }

    /// Parses a date in UTF-8.
    init?(parsing bytes: FeedBytes) {
        var reader = DateReader(bytes: bytes)
        guard let date = reader.read() else { return nil }
        self = date
    }
}

/// A left-to-right reader of the words and numbers of a date.
private struct DateReader {
    private let bytes: FeedBytes
    private var index = 0
    private var numbers = Numbers()
    private var month: Int?
    /// Whether an unknown word was found where only a month can be.
    private var isUncertain = false
    private var time: (hour: Int, minute: Int, second: Int)?
    private var isAfternoon: Bool?
    private var offset: Int?

    init(bytes: FeedBytes) {
        self.bytes = bytes
    }

    mutating func read() -> PublicationDate? {
        // A date has at most some forty characters; comments make it slightly longer.
        guard bytes.count <= 200 else { return nil }
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard readNumber() else { return nil }
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
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

    private func date() -> PublicationDate? {
        guard !isUncertain, let (writtenYear, month, day) = calendar() else { return nil }
        var year = writtenYear
        if year.digits <= 2 { year.value += year.value < 50 ? 2000 : 1900 }  // RFC 5322, section 4.3
        if year.digits == 3 { year.value += 1900 }
        var hour = time?.hour ?? 0
        if let isAfternoon {
            guard (1...12).contains(hour) || (hour > 12 && isAfternoon) else { return nil }
            if hour <= 12 { hour = hour % 12 + (isAfternoon ? 12 : 0) }
        }
        return PublicationDate(
            year: year.value, month: month, day: day, hour: hour, minute: time?.minute ?? 0,
            second: time?.second ?? 0, offset: offset ?? 0)
    }

    private func calendar() -> (year: (value: Int, digits: Int), month: Int, day: Int)? {
        if let month {
            guard numbers.count >= 2 else { return nil }
            // `2024 Jan 2`, else `2 Jan 2024` and `Jan 2 2024`.
            return numbers[0].digits == 4
                ? (numbers[0], month, numbers[1].value) : (numbers[1], month, numbers[0].value)
        }
        guard numbers.count > 0 else { return nil }
        let first = numbers[0]
        if first.digits == 8, numbers.count == 1 {
            return ((first.value / 10_000, 4), first.value / 100 % 100, first.value % 100)
        }
        guard numbers.count >= 3 else { return nil }
        if first.digits == 4 { return (first, numbers[1].value, numbers[2].value) }
        // Only numbers, with the year last: whether the day is first or second shows only if it cannot be a month.
        let second = numbers[1]
        guard numbers[2].digits == 4 else { return nil }
        if first.value > 12 || first.value == second.value { return (numbers[2], second.value, first.value) }
        return second.value > 12 ? (numbers[2], first.value, second.value) : nil
    }

    /// Reads a number, or a time if a colon follows; returns `false` if it has too many digits or comes too late.
    private mutating func readNumber() -> Bool {
        let (value, digits) = digitRun()
        guard digits <= 8 else { return false }
        guard index < bytes.count, bytes[index] == UInt8(ascii: ":"), time == nil else {
            // ISO 8601's basic format, `T101500`.
            if time == nil, digits == 6, numbers.count == 1, numbers[0].digits == 8 {
                time = (value / 10_000, value / 100 % 100, value % 100)
            } else if time == nil, digits == 2, numbers.count == 3, numbers[0].digits == 4, follows(letter: "t") {
                // ISO 8601 with the hour only, `T10Z`.
                time = (value, 0, 0)
            } else {
                return numbers.append((value, digits))
            }
            return true
        }
        var parts: InlineArray<3, Int> = [value, 0, 0]
        var count = 1
        while count < 3, index + 1 < bytes.count, bytes[index] == UInt8(ascii: ":"), bytes[index + 1].isDigit {
            index += 1
            let (part, digits) = digitRun()
            guard digits <= 2 else { return false }
            parts[count] = part
            count += 1
        }
        guard count >= 2 else { return false }
        if count == 3, index + 1 < bytes.count, bytes[index + 1].isDigit,
            bytes[index] == UInt8(ascii: ".") || bytes[index] == UInt8(ascii: ",")
        {
            index += 1
            _ = digitRun()
        }
        time = (parts[0], parts[1], parts[2])
        return true
    }

    /// Whether a letter precedes the two digits just read.
    private func follows(letter: Unicode.Scalar) -> Bool {
        index >= 3 && bytes[index - 3] | 0x20 == UInt8(ascii: letter)
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

    private mutating func readWord() {
        var word: UInt64 = 0
        var length = 0
        while index < bytes.count, bytes[index] | 0x20 >= UInt8(ascii: "a"), bytes[index] | 0x20 <= UInt8(ascii: "z") {
            if length < 8 { word = word << 8 | UInt64(bytes[index] | 0x20) }
            length += 1
            index += 1
        }
        if length == 2, word == DateWords.am || word == DateWords.pm {
            isAfternoon = word == DateWords.pm
        } else if time != nil {
            if offset == nil, length <= 4 { offset = DateWords.zones[word] }
        } else if length >= 3, let number = DateWords.month(word >> UInt64(8 * (min(length, 8) - 3))) {
            // The last one counts: before a French month `mar.` is a Tuesday.
            month = number
        } else if (month != nil && length >= 3) || (length == 1 && word == UInt64(UInt8(ascii: "w"))) {
            isUncertain = true
        }
    }

    private mutating func readSign() {
        let sign = bytes[index] == UInt8(ascii: "-") ? -1 : 1
        index += 1
        guard time != nil, index < bytes.count, bytes[index].isDigit else { return }
        var (value, digits) = digitRun()
        if digits <= 2 {
            value *= 100
            if index + 1 < bytes.count, bytes[index] == UInt8(ascii: ":"), bytes[index + 1].isDigit {
                index += 1
                value += digitRun().value
            }
        }
        // Time zones range from -12:00 to +14:00; other values are ignored.
        guard digits <= 4, value % 100 < 60, value <= 1400 else { return }
        offset = sign * (value / 100 * 3600 + value % 100 * 60)
    }
}

/// The numbers of a date without its time: at most six.
private struct Numbers {
    private var numbers = InlineArray<6, (value: Int, digits: Int)>(repeating: (0, 0))
    private(set) var count = 0

    subscript(index: Int) -> (value: Int, digits: Int) { numbers[index] }

    /// Appends a number.
    ///
    /// - Returns: Whether there was space for it.
    mutating func append(_ number: (value: Int, digits: Int)) -> Bool {
        guard count < numbers.count else { return false }
        numbers[count] = number
        count += 1
        return true
    }
}

/// Words of dates as numbers: their letters in lower case, one per byte.
private enum DateWords {
    static let am = packed("am")
    static let pm = packed("pm")

    /// Returns the month for its first three letters, which differ from those of all English weekdays.
    static func month(_ word: UInt64) -> Int? {
        months.firstIndex(of: word).map { $0 + 1 }
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ].map(packed)

    /// UTC offsets in seconds. Those up to `pdt` are RFC 822's; publishers also use the others.
    static let zones: [UInt64: Int] = {
        let hours: [(String, Double)] = [
            ("ut", 0), ("gmt", 0), ("z", 0), ("est", -5), ("edt", -4), ("cst", -6), ("cdt", -5), ("mst", -7),
            ("mdt", -6), ("pst", -8), ("pdt", -7), ("utc", 0), ("wet", 0), ("akst", -9), ("akdt", -8), ("hst", -10),
            ("ast", -4), ("adt", -3), ("nst", -3.5), ("ndt", -2.5), ("brt", -3), ("art", -3), ("bst", 1), ("west", 1),
            ("cet", 1), ("cest", 2), ("met", 1), ("mest", 2), ("mez", 1), ("mesz", 2), ("eet", 2), ("eest", 3),
            ("sast", 2), ("msk", 3), ("ist", 5.5), ("sgt", 8), ("hkt", 8), ("awst", 8), ("jst", 9), ("kst", 9),
            ("acst", 9.5), ("acdt", 10.5), ("aest", 10), ("aedt", 11), ("nzst", 12), ("nzdt", 13),
        ]
        return Dictionary(uniqueKeysWithValues: hours.map { (packed($0), Int($1 * 3600)) })
    }()

    private static func packed(_ word: String) -> UInt64 {
        word.utf8.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
