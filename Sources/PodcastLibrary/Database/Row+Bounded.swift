import GRDB
internal import PodcastProtocol
package import Transfers

/// The range to which numbers read from a row are clamped, so that arithmetic on times, sizes and counts cannot
/// overflow.
enum StoredNumber {
    /// The whole numbers that a `Double` represents exactly. Sums, differences and small multiples of two such numbers
    /// fit 64 bits.
    static let range: ClosedRange<Int64> = -(1 << 53)...1 << 53

    static func bounded(_ value: Int64) -> Int64 { min(max(value, range.lowerBound), range.upperBound) }

    /// Clamps a number to the range; `nil` for NaN.
    static func bounded(_ value: Double) -> Double? {
        value.isNaN ? nil : min(max(value, Double(range.lowerBound)), Double(range.upperBound))
    }

    /// Returns the number in the first column of the first row; `nil` without a row, or for NULL.
    static func fetchOne(_ db: Database, _ sql: String, _ arguments: StatementArguments = []) throws -> Int64? {
        try Row.fetchOne(db, sql, arguments).flatMap { $0[0] }
    }
}

/// Safe conversions of columns. A damaged disk may change a row. Neither such a number nor a missing value may crash
/// the process that reads the row. These subscripts take precedence over GRDB's, which trap for an unexpected NULL.
extension Row {
    subscript(_ index: Int) -> Int64? { (stored(index) as Int64?).map(StoredNumber.bounded) }
    subscript(_ index: Int) -> Double? { (stored(index) as Double?).flatMap(StoredNumber.bounded) }

    /// Returns a column by GRDB's own subscript, which reads the column of a running statement directly. When numbers
    /// were read through a `DatabaseValue`, reading them took 9 % of the mount's time in `find -ls` over 300 shows
    /// (perf). In a direct read, SQLite converts values of other types to numbers, such as text without digits to 0.
    private func stored<Value: DatabaseValueConvertible & StatementColumnConvertible>(_ index: Int) -> Value? {
        self[index]
    }

    subscript(_ index: Int) -> Int? { (self[index] as Int64?).map { Int($0) } }
    subscript(_ index: Int) -> Int64 { (self[index] as Int64?) ?? 0 }
    subscript(_ index: Int) -> Int { (self[index] as Int?) ?? 0 }
    subscript(_ index: Int) -> Bool { (self[index] as Int64) != 0 }
    subscript(_ index: Int) -> String { (self[index] as String?) ?? "" }

    /// A number of bytes; `nil` if no file can have this size.
    subscript(bytes index: Int) -> Int64? {
        (self[index] as Int64?).flatMap { (0...EpisodeSize.greatest).contains($0) ? $0 : nil }
    }

    /// Returns a digest with all its 64 bits, without clamping.
    func bits(_ index: Int) -> Int64 { Int64.fromDatabaseValue(self[index] as DatabaseValue) ?? 0 }
}

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
