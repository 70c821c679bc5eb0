/// Moments and spans as text, without a time zone of the machine.
package enum TimeText {
    /// `2026-11-20T10:00:00Z` of seconds since 1970.
    package static func iso8601(_ seconds: Int64) -> String {
        let (year, month, day) = date(seconds)
        let time = ((seconds % 86_400) + 86_400) % 86_400
        return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))T"
            + "\(digits(time / 3_600, 2)):\(digits(time / 60 % 60, 2)):\(digits(time % 60, 2))Z"
    }

    /// `7s`, `3m20s`, `1h05m`.
    package static func duration(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0, seconds < 1e9 else { return "-" }
        let total = Int64(seconds)
        if total < 60 { return "\(total)s" }
        if total < 3_600 { return "\(total / 60)m\(digits(total % 60, 2))s" }
        return "\(total / 3_600)h\(digits(total / 60 % 60, 2))m"
    }

    private static func digits(_ value: Int64, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }

    /// The civil date, counted in 400-year eras that begin in March.
    private static func date(_ seconds: Int64) -> (Int64, Int64, Int64) {
        let days = (seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400) + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}
