/// A number that identifies one kind of object, so that an episode's number cannot be passed for a show's.
///
/// Encoded as a bare number: in JSON, in frames and in the library's columns.
package protocol Identifier: RawRepresentable, Hashable, Comparable, Sendable, Codable, CustomStringConvertible,
    ExpressibleByIntegerLiteral
where RawValue == Int64 {
    init(rawValue: Int64)
}

extension Identifier {
    package init(_ rawValue: Int64) { self.init(rawValue: rawValue) }

    package init(integerLiteral value: Int64) { self.init(rawValue: value) }

    package var description: String { "\(rawValue)" }

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// The key of one medium in engine, cache and renditions. An episode has one main medium and may have alternates.
package struct MediaID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// The main medium of an episode: both have the same number.
    package init(_ episode: EpisodeID) { self.init(rawValue: episode.rawValue) }

    /// The episode whose main medium this is.
    package var episode: EpisodeID { EpisodeID(rawValue: rawValue) }
}

/// A row of the library's `episode` table.
package struct EpisodeID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// A row of the library's `podcast` table: a subscribed show.
package struct ShowID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The number of a task. For a download or an upload it is its row in the library, which is never reused; for any other
/// task a negative number, unique while the daemon runs.
package struct TaskID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}
