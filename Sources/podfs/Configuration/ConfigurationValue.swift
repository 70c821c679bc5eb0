import Foundation
import PodcastService
import SystemPackage
import Transfers

/// An error thrown for an invalid value.
struct ConfigurationValueError: Error, CustomStringConvertible {
    let description: String
}

/// A TOML value of the configuration file, and its conversions.
enum ConfigurationValue: Sendable, Equatable {
    case string(String)
    case integer(Int)
    case double(Double)
    case boolean(Bool)
    case array([ConfigurationValue])
    /// A value of a type that no key accepts: a table, a date or a time. The associated value is the type's name.
    case other(String)

    /// Returns the error that names the expected and the found value.
    func unexpected(_ expected: String) -> ConfigurationValueError {
        ConfigurationValueError(description: "expected \(expected), found \(shown)")
    }

    private var shown: String {
        switch self {
        case .string(let text): "\"\(text)\""
        case .integer(let number): String(number)
        case .double(let number): String(number)
        case .boolean(let flag): String(flag)
        case .array: "an array"
        case .other(let name): "a \(name)"
        }
    }

    // MARK: Conversions

    func flag() throws -> Bool {
        guard case .boolean(let flag) = self else { throw unexpected("true or false") }
        return flag
    }

    func number(in range: ClosedRange<Int>) throws -> Int {
        guard case .integer(let number) = self, range.contains(number) else {
            throw unexpected("a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns the text of a string. Throws if it is blank or contains a control character, such as a line feed.
    func text() throws -> String {
        guard case .string(let text) = self, text.contains(where: { !$0.isWhitespace }),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw unexpected("text in quotes, on one line and not empty") }
        return text
    }

    func command() throws -> String {
        guard case .string(let text) = self, text.contains(where: { !$0.isWhitespace }) else {
            throw unexpected("a command in quotes")
        }
        return text
    }

    /// Returns the elements of an array, converted; `convert` returns `nil` for an element of another form.
    private func elements<Element>(
        _ expected: String, _ convert: (ConfigurationValue) throws -> Element?
    ) throws -> [Element] {
        guard case .array(let values) = self else { throw unexpected(expected) }
        return try values.map { value in
            guard let element = try convert(value) else { throw value.unexpected(expected) }
            return element
        }
    }

    /// Returns file names of programs. A program is identified by its file name only.
    func names() throws -> [String] {
        try elements("names of programs, such as [\"updatedb\", \"baloo_file\"]") { value in
            let name = try value.text()
            return name.contains("/") ? nil : name
        }
    }

    /// Returns the private hosts and address blocks to which feeds from less private networks may refer.
    func reachExceptions() throws -> [ReachPolicy.Exception] {
        try elements("hosts and addresses, such as [\"nas.lan\", \"192.168.1.0/24\", \"fd00::/8\"]") { value in
            guard case .string(let text) = value else { return nil }
            return ReachPolicy.Exception(text)
        }
    }

    /// Returns the value for one of the texts that the key accepts.
    func choice<Value>(_ values: KeyValuePairs<String, Value>) throws -> Value {
        guard case .string(let text) = self, let value = values.first(where: { $0.key == text })?.value else {
            throw unexpected(values.map { "\"\($0.key)\"" }.joined(separator: " or "))
        }
        return value
    }

    /// Returns an absolute path without `.`, `..` and a slash at its end, and with a leading `~/` replaced by the home
    /// folder.
    func path() throws -> String {
        var path = try text()
        if path.hasPrefix("~/"), let home = ProcessInfo.processInfo.environment["HOME"] {
            path = home + path.dropFirst()
        }
        guard path.hasPrefix("/") else { throw unexpected("an absolute path, or one that begins with ~/") }
        return FilePath(path).lexicallyNormalized().string
    }

    /// Returns the absolute path of a file of certificates. Throws if the file is not usable.
    func certificateFile() throws -> String {
        let path = try path()
        if let defect = Authorities.defect(of: path) {
            throw ConfigurationValueError(description: "\(path): \(defect)")
        }
        return path
    }

    /// Returns the parts of an http or https URL, and its text; `nil` for any other value.
    private var webURL: (parts: URLComponents, text: String)? {
        guard case .string(let text) = self, let parts = URLComponents(string: text),
            ["http", "https"].contains(parts.scheme?.lowercased()), parts.host?.isEmpty == false
        else { return nil }
        return (parts, text)
    }

    func webAddress() throws -> String {
        guard let url = webURL else { throw unexpected("an http or https address") }
        return url.text
    }

    /// Returns a URL to which paths are appended, without a slash at its end.
    func baseAddress() throws -> String {
        guard let (parts, text) = webURL, parts.query == nil, parts.fragment == nil, parts.user == nil else {
            throw unexpected("an http or https address without a query, such as \"https://nas.example/podcasts\"")
        }
        var base = Substring(text)
        while base.last == "/" { base.removeLast() }
        return String(base)
    }

    func size(minimum: Int64) throws -> Int64 {
        let expected = "a size of at least \(minimum) bytes, such as \"10 GiB\", \"500 MB\" or 1024"
        guard let size = bytes(suffix: ""), size >= minimum else { throw unexpected(expected) }
        return size
    }

    func rate() throws -> Int64 {
        guard let rate = bytes(suffix: "/s"), rate > 0 else {
            throw unexpected("a rate of at least 1 byte per second, such as \"2 MB/s\", \"500 KiB/s\" or 250000")
        }
        return rate
    }

    func duration(minimum: Duration) throws -> Duration {
        let kind =
            switch minimum {
            case ...Duration.zero: "a time"
            case ..<Duration.seconds(1): "a duration above zero"
            default: "a duration of at least \(minimum.components.seconds) s"
            }
        let expected = "\(kind), such as \"60 s\", \"15 min\", \"24 h\" or \"7 days\""
        let duration: Duration?
        switch self {
        case .integer(let seconds): duration = Self.duration(Double(seconds), seconds: 1)
        case .string(let text): duration = Self.duration(text)
        default: duration = nil
        }
        guard let duration, duration >= minimum else { throw unexpected(expected) }
        return duration
    }

    // MARK: Numbers with units

    /// The number of seconds in each unit.
    private static let seconds: [String: Double] = [
        "ms": 0.001, "": 1, "s": 1, "sec": 1, "second": 1, "seconds": 1,
        "min": 60, "minute": 60, "minutes": 60, "h": 3_600, "hour": 3_600, "hours": 3_600,
        "d": 86_400, "day": 86_400, "days": 86_400,
    ]

    /// Returns a number of bytes; `nil` if the value is not a size.
    ///
    /// - Parameter suffix: The text that may follow the unit, such as `/s`.
    private func bytes(suffix: String) -> Int64? {
        switch self {
        case .integer(let bytes): return Int64(bytes)
        case .string(let text):
            guard let (number, unit) = SettingText.numberAndUnit(text) else { return nil }
            return SettingText.bytes(
                number, unit: unit.hasSuffix(suffix) ? String(unit.dropLast(suffix.count)) : unit)
        default: return nil
        }
    }

    private static func duration(_ text: String) -> Duration? {
        guard let (number, unit) = SettingText.numberAndUnit(text), let factor = seconds[unit] else { return nil }
        return duration(number, seconds: factor)
    }

    private static func duration(_ number: Double, seconds: Double) -> Duration? {
        // At most ten years: a longer duration is a mistake, and a much longer one overflows a clock's nanoseconds.
        let value = number * seconds
        return (0...315_360_000).contains(value) ? .milliseconds(Int64((value * 1_000).rounded())) : nil
    }
}
