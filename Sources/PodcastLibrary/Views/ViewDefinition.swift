internal import Platform

/// The error for a rejected tag, or for a rejected name, key or value of a view. `message` is one line with the reason
/// and with what to write instead.
package struct ViewError: Error, Sendable, Equatable, CustomStringConvertible {
    package let message: String
    package var description: String { message }
}

/// The definition of a view, a folder of the episodes that satisfy the user's conditions: the conditions, the order of
/// the episodes and their maximum number. Pure.
///
/// A `nil` or empty condition holds for every episode.
package struct ViewDefinition: Sendable, Equatable {
    /// The order of a view's episodes.
    package enum Order: String, Sendable, CaseIterable {
        case newest, oldest, shortest, longest
        case recentlyPlayed = "recently_played"
    }

    /// The kind of an episode's media.
    package enum Medium: String, Sendable, CaseIterable {
        case audio, video
    }

    /// A condition on the state of an episode: a key with the value `true` or `false`.
    package enum Flag: String, Sendable, CaseIterable {
        case unplayed, downloaded, pinned
        case inProgress = "in_progress"
    }

    package var flags: [Flag: Bool] = [:]
    /// The selected tags, as the user wrote them; compared ignoring case.
    package var tags: [String] = []
    /// The titles or folder names of the selected shows, as the user wrote them; compared ignoring case.
    package var shows: [String] = []
    package var title: TitlePattern?
    package var medium: Medium?
    /// The maximum age in seconds since publication; for an undated episode, since it was first seen.
    package var newerThan: Int64?
    /// The minimum age in seconds since publication; for an undated episode, since it was first seen.
    package var olderThan: Int64?
    /// The minimum duration in seconds. An episode of unknown duration does not match.
    package var minDuration: Int64?
    /// The maximum duration in seconds. An episode of unknown duration does not match.
    package var maxDuration: Int64?
    package var order = Order.newest
    /// The maximum number of episodes; `nil` for no limit.
    package var limit: Int? = Self.standardLimit

    package static let standardLimit = 200

    package init() {}
}

// MARK: Text

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

extension ViewDefinition {
    /// The allowed values of `limit`.
    private static let limits = 1...100_000
    /// The maximum size of the regular expression for `title`, in bytes of UTF-8.
    private static let titleLimit = 500

    /// Parses a definition stored as `lines`.
    ///
    /// - Throws: `ViewError` for a line that this version does not understand.
    init(lines: String) throws(ViewError) {
        for line in lines.split(separator: "\n") { try set(String(line)) }
    }

    /// The keys whose values differ from those of an empty definition, in a fixed order.
    package var assignments: [(key: ViewKey, value: String)] {
        ViewKey.allCases.compactMap { key in value(of: key).map { (key, $0) } }
    }

    /// The stored form: `KEY=VALUE` lines.
    var lines: String { assignments.map { "\($0.key.rawValue)=\($0.value)" }.joined(separator: "\n") }

    private func value(of key: ViewKey) -> String? {
        switch key {
        case .unplayed, .inProgress, .downloaded, .pinned:
            Flag(rawValue: key.rawValue).flatMap { flags[$0] }.map { $0 ? "true" : "false" }
        case .tag: tags.isEmpty ? nil : NameList.text(tags)
        case .show: shows.isEmpty ? nil : NameList.text(shows)
        case .title: title?.text
        case .type: medium?.rawValue
        case .newerThan: newerThan.map(DurationText.text)
        case .olderThan: olderThan.map(DurationText.text)
        case .minDuration: minDuration.map(DurationText.text)
        case .maxDuration: maxDuration.map(DurationText.text)
        case .order: order == .newest ? nil : order.rawValue
        case .limit: limit == Self.standardLimit ? nil : limit.map(String.init) ?? "none"
        }
    }

