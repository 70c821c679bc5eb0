internal import GRDB
internal import TransferCore

// Identifiers are stored as their numbers.
extension EpisodeID: DatabaseValueConvertible, StatementColumnConvertible {}
extension ShowID: DatabaseValueConvertible, StatementColumnConvertible {}
extension TaskID: DatabaseValueConvertible, StatementColumnConvertible {}

extension Row {
    subscript<ID: Identifier>(_ index: Int) -> ID? { (self[index] as Int64?).map { ID(rawValue: $0) } }
    subscript<ID: Identifier>(_ index: Int) -> ID { ID(rawValue: self[index] as Int64) }
}
