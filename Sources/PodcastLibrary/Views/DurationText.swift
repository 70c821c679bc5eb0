/// Durations as users write them: `40m`, `1h 30m`, `7 days`. Pure.
package enum DurationText {
    /// The seconds of each unit.
    private static let units: [String: Int64] = [
        "s": 1, "sec": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "minute": 60, "minutes": 60,
        "h": 3_600, "hour": 3_600, "hours": 3_600, "d": 86_400, "day": 86_400, "days": 86_400,
        "w": 604_800, "week": 604_800, "weeks": 604_800,
    ]

    /// The maximum duration in seconds: a hundred years.
    private static let longest: Int64 = 3_155_760_000

    /// The allowed values, for messages.
    package static let forms = "a duration such as \"90 s\", \"40m\", \"1h 30m\" or \"7 days\""

    /// Parses a duration, and returns it in seconds; `nil` if the text is not a duration above zero. Every number needs
    /// a unit.
    package static func seconds(_ text: String) -> Int64? {
        var total: Int64 = 0
        var rest = text.lowercased()[...]
        repeat {
            rest = rest.drop(while: \.isWhitespace)
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count).drop(while: \.isWhitespace)
            let unit = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest.dropFirst(unit.count).drop(while: \.isWhitespace)
            guard digits.count <= 10, let number = Int64(digits), let factor = units[String(unit)] else { return nil }
            total += number * factor
            guard total <= longest else { return nil }
        } while !rest.isEmpty
        return total > 0 ? total : nil
    }

    /// Returns the usual spelling of a number of seconds.
    package static func text(_ seconds: Int64) -> String {
        let parts: [(Int64, String, String)] = [
            (86_400, "day", "days"), (3_600, "h", "h"), (60, "min", "min"), (1, "s", "s"),
        ]
        var rest = seconds
        var words: [String] = []
        for (size, one, many) in parts where rest >= size {
            words.append("\(rest / size) \(rest / size == 1 ? one : many)")
            rest %= size
        }
        return words.joined(separator: " ")
    }
}
