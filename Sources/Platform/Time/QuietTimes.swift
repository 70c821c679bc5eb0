/// The hours and days, in UTC, at which a publisher wants no requests (RSS 2.0, `skipHours` and `skipDays`).
package struct QuietTimes: Sendable, Equatable {
    /// The hours, 0 to 23.
    package var hours: Set<Int>
    /// The days of the week, 0 for Sunday to 6 for Saturday.
    package var days: Set<Int>

    package init(hours: Set<Int> = [], days: Set<Int> = []) {
        self.hours = hours
        self.days = days
    }

    /// Decodes the number stored in the library: bits 0 to 23 are the hours, bits 24 to 30 the days; `nil` means none.
    package init(bits: Int64?) {
        let bits = bits ?? 0
        self.init(
            hours: Set((0..<24).filter { bits >> Int64($0) & 1 == 1 }),
            days: Set((0..<7).filter { bits >> Int64($0 + 24) & 1 == 1 }))
    }

    /// The number to store in the library, see ``init(bits:)``; `nil` if there are no hours and no days.
    package var bits: Int64? {
        let bits = hours.reduce(Int64(0)) { $0 | 1 << Int64($1) } | days.reduce(0) { $0 | 1 << Int64($1 + 24) }
        return bits == 0 ? nil : bits
    }
}