    /// Sets one key by an assignment `KEY=VALUE`; `KEY=` removes the condition, or restores the default of
    /// `order` or `limit`.
    package mutating func set(_ assignment: String) throws(ViewError) {
        guard let equals = assignment.firstIndex(of: "=") else {
            throw ViewError(
                message: "'\(PlainText.excerpt(assignment))' is not a setting: write KEY=VALUE, such as unplayed=true")
        }
        let name = FileName.trimmedSpace(String(assignment[..<equals]))
        let value = FileName.trimmedSpace(String(assignment[assignment.index(after: equals)...]))
        guard let key = ViewKey(rawValue: name) else {
            let keys = ViewKey.allCases.map(\.rawValue).joined(separator: ", ")
            throw ViewError(message: "a view has no key '\(PlainText.excerpt(name))'; the keys are \(keys)")
        }
        if value.unicodeScalars.contains(where: FileName.isForbidden) {
            throw Self.refused(key, value, "text on one line, without control characters")
        }
        try set(key, value)
    }

    private mutating func set(_ key: ViewKey, _ value: String) throws(ViewError) {
        switch key {
        case .unplayed, .inProgress, .downloaded, .pinned:
            guard let flag = Flag(rawValue: key.rawValue) else { return }
            switch value.lowercased() {
            case "": flags[flag] = nil
            case "true": flags[flag] = true
            case "false": flags[flag] = false
            default: throw Self.refused(key, value, "true or false")
            }
        case .tag:
            let list = try Self.list(key, value)
            for tag in list { try Tag.check(tag) }
            tags = list
        case .show: shows = try Self.list(key, value)
        case .title: title = value.isEmpty ? nil : try Self.pattern(key, value)
        case .type: medium = try Self.choice(key, value)
        case .newerThan: newerThan = try Self.duration(key, value)
        case .olderThan: olderThan = try Self.duration(key, value)
        case .minDuration: minDuration = try Self.duration(key, value)
        case .maxDuration: maxDuration = try Self.duration(key, value)
        case .order: order = try Self.choice(key, value) ?? .newest
        case .limit:
            if value.isEmpty {
                limit = Self.standardLimit
            } else if value.lowercased() == "none" {
                limit = nil
            } else {
                guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(value),
                    Self.limits.contains(number)
                else {
                    throw Self.refused(
                        key, value,
                        "a whole number from \(Self.limits.lowerBound) to \(Self.limits.upperBound), or none")
                }
                limit = number
            }
        }
    }

    private static func list(_ key: ViewKey, _ value: String) throws(ViewError) -> [String] {
        guard let names = NameList.names(value) else { throw refused(key, value, "a closing double quote") }
        return names
    }

    private static func choice<Value: RawRepresentable & CaseIterable>(
        _ key: ViewKey, _ value: String
    ) throws(ViewError) -> Value? where Value.RawValue == String {
        if value.isEmpty { return nil }
        guard let choice = Value(rawValue: value.lowercased()) else {
            throw refused(key, value, "one of " + Value.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return choice
    }

    private static func duration(_ key: ViewKey, _ value: String) throws(ViewError) -> Int64? {
        if value.isEmpty { return nil }
        guard let seconds = DurationText.seconds(value) else { throw refused(key, value, DurationText.forms) }
        return seconds
    }

    private static func pattern(_ key: ViewKey, _ value: String) throws(ViewError) -> TitlePattern {
        guard value.utf8.count <= titleLimit else { throw refused(key, value, "at most \(titleLimit) bytes") }
        do {
            return try TitlePattern(value)
        } catch {
            throw ViewError(
                message: "\(key.rawValue)='\(PlainText.excerpt(value))' is not a regular expression: \(error.message)")
        }
    }

    private static func refused(_ key: ViewKey, _ value: String, _ allowed: String) -> ViewError {
        ViewError(message: "\(key.rawValue)='\(PlainText.excerpt(value))' cannot be set: expected \(allowed)")
    }
}
