internal import Glibc

/// A day of the proleptic Gregorian calendar, as days since 1970-01-01.
package struct GregorianDay: Sendable, Hashable, CustomStringConvertible {
    /// The number of days since 1970-01-01.
    package let number: Int64

    /// Creates the day from its number of days since 1970-01-01; `nil` outside the years 1 to 9999.
    package init?(number: Int64) {
        guard (-719_162...2_932_896).contains(number) else { return nil }
        self.number = number
    }

    /// Creates the day of a time at an offset from UTC, both in seconds; `nil` outside the years 1 to 9999.
    package init?(seconds: Int64, offset: Int = 0) {
        let (local, overflow) = seconds.addingReportingOverflow(Int64(offset))
        if overflow { return nil }
        self.init(number: local / 86_400 - (local % 86_400 < 0 ? 1 : 0))
    }

    /// Creates the day of a date; `nil` if there is no such day, or the year is not 1 to 9999. The corresponding C
    /// function is `timegm`, which turns a day beyond the end of a month into one of the next month.
    package init?(year: Int, month: Int, day: Int) {
        guard (1...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else { return nil }
        var time = tm()
        (time.tm_year, time.tm_mon, time.tm_mday) = (Int32(year - 1_900), Int32(month - 1), Int32(day))
        number = Int64(timegm(&time)) / 86_400
        guard time.tm_mday == Int32(day) else { return nil }
    }

    /// Year, month and day of the number. The corresponding C function is `gmtime_r`.
    package var components: (year: Int, month: Int, day: Int) {
        var seconds = time_t(number * 86_400)
        var time = tm()
        gmtime_r(&seconds, &time)
        return (Int(time.tm_year) + 1_900, Int(time.tm_mon) + 1, Int(time.tm_mday))
    }

    /// The day of the week, 0 for Monday. (1970-01-01 was a Thursday.)
    package var weekday: Int { Int((number % 7 + 10) % 7) }

    /// The English names of the months, abbreviated as in dates of HTTP and mail.
    package static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `2026-11-20`.
    package var description: String {
        let (year, month, day) = components
        return [(year, 4), (month, 2), (day, 2)].map(Self.padded).joined(separator: "-")
    }

    /// Returns the number with leading zeros, at least `width` digits long.
    package static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
