import Foundation
import Platform
import PodcastLibrary
import PodcastService
import SystemPackage
import TOMLKit
import Transfers

/// A parsed TOML file: its keys, their values, and their line numbers.
struct ConfigurationDocument: Sendable {
    struct Entry: Sendable {
        /// The names of the tables that contain the key, and of the key itself, separated by dots.
        let path: String
        let value: ConfigurationValue
        /// The line number, counted from 1.
        let line: Int
    }

    /// The entries in the order of the file.
    let entries: [Entry]
    private let path: String

    /// Parses the text of a file.
    ///
    /// - Parameter path: The file's path, for error messages only.
    init(bytes: [UInt8], path: String) throws(ConfigurationError) {
        self.path = path
        // Some editors write a byte order mark, which is not part of the text. A NUL would truncate the text in C.
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        guard !bytes.contains(0),
            let text = String(validating: bytes.dropFirst(bytes.starts(with: mark) ? mark.count : 0), as: UTF8.self)
        else { throw ConfigurationError(path: path, line: nil, message: "it is not valid UTF-8") }
        do {
            _ = try TOMLTable(string: text)
        } catch {
            guard let error = error as? TOMLParseError else {
                throw ConfigurationError(path: path, line: nil, message: "\(error)")
            }
            throw ConfigurationError(path: path, line: error.source.begin.line, message: error.description)
        }
        entries = Self.entries(in: text)
    }

    /// Creates an error with this file's path and a line number.
    func error(at line: Int?, _ message: String) -> ConfigurationError {
        ConfigurationError(path: path, line: line, message: message)
    }

    /// Returns the entries of a valid document with their line numbers, which the parser does not report. So each
    /// statement is parsed alone: a statement (a heading, or a key with its value) begins at the start of a line, and
    /// ends with the first line up to which it is valid.
    private static func entries(in text: String) -> [Entry] {
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var entries: [Entry] = []
        var heading: [String] = []
        var start = 0
        for end in lines.indices {
            guard let statement = try? TOMLTable(string: lines[start...end].joined(separator: "\n")) else { continue }
            let isHeading = lines[start].first { !$0.isWhitespace } == "["
            if isHeading { heading = names(of: statement) }
            collect(statement, below: isHeading ? [] : heading, line: start + 1, into: &entries)
            start = end + 1
        }
        return entries
    }

    /// Returns the names in a heading.
    private static func names(of heading: TOMLTable) -> [String] {
        guard let (name, value) = heading.first(where: { _ in true }) else { return [] }
        return [name] + (value.table.map(names) ?? [])
    }

    /// Appends the entries of a table and of the tables in it.
    private static func collect(
        _ table: TOMLTable, below parents: [String], line: Int, into entries: inout [Entry]
    ) {
        let keys = ConfigurationKey.all.map(\.path)
        for (name, value) in table {
            let names = parents + [name]
            let path = names.joined(separator: ".")
            guard let inner = value.table, !keys.contains(path) else {
                entries.append(Entry(path: path, value: converted(value), line: line))
                continue
            }
            collect(inner, below: names, line: line, into: &entries)
            // An empty table is valid if podfs has keys in it, since they may be commented out in the file. Any other
            // empty table is a misspelled heading. Its entry makes podfs report it as an unknown key.
            if inner.isEmpty, !keys.contains(where: { $0.hasPrefix(path + ".") }) {
                entries.append(Entry(path: path, value: .other("table"), line: line))
            }
        }
    }

    private static func converted(_ value: some TOMLValueConvertible) -> ConfigurationValue {
        if let text = value.string { return .string(text) }
        if let number = value.int { return .integer(number) }
        if let number = value.double { return .double(number) }
        if let flag = value.bool { return .boolean(flag) }
        if let array = value.array { return .array(array.map { converted($0) }) }
        return .other(value.type.description)
    }
}

/// An error in the configuration file, with its position.
struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    let path: String
    /// The line number, counted from 1; `nil` for an error of the whole file.
    let line: Int?
    let message: String

    /// `PATH:LINE: MESSAGE`, a format that editors recognize.
    var description: String { line.map { "\(path):\($0): \(message)" } ?? "\(path): \(message)" }
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
    func unexpected(_ expected: String) -> SettingError {
        SettingError(message: "expected \(expected), found \(shown)")
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
            throw SettingError(message: "\(path): \(defect)")
        }
        return path
    }

    func webAddress() throws -> String {
        guard case .string(let text) = self, WebAddress.isValid(text) else {
            throw unexpected("an http or https address")
        }
        return text
    }

    /// Returns a URL to which paths are appended, without a slash at its end.
    func baseAddress() throws -> String {
        guard case .string(let text) = self, WebAddress.isValid(text), !text.contains(where: { "?#@".contains($0) })
        else {
            throw unexpected("an http or https address without a query, such as \"https://nas.example/podcasts\"")
        }
        return String(text.reversed().drop { $0 == "/" }.reversed())
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
        var seconds: Double?
        switch self {
        case .integer(let number): seconds = Double(number)
        case .string(let text):
            seconds = SettingText.numberAndUnit(text).flatMap { number, unit in Self.seconds[unit].map { number * $0 } }
        default: break
        }
        // At most ten years: a longer duration is a mistake, and a much longer one overflows a clock's nanoseconds.
        guard let seconds, (0...315_360_000).contains(seconds),
            case let duration = Duration.milliseconds(Int64((seconds * 1_000).rounded())), duration >= minimum
        else {
            throw unexpected(
                "a duration of at least \(minimum.milliseconds) ms, such as \"60 s\", \"15 min\", \"24 h\" or \"7 days\""
            )
        }
        return duration
    }

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
        case .integer(let bytes): Int64(bytes)
        case .string(let text): SettingText.bytes(text, suffix: suffix)
        default: nil
        }
    }
}
