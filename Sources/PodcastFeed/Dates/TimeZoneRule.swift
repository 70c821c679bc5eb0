internal import Platform

/// The rule for a time zone's UTC offset throughout the year. It is parsed from the syntax of the environment variable
/// `TZ` in POSIX, such as `CET-1CEST,M3.5.0,M10.5.0/3`.
struct TimeZoneRule {
    /// The local date and time of a change between standard and daylight saving time.
    private struct Change {
        var month: Int
        /// The week of the month, 1 to 5; 5 means the last one.
        var week: Int
        /// The weekday, 0 to 6; 0 is Sunday.
        var weekday: Int
        /// Seconds after midnight, by default 02:00; may be negative or more than a day (RFC 8536, section 3.3.1).
        var second = 7200

        /// Returns the change's local time in a year, in seconds since 1970-01-01; `nil` outside ``GregorianDay``'s
        /// range.
        func seconds(of year: Int) -> Int64? {
            guard let first = GregorianDay(year: year, month: month, day: 1) else { return nil }
            var day = 1 + (weekday + 6 - first.weekday) % 7 + 7 * (week - 1)
            while day > 7, GregorianDay(year: year, month: month, day: day) == nil { day -= 7 }
            return (first.number + Int64(day) - 1) * 86_400 + Int64(second)
        }
    }

    /// The offset of standard time, in seconds east of UTC.
    private let standard: Int
    /// The offset of daylight saving time, in seconds east of UTC; `standard` if the zone has none.
    private let daylight: Int
    private let changes: (start: Change, end: Change)?

    /// Returns the current rule of a zone in the IANA database; `nil` for an unknown name.
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

    /// - Parameter text: A rule of ``TimeZoneTable``, in which all changes are given by month, week and weekday.
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

    /// Returns the offset in seconds east of UTC at a local time.
    func offset(year: Int, localSeconds: Int64) -> Int {
        guard let changes, let start = changes.start.seconds(of: year), let end = changes.end.seconds(of: year) else {
            return standard
        }
        // In the southern hemisphere, daylight saving time includes the turn of the year.
        let isDaylight =
            start < end
            ? localSeconds >= start && localSeconds < end : localSeconds >= start || localSeconds < end
        return isDaylight ? daylight : standard
    }

    /// Parses a zone such as `CET-1` or `<+0530>-5:30`, in which the number is the offset in hours west of UTC. Returns
    /// the offset in seconds east of UTC; `nil` if no number follows the name.
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

    /// Parses hours and minutes, `2` or `-3:30`, to seconds.
    private static func time(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":")
        guard let first = parts.first, let hours = Int(first) else { return nil }
        let minutes = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        return hours * 3600 + (first.hasPrefix("-") ? -minutes : minutes) * 60
    }
}
