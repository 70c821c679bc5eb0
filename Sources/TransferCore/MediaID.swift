/// The key of one medium in engine, cache and renditions.
package struct MediaID: RawRepresentable, Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package init(_ rawValue: Int64) { self.rawValue = rawValue }

    package var description: String { "\(rawValue)" }

    package static func < (one: MediaID, other: MediaID) -> Bool { one.rawValue < other.rawValue }
}
