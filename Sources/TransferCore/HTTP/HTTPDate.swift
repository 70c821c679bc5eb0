/// The dates of HTTP header fields (RFC 9110 §5.6.7).
package enum HTTPDate {
    private static let months: [Substring] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970 UTC of an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that servers may send
    /// today. `nil` for anything else: a date that cannot be read must not look like a validator.
    package static func seconds(_ text: String) -> Int64? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT",
            let day = Int64(digits: parts[1]), (1...31).contains(day),
            let month = months.firstIndex(of: parts[2]),
            let year = Int64(digits: parts[3]), (1970...9999).contains(year)
        else { return nil }
        let time = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard time.count == 3, let hour = Int64(digits: time[0]), let minute = Int64(digits: time[1]),
            let second = Int64(digits: time[2]), hour < 24, minute < 60, second <= 60
        else { return nil }
        return daysSince1970(year: year, month: Int64(month) + 1, day: day) * 86_400
            + hour * 3_600 + minute * 60 + second
    }

    /// Days from 1970-01-01 in the proleptic Gregorian calendar, counted in 400-year eras that begin in March.
    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
