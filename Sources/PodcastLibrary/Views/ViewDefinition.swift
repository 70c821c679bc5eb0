internal import Platform

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
    /// Parses a definition stored as `lines`.
    ///
    /// - Throws: `SettingError` for a line that this version does not understand.
    init(lines: String) throws(SettingError) {
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
    package mutating func set(_ assignment: String) throws(SettingError) {
        let assignment = try Assignment(assignment, example: "such as unplayed=true")
        guard let key = ViewKey(rawValue: assignment.key) else {
            let keys = ViewKey.allCases.map(\.rawValue).joined(separator: ", ")
            throw SettingError(
                message: "a view has no key '\(PlainText.excerpt(assignment.key))'; the keys are \(keys)")
        }
        _ = try assignment.line()
        try set(key, assignment.value.isEmpty ? nil : assignment)
    }

    /// - Parameter new: The assignment; `nil` to remove the condition, or to restore the default.
    private mutating func set(_ key: ViewKey, _ new: Assignment?) throws(SettingError) {
        switch key {
        case .unplayed, .inProgress, .downloaded, .pinned:
            if let flag = Flag(rawValue: key.rawValue) { flags[flag] = try new?.flag() }
        case .tag:
            let list = try Self.list(new)
            for tag in list { try Tag.check(tag) }
            tags = list
        case .show: shows = try Self.list(new)
        case .title: title = try new?.pattern()
        case .type: medium = try new?.choice()
        case .newerThan: newerThan = try new?.seconds()
        case .olderThan: olderThan = try new?.seconds()
        case .minDuration: minDuration = try new?.seconds()
        case .maxDuration: maxDuration = try new?.seconds()
        case .order: order = try new?.choice() ?? .newest
        case .limit:
            guard let new else { return limit = Self.standardLimit }
            limit = new.value.lowercased() == "none" ? nil : try new.number(in: 1...100_000, ", or none")
        }
    }

    private static func list(_ assignment: Assignment?) throws(SettingError) -> [String] {
        guard let assignment else { return [] }
        guard let names = NameList.names(assignment.value) else { throw assignment.refused("a closing double quote") }
        return names
    }
}
