import GRDB
internal import PodcastProtocol
package import Transfers

// Identifiers are stored as their numbers.
extension EpisodeID: DatabaseValueConvertible {}
extension ShowID: DatabaseValueConvertible {}
extension TaskID: DatabaseValueConvertible {}

extension Identifier where Self: DatabaseValueConvertible {
    static func fromDatabaseValue(_ value: DatabaseValue) -> Self? {
        Int64.fromDatabaseValue(value).map { Self(rawValue: StoredNumber.bounded($0)) }
    }
}

/// Subscripts that read identifiers. The values are clamped to `StoredNumber.range`, like all numbers of a row. These
/// subscripts take precedence over GRDB's.
extension Row {
    subscript<ID: Identifier & DatabaseValueConvertible>(_ index: Int) -> ID? {
        (self[index] as Int64?).map { ID(rawValue: $0) }
    }

    subscript<ID: Identifier & DatabaseValueConvertible>(_ index: Int) -> ID { ID(rawValue: self[index] as Int64) }
}
