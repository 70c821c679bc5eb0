internal import Platform

/// The error for a rejected name, key or value of a setting, a view or a tag. `message` is one line with the reason and
/// with what to write instead.
package struct SettingError: Error, Sendable, Equatable, CustomStringConvertible {
    package let message: String
    package var description: String { message }

    package init(message: String) { self.message = message }
}

/// An assignment `KEY=VALUE` to a setting, with the conversions of its value. Pure.
package struct Assignment: Sendable, Equatable {
    package let key: String
    package let value: String

    package init(key: String, value: String) {
        self.key = key
        self.value = value
    }

    /// Parses an assignment. The value may contain equals signs. White space around key and value is trimmed.
    ///
    /// - Parameter example: What to write instead of a text that is no assignment.
    package init(_ text: String, example: String) throws(SettingError) {
        guard let equals = text.firstIndex(of: "=") else {
            throw SettingError(message: "'\(PlainText.excerpt(text))' is not a setting: write KEY=VALUE, \(example)")
        }
        key = FileName.trimmedSpace(String(text[..<equals]))
        value = FileName.trimmedSpace(String(text[text.index(after: equals)...]))
    }

    /// Returns the error for a value that is not allowed.
    package func refused(_ expected: String) -> SettingError { error("cannot be set: expected \(expected)") }

    package func error(_ reason: String) -> SettingError {
        SettingError(message: "\(key)='\(PlainText.excerpt(value))' \(reason)")
    }

    // MARK: Conversions

    /// Returns the value if it has no control characters, such as line breaks, and at most `limit` bytes.
    package func line(limit: Int = .max) throws(SettingError) -> String {
        guard !value.unicodeScalars.contains(where: FileName.isForbidden), value.utf8.count <= limit else {
            let bytes = limit < .max ? " and at most \(limit) bytes" : ""
            throw refused("text on one line, without control characters\(bytes)")
        }
        return value
    }

    func flag() throws(SettingError) -> Bool {
        guard let flag = Bool(value.lowercased()) else { throw refused("true or false") }
        return flag
    }

    /// Returns a whole number.
    ///
    /// - Parameter others: Other allowed values, for the error.
    package func number(in range: ClosedRange<Int>, _ others: String = "") throws(SettingError) -> Int {
        guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(value), range.contains(number)
        else { throw refused("a whole number from \(range.lowerBound) to \(range.upperBound)\(others)") }
        return number
    }

    /// Returns one of the cases of an enumeration.
    package func choice<Value: RawRepresentable & CaseIterable>() throws(SettingError) -> Value
    where Value.RawValue == String {
        guard let choice = Value(rawValue: value.lowercased()) else {
            throw refused("one of " + Value.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return choice
    }

    /// Returns a duration in seconds.
    package func seconds() throws(SettingError) -> Int64 {
        guard let seconds = DurationText.seconds(value) else { throw refused(DurationText.forms) }
        return seconds
    }

    /// Returns a regular expression of at most 500 bytes.
    package func pattern() throws(SettingError) -> TitlePattern {
        let text = try line(limit: 500)
        do {
            return try TitlePattern(text)
        } catch {
            throw self.error("is not a regular expression: \(error.message)")
        }
    }
}

/// Durations as users write them: `40m`, `1h 30m`, `7 days`. Pure.
package enum DurationText {
    /// The seconds of each unit.
    private static let units: [String: Int64] = [
        "s": 1, "sec": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "minute": 60, "minutes": 60,
        "h": 3_600, "hour": 3_600, "hours": 3_600, "d": 86_400, "day": 86_400, "days": 86_400,
        "w": 604_800, "week": 604_800, "weeks": 604_800,
    ]

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
            // The maximum duration in seconds: a hundred years.
            guard total <= 3_155_760_000 else { return nil }
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
