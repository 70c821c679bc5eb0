internal import Platform

/// A time zone's distance from UTC through the year, as POSIX writes it: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct TimeZoneRule {
    /// When the clocks change, on a local clock.
    private struct Change {
        var month: Int
        /// 1 to 5, the last one.
        var week: Int
        /// 0 is a Sunday.
        var weekday: Int
        /// Seconds after midnight; POSIX and its extension allow other days too.
        var second = 7200

        func seconds(of year: Int) -> Int64? {
            guard let first = GregorianDay(year: year, month: month, day: 1) else { return nil }
            var day = 1 + (weekday + 6 - first.weekday) % 7 + 7 * (week - 1)
            while day > 7, GregorianDay(year: year, month: month, day: day) == nil { day -= 7 }
            return (first.number + Int64(day) - 1) * 86_400 + Int64(second)
        }
    }

    /// Seconds east of UTC.
    private let standard: Int
    private let daylight: Int
    private let changes: (start: Change, end: Change)?

    /// The rule that a zone of the IANA database follows today; `nil` for an unknown name.
    static func named(_ name: Substring) -> TimeZoneRule? {
        rules[name].flatMap(TimeZoneRule.init)
    }

    private static let rules: [Substring: Substring] = {
        var rules: [Substring: Substring] = [:]
        var rule: Substring = ""
        var last: Substring?
        for word in TimeZoneTable.text.split(whereSeparator: \.isWhitespace) {
            if word == "=" {
                rule = last ?? ""
                last = nil
            } else {
                if let last { rules[last] = rule }
                last = word
            }
        }
        if let last { rules[last] = rule }
        return rules
    }()

    /// - Parameter text: Of the table, which has nothing but rules by month, week and day.
    private init?(_ text: Substring) {
        let parts = text.split(separator: ",")
        var zones = parts[0]
        guard let standard = Self.zone(&zones) else { return nil }
        self.standard = standard
        guard parts.count == 3, let start = Self.change(parts[1]), let end = Self.change(parts[2]) else {
            daylight = standard
            changes = nil
            return
        }
        daylight = Self.zone(&zones) ?? standard + 3600
        changes = (start, end)
    }

    /// Seconds east of UTC at a time of the local calendar.
    func offset(year: Int, localSeconds: Int64) -> Int {
        guard let changes, let start = changes.start.seconds(of: year), let end = changes.end.seconds(of: year) else {
            return standard
        }
        // South of the equator summer lies around the turn of the year.
        let isDaylight =
            start < end
            ? localSeconds >= start && localSeconds < end : localSeconds >= start || localSeconds < end
        return isDaylight ? daylight : standard
    }

    /// Reads `CET-1` or `<+0530>-5:30`: what POSIX counts west of UTC. `nil` when no number follows the name.
    private static func zone(_ text: inout Substring) -> Int? {
        if text.first == "<" {
            text = text.drop { $0 != ">" }.dropFirst()
        } else {
            text = text.drop(while: \.isLetter)
        }
        let number = text.prefix { $0.isNumber || "+-:".contains($0) }
        text = text[number.endIndex...]
        return time(number).map { -$0 }
    }

    private static func change(_ text: Substring) -> Change? {
        let halves = text.split(separator: "/")
        let numbers = halves[0].dropFirst().split(separator: ".").compactMap { Int($0) }
        guard numbers.count == 3 else { return nil }
        var change = Change(month: numbers[0], week: numbers[1], weekday: numbers[2])
        if halves.count == 2, let second = time(halves[1]) { change.second = second }
        return change
    }

    /// `2`, `-3:30`.
    private static func time(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":")
        guard let first = parts.first, let hours = Int(first) else { return nil }
        let minutes = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        return hours * 3600 + (first.hasPrefix("-") ? -minutes : minutes) * 60
    }
}
