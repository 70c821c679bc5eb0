package import PodcastFeed

/// The day of a date in the feed's own time zone, independent of this machine's.
package struct CalendarDay: Sendable, Hashable, CustomStringConvertible {
    /// Days since 1970-01-01.
    package let number: Int64

    /// `nil` for years without four digits, which are mistakes in the feed.
    package init?(_ date: PublicationDate) {
        self.init(seconds: date.seconds, offset: date.offset)
    }

    package init?(seconds: Int64, offset: Int) {
        let (local, overflow) = seconds.addingReportingOverflow(Int64(offset))
        // 0001-01-01 and 9999-12-31 in days since 1970.
        guard !overflow else { return nil }
        let day = local / 86_400 - (local % 86_400 < 0 ? 1 : 0)
        guard (-719_162...2_932_896).contains(day) else { return nil }
        number = day
    }

    /// `2026-11-20` in the Gregorian calendar.
    package var description: String {
        // Converts days to year, month and day, counted from 0000-03-01 so that the leap day ends a year:
        // "chrono-Compatible Low-Level Date Algorithms", H. Hinnant, civil_from_days.
        let shifted = number + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let calendarMonth = month < 10 ? month + 3 : month - 9
        let year = yearOfEra + era * 400 + (calendarMonth <= 2 ? 1 : 0)
        return Self.padded(year, 4) + "-" + Self.padded(calendarMonth, 2) + "-" + Self.padded(day, 2)
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
