internal import Platform

/// The dates of HTTP header fields (RFC 9110 §5.6.7).
package enum HTTPDate {
    /// Parses an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`, and returns its seconds since 1970 UTC. Servers may send
    /// no other form today. Returns `nil` for other text, so that an unreadable date is not used as a validator.
    package static func seconds(_ text: String) -> Int64? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT",
            let day = Int64(digits: parts[1]), let month = GregorianDay.monthNames.firstIndex(of: String(parts[2])),
            let year = Int64(digits: parts[3]), year >= 1970,
            let date = GregorianDay(year: Int(year), month: month + 1, day: Int(day))
        else { return nil }
        let time = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard time.count == 3, let hour = Int64(digits: time[0]), let minute = Int64(digits: time[1]),
            let second = Int64(digits: time[2]), hour < 24, minute < 60, second <= 60
        else { return nil }
        return date.number * 86_400 + hour * 3_600 + minute * 60 + second
    }
}
