internal import Platform
internal import PodcastFeed

/// Times and durations as text, independent of the machine's time zone.
package enum TimeText {
    /// Returns `2026-11-20T10:00:00Z` for seconds since 1970.
    package static func iso8601(_ seconds: Int64) -> String { PublicationDate(seconds: seconds, offset: 0).iso8601 }

    /// Returns a duration: `7s`, `3m20s`, `1h05m`.
    package static func duration(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0, seconds < 1e9 else { return "-" }
        let total = Int(seconds)
        if total < 60 { return "\(total)s" }
        if total < 3_600 { return "\(total / 60)m\(GregorianDay.padded(total % 60, 2))s" }
        return "\(total / 3_600)h\(GregorianDay.padded(total / 60 % 60, 2))m"
    }

    /// Returns a position in a recording, or its length: `0:07`, `42:10`, `1:05:12`.
    package static func clock(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0, seconds < 1e9 else { return "-" }
        let total = Int(seconds)
        let rest = "\(GregorianDay.padded(total % 60, 2))"
        if total < 3_600 { return "\(total / 60):\(rest)" }
        return "\(total / 3_600):\(GregorianDay.padded(total / 60 % 60, 2)):\(rest)"
    }

    /// Returns a past time: `just now`, `45 seconds ago`, `2 minutes ago`, `3 hours ago`, `5 days ago`.
    static func ago(_ seconds: Int64) -> String {
        let units: [(limit: Int64, size: Int64, name: String)] = [
            (60, 1, "second"), (3_600, 60, "minute"), (86_400, 3_600, "hour"), (.max, 86_400, "day"),
        ]
        guard seconds >= 5, let unit = units.first(where: { seconds < $0.limit }) else { return "just now" }
        let count = seconds / unit.size
        return "\(count) \(unit.name)\(count == 1 ? "" : "s") ago"
    }
}
