internal import Platform
package import PodcastFeed

/// The day of a date in the feed's own time zone, independent of the local one.
package struct CalendarDay: Sendable, Hashable, CustomStringConvertible {
    private let day: GregorianDay

    /// Days since 1970-01-01.
    package var number: Int64 { day.number }

    /// Creates the day of a date; `nil` if it is outside the years 1 to 9999. Such a date is a mistake in the feed.
    package init?(_ date: PublicationDate) {
        self.init(seconds: date.seconds, offset: date.offset)
    }

    /// Creates the day of a time at an offset from UTC, both in seconds; `nil` outside the years 1 to 9999.
    package init?(seconds: Int64, offset: Int) {
        let (local, overflow) = seconds.addingReportingOverflow(Int64(offset))
        guard !overflow, let day = GregorianDay(number: local / 86_400 - (local % 86_400 < 0 ? 1 : 0)) else {
            return nil
        }
        self.day = day
    }

    /// `2026-11-20` in the Gregorian calendar.
    package var description: String { day.description }
}
