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

    /// Creates the day of a date; `nil` if there is no such day, or the year is not 1 to 9999.
    ///
    /// Counts from 1 March in eras of 400 years (146,097 days), so that the leap day is the last day of its year
    /// ("chrono-Compatible Low-Level Date Algorithms", H. Hinnant, `days_from_civil`).
    package init?(year: Int, month: Int, day: Int) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1,
            day <= Self.length(ofMonth: month, year: year)
        else { return nil }
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        number = Int64(era * 146_097 + dayOfEra - 719_468)
    }

    /// Year, month and day of the number (`civil_from_days`).
    package var components: (year: Int, month: Int, day: Int) {
        let shifted = Int(number) + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
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

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: (year.isMultiple(of: 4) && !year.isMultiple(of: 100)) || year.isMultiple(of: 400) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
