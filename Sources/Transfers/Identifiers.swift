/// An integer identifier. Each kind of object has its own type, so that an episode's id cannot be passed as a show's.
///
/// Encoded as a plain number in JSON, in the binary frames of the protocol and in the library's columns.
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

/// The id of a media file in the engine, the cache and the library's renditions. An episode has one main media file
/// and may have alternates. Each alternate has its own row in the library, and so its own number.
package struct MediaID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of a task. For a download or an upload it is the id of a row in the library, which is never reused; for any
/// other task it is a negative number, unique while the daemon runs.
package struct TaskID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}
