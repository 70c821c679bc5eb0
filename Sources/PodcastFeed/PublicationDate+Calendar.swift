extension PublicationDate {
    /// The moment as ISO 8601 in UTC, `2026-11-20T10:00:00Z`.
    package var iso8601: String {
        let (day, second) = dayAndSecond
        let (year, month, dayOfMonth) = Self.civil(fromDay: day)
        // One buffer: of a feed with many items this is one of the costs of listing it.
        var text: [UInt8] = []
        text.reserveCapacity(20)
        func put(_ number: Int, _ width: Int, _ mark: Unicode.Scalar) {
            let digits = String(number).utf8
            text.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: max(0, width - digits.count)))
            text.append(contentsOf: digits)
            text.append(UInt8(ascii: mark))
        }
        put(year, 4, "-")
        put(month, 2, "-")
        put(dayOfMonth, 2, "T")
        put(second / 3600, 2, ":")
        put(second / 60 % 60, 2, ":")
        put(second % 60, 2, "Z")
        return String(decoding: text, as: UTF8.self)
    }

    /// The moment as RFC 822 has it, with four digits for the year, in UTC: `Fri, 20 Nov 2026 10:00:00 GMT`.
    package var rfc822: String {
        let (day, second) = dayAndSecond
        let (year, month, dayOfMonth) = Self.civil(fromDay: day)
        // 1970-01-01 was a Thursday.
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][(day % 7 + 7) % 7]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let clock = [second / 3600, second / 60 % 60, second % 60].map { Self.padded($0, 2) }.joined(separator: ":")
        return "\(weekday), \(Self.padded(dayOfMonth, 2)) \(months[month - 1]) \(Self.padded(year, 4)) \(clock) GMT"
    }

    /// Days since 1970-01-01, and seconds into the day.
    private var dayAndSecond: (day: Int, second: Int) {
        let (day, second) = Int(seconds).quotientAndRemainder(dividingBy: 86_400)
        return second < 0 ? (day - 1, second + 86_400) : (day, second)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// A moment from the numbers of a calendar and a clock; `nil` when no such day or time exists.
    ///
    /// Second 60 is a leap second and becomes 59; 24:00:00 is the end of the day.
    init?(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0, offset: Int = 0) {
        guard (1900...9999).contains(year), (1...12).contains(month), day >= 1,
            day <= Self.length(ofMonth: month, year: year), (0...59).contains(minute), (0...60).contains(second),
            (0...23).contains(hour) || (hour == 24 && minute == 0 && second == 0)
        else { return nil }
        let days = Self.day(year: year, month: month, day: day)
        let local = days * 86_400 + hour * 3600 + minute * 60 + min(second, 59)
        self.init(seconds: Int64(local - offset), offset: offset)
    }

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: (year.isMultiple(of: 4) && !year.isMultiple(of: 100)) || year.isMultiple(of: 400) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 of a day of the Gregorian calendar, counted in eras of 400 years of 146,097 days from 1
    /// March, so that the leap day is the last of its year.
    private static func day(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func civil(fromDay day: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
