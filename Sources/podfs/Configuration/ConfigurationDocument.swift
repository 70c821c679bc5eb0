import TOMLKit

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
        let text = try Self.text(bytes, path: path)
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

    /// Returns the line of the entry with this path; `nil` if there is no such entry.
    func line(of path: String) -> Int? { entries.first { $0.path == path }?.line }

    /// Decodes the file. TOML must be UTF-8 and must not contain NUL, which would also truncate the text in C.
    private static func text(_ bytes: [UInt8], path: String) throws(ConfigurationError) -> String {
        // Some editors write a byte order mark, which is not part of the text.
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let bytes = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            if line.contains(0) || String(validating: line, as: UTF8.self) == nil {
                throw ConfigurationError(path: path, line: index + 1, message: "this line is not valid UTF-8")
            }
        }
        return String(decoding: bytes, as: UTF8.self)
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
