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
        switch value.lowercased() {
        case "true": return true
        case "false": return false
        default: throw refused("true or false")
        }
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
