import GRDB
import Transfers

/// The id of a view.
package struct ViewID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}

extension ViewID: DatabaseValueConvertible {}

/// A view's definition as parts of SQL about `episode e`. They may contain the arguments `:view` and `:now`.
struct ViewSQL: Sendable {
    let id: ViewID
    /// The expression that the titles must match; stored matches decide `condition`.
    let title: TitlePattern?
    let limit: Int
    /// The maximum and the minimum age in seconds since publication; for an undated episode, since it was first seen.
    let newerThan, olderThan: Int64?
    /// The view's condition, without its limit.
    let condition: String
    /// `condition` for episodes in `changed_episode` only.
    let changedCondition: String
    /// The sort key of an episode in the view. The episode with the lowest key comes first.
    let rank: String
    /// The second sort key, for equal ranks: the episode's id, negated in orders that begin with the highest value.
    let tie: String
    /// The order of `rank` and `tie`. It names indexed columns where possible.
    let order: String
    /// The condition for the episodes after the place `:rank`, `:tie`.
    let isAfter: String

    /// The table of the episodes of all views, to be read before `episode e`. CROSS JOIN keeps SQLite from reordering
    /// the tables, so that it reads a view's rows in their order.
    static let joined = "view_episode v CROSS JOIN "
    /// The condition and the order of a view's episodes.
    static let isListed = "e.id = v.episode AND v.view = ? AND e.buried = 0 ORDER BY v.rank, v.tie"

    /// The rank of an episode that lacks the value by which the view is ordered, such as a duration. It puts the
    /// episode after all others.
    private static let last: Int64 = 1 << 52

    init(_ id: ViewID, _ definition: ViewDefinition) {
        self.id = id
        title = definition.values[.title].flatMap { try? TitlePattern($0) }
        limit = definition.values[.limit].map { Int($0) ?? .max } ?? ViewDefinition.standardLimit
        newerThan = definition.values[.newerThan].flatMap(DurationText.seconds)
        olderThan = definition.values[.olderThan].flatMap(DurationText.seconds)
        condition = Self.condition(definition)
        changedCondition = Self.condition(definition, in: "SELECT id FROM changed_episode")
        let milliseconds = "CAST(min(max(e.duration, 0), 1e9) * 1000 AS INTEGER)"
        switch definition.values[.order].flatMap(ViewOrder.init) ?? .newest {
        case .newest:
            (rank, tie, order) = ("-e.moment", "-e.id", "e.moment DESC, e.id DESC")
            isAfter = "(e.moment, e.id) < (-:rank, -:tie)"
            return
        case .oldest: (rank, tie) = ("e.moment", "e.id")
        case .shortest: (rank, tie) = ("coalesce(\(milliseconds), \(Self.last))", "e.id")
        case .longest: (rank, tie) = ("coalesce(-\(milliseconds), \(Self.last))", "-e.id")
        case .recentlyPlayed: (rank, tie) = ("coalesce(-e.last_played, \(Self.last))", "-e.id")
        }
        order = "\(rank), \(tie)"
        isAfter = "(\(rank), \(tie)) > (:rank, :tie)"
    }

    /// - Parameter scope: A query of the ids of the only episodes that matter; `nil` for all. It bounds the inner
    ///   queries, which would otherwise read all complete renditions and all matching titles.
    private static func condition(_ definition: ViewDefinition, in scope: String? = nil) -> String {
        let bound = scope.map { " AND episode IN (\($0))" } ?? ""
        let conditions = definition.assignments.compactMap { key, value -> String? in
            let not = value == "true" ? "" : "NOT "
            lazy var names = folded(value)
            lazy var seconds = DurationText.seconds(value) ?? 0
            switch key {
            case .unplayed: return "\(not)e.played = 0"
            case .inProgress: return not.isEmpty ? EpisodeSQL.isBegun : "NOT coalesce(\(EpisodeSQL.isBegun), 0)"
            case .pinned: return "\(not)e.pinned"
            case .downloaded: return "e.id \(not)IN (SELECT episode FROM rendition WHERE complete = 1\(bound))"
            case .title: return "e.id IN (SELECT episode FROM view_title WHERE view = :view\(bound))"
            case .tag:
                return """
                    e.podcast IN (SELECT s.podcast FROM show_tag s JOIN tag t ON t.id = s.tag \
                    WHERE t.folded IN (\(names)))
                    """
            case .show:
                return "e.podcast IN (SELECT id FROM podcast WHERE folded IN (\(names)) OR folded(title) IN (\(names)))"
            case .type: return "is_video(e.type, e.name) = \(value == "video")"
            case .newerThan: return "e.moment > :now - \(seconds)"
            case .olderThan: return "e.moment <= :now - \(seconds)"
            case .minDuration: return "e.duration >= \(seconds)"
            case .maxDuration: return "e.duration BETWEEN 0 AND \(seconds)"
            case .order, .limit: return nil
            }
        }
        let isPresent = ["e.buried = 0", "(SELECT ephemeral FROM podcast WHERE id = e.podcast) = 0"]
        return (isPresent + conditions).joined(separator: " AND ")
    }

    /// Returns the folded names of a list as literals.
    private static func folded(_ list: String) -> String {
        (NameList.names(list) ?? []).map { "'\(FileName.folded($0).replacing("'", with: "''"))'" }
            .joined(separator: ", ")
    }

    /// The functions that the conditions call.
    static let functions = [
        DatabaseFunction("folded", argumentCount: 1, pure: true) { values in
            String.fromDatabaseValue(values[0]).map(FileName.folded)
        },
        DatabaseFunction("is_video", argumentCount: 2, pure: true) { values in
            MediaType.isVideo(
                type: String.fromDatabaseValue(values[0]),
                fileExtension: FileName.fileExtension(of: String.fromDatabaseValue(values[1]) ?? ""))
        },
    ]
}
