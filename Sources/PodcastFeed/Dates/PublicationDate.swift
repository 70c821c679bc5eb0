package import Platform

/// A time, with the publisher's UTC offset, which determines the calendar day.
package struct PublicationDate: Sendable, Equatable, Codable {
    /// Seconds since 1970-01-01 UTC.
    package var seconds: Int64
    /// The UTC offset in seconds, as in the feed; 0 if it has none.
    package var offset: Int

    package init(seconds: Int64, offset: Int) {
        self.seconds = seconds
        self.offset = offset
    }
}

extension PublicationDate {
    /// The time in ISO 8601, UTC: `2026-11-20T10:00:00Z`.
    package var iso8601: String {
        let (day, second) = dayAndSecond
        let (year, month, dayOfMonth) = day.components
        // Write to a single buffer, because formatting dates is a significant cost of listing a large feed.
        var text: [UInt8] = []
        text.reserveCapacity(20)
        func append(_ number: Int, _ width: Int, _ mark: Unicode.Scalar) {
            let digits = String(number).utf8
            text.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: max(0, width - digits.count)))
            text.append(contentsOf: digits)
            text.append(UInt8(ascii: mark))
        }
        append(year, 4, "-")
        append(month, 2, "-")
        append(dayOfMonth, 2, "T")
        append(second / 3600, 2, ":")
        append(second / 60 % 60, 2, ":")
        append(second % 60, 2, "Z")
        return String(decoding: text, as: UTF8.self)
    }

    /// The time in RFC 822 with four digits for the year, UTC: `Fri, 20 Nov 2026 10:00:00 GMT`.
    package var rfc822: String {
        let (day, second) = dayAndSecond
        let (year, month, dayOfMonth) = day.components
        let weekday = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][day.weekday]
        let clock = [second / 3600, second / 60 % 60, second % 60].map { GregorianDay.padded($0, 2) }.joined(
            separator: ":")
        return "\(weekday), \(GregorianDay.padded(dayOfMonth, 2)) \(GregorianDay.monthNames[month - 1]) "
            + "\(GregorianDay.padded(year, 4)) \(clock) GMT"
    }

    /// The day in the publisher's time zone; `nil` outside the years 1 to 9999: such a date is a mistake in the feed.
    package var day: GregorianDay? { GregorianDay(seconds: seconds, offset: offset) }

    /// The day in UTC, and the seconds into it. A day outside ``GregorianDay``'s range is replaced by 1970-01-01.
    private var dayAndSecond: (day: GregorianDay, second: Int) {
        guard let day = GregorianDay(seconds: seconds) ?? GregorianDay(number: 0) else {
            preconditionFailure("1970 is a year")
        }
        return (day, Int((seconds % 86_400 + 86_400) % 86_400))
    }

    /// Creates a time from calendar and clock values; `nil` if the day or time does not exist, or the year is not from
    /// 1900 to 9999.
    ///
    /// Second 60 is a leap second and becomes 59; 24:00:00 is the end of the day.
    init?(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0, offset: Int = 0) {
        guard (1900...9999).contains(year), let date = GregorianDay(year: year, month: month, day: day),
            (0...59).contains(minute), (0...60).contains(second),
            (0...23).contains(hour) || (hour == 24 && minute == 0 && second == 0)
        else { return nil }
        let local = date.number * 86_400 + Int64(hour * 3600 + minute * 60 + min(second, 59))
        self.init(seconds: local - Int64(offset), offset: offset)
    }
}

extension PublicationDate {
    /// Parses a date in any spelling used in feeds; `nil` if it has no valid day, or an invalid time.
    ///
    /// Accepts RFC 822 and its successors (without a weekday or with any, even a wrong one; two-digit years; no
    /// seconds; named zones), ISO 8601 and RFC 3339, `asctime`, American `January 2, 2024 3:04 PM`, and these with the
    /// month names of the languages of ``DateWord``, or as written in Chinese, Japanese and Korean. An invalid time is
    /// never corrected, because a wrong guess could change the order of the episodes.
    package init?(parsing text: some StringProtocol) {
        var text = String(text)
        guard let read = text.withUTF8({ PublicationDate.read($0) }) else { return nil }
        self = read.date
    }

    /// Returns the date in UTF-8 text, and the assumption made about it, if any, for a diagnostic.
    static func read(_ bytes: FeedBytes) -> (date: PublicationDate, assumption: String?)? {
        // A date has at most some forty characters; a comment in parentheses makes it slightly longer.
        guard bytes.count <= 200 else { return nil }
        if bytes.contains(where: { $0 >= 0x80 }) { return plain(bytes).withUnsafeBufferPointer { readPlain($0) } }
        return readPlain(bytes)
    }

    private static func readPlain(_ bytes: FeedBytes) -> (date: PublicationDate, assumption: String?)? {
        var reader = DateReader(bytes: bytes)
        return reader.read().map { ($0, reader.assumption) }
    }

    /// Returns the text with ASCII characters in place of Unicode's dashes and minus, full-width characters, and spaces
    /// of any width; invisible characters are removed.
    private static func plain(_ bytes: FeedBytes) -> [UInt8] {
        var text: [UInt8] = []
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            switch scalar.value {
            case 0x2010...0x2015, 0x2212: text.append(UInt8(ascii: "-"))
            case 0xFF01...0xFF5E: text.append(UInt8(scalar.value - 0xFEE0))
            case 0xA0, 0x2000...0x200A, 0x202F, 0x3000: text.append(0x20)
            case 0x200B...0x200F, 0xFEFF: break
            default: text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
        return text
    }
}
