internal import Platform

/// A key of `podfs view set`.
package enum ViewKey: String, CaseIterable, Sendable {
    case unplayed
    case inProgress = "in_progress"
    case downloaded, pinned, tag, show, title, type
    case newerThan = "newer_than"
    case olderThan = "older_than"
    case minDuration = "min_duration"
    case maxDuration = "max_duration"
    case order, limit
}

/// The order of a view's episodes.
enum ViewOrder: String, CaseIterable {
    case newest, oldest, shortest, longest
    case recentlyPlayed = "recently_played"
}

/// The definition of a view, a folder of the episodes that satisfy the user's conditions: the conditions, the order of
/// the episodes and their maximum number. Pure.
package struct ViewDefinition: Sendable, Equatable {
    /// The kind of an episode's media.
    private enum Medium: String, CaseIterable {
        case audio, video
    }

    /// The values in their usual spelling. A key without a value has its default: a condition then holds for every
    /// episode.
    private(set) var values: [ViewKey: String] = [:]

    static let standardLimit = 200

    init() {}

    /// Parses the stored form, and ignores what is no assignment: only a damaged disk has changed a stored line.
    init(lines: String) {
        for line in lines.split(separator: "\n") { try? set(String(line)) }
    }

    /// The keys with values, in a fixed order.
    package var assignments: [(key: ViewKey, value: String)] {
        ViewKey.allCases.compactMap { key in values[key].map { (key, $0) } }
    }

    /// The stored form: `KEY=VALUE` lines.
    var lines: String { assignments.map { "\($0.key.rawValue)=\($0.value)" }.joined(separator: "\n") }

    /// Sets one key by an assignment `KEY=VALUE`; `KEY=` restores its default.
    mutating func set(_ assignment: String) throws(SettingError) {
        let assignment = try Assignment(assignment, example: "such as unplayed=true")
        guard let key = ViewKey(rawValue: assignment.key) else {
            let keys = ViewKey.allCases.map(\.rawValue).joined(separator: ", ")
            throw SettingError(
                message: "a view has no key '\(PlainText.excerpt(assignment.key))'; the keys are \(keys)")
        }
        _ = try assignment.line()
        values[key] = assignment.value.isEmpty ? nil : try Self.value(of: key, assignment)
    }

    /// Returns a value in its usual spelling; `nil` for the default.
    private static func value(of key: ViewKey, _ new: Assignment) throws(SettingError) -> String? {
        switch key {
        case .unplayed, .inProgress, .downloaded, .pinned: return try new.flag() ? "true" : "false"
        case .tag, .show:
            guard let names = NameList.names(new.value) else { throw new.refused("a closing double quote") }
            if key == .tag {
                for name in names { try Tag.check(name) }
            }
            return names.isEmpty ? nil : NameList.text(names)
        case .title: return try new.pattern().text
        case .type: return (try new.choice() as Medium).rawValue
        case .newerThan, .olderThan, .minDuration, .maxDuration: return DurationText.text(try new.seconds())
        case .order:
            let order: ViewOrder = try new.choice()
            return order == .newest ? nil : order.rawValue
        case .limit:
            if new.value.lowercased() == "none" { return "none" }
            let limit = try new.number(in: 1...100_000, ", or none")
            return limit == standardLimit ? nil : "\(limit)"
        }
    }
}

/// A comma-separated list of names. A name that contains a comma, or begins with a double quote, is enclosed in double
/// quotes, and each double quote in it is doubled: `"News, Weather", Night Owls`.
enum NameList {
    /// Parses a list. Returns `nil` if a quoted name has no closing quote.
    static func names(_ text: String) -> [String]? {
        var names: [String] = []
        /// The parts of a quoted name with commas, of which the last has not come yet.
        var open = ""
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let name = FileName.trimmedSpace(open + part)
            let isQuoted = name.hasPrefix("\"")
            if isQuoted, !name.count(where: { $0 == "\"" }).isMultiple(of: 2) {
                open += "\(part),"
                continue
            }
            open = ""
            // If text follows the closing quote, the quotes are part of the name.
            let isWhole = isQuoted && name.count > 1 && name.hasSuffix("\"")
            names.append(isWhole ? String(name.dropFirst().dropLast()).replacing("\"\"", with: "\"") : name)
        }
        return open.isEmpty ? names.filter { !$0.isEmpty } : nil
    }

    /// Returns the list of these names.
    static func text(_ names: [String]) -> String {
        names.map { name in
            let isPlain = !name.contains(",") && !name.hasPrefix("\"")
            return isPlain ? name : "\"\(name.replacing("\"", with: "\"\""))\""
        }.joined(separator: ", ")
    }
}
