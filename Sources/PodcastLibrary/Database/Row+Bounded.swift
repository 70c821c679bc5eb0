import GRDB

/// The bounds of numbers in a row: arithmetic on times, sizes and counts must not overflow.
enum StoredNumber {
    /// The whole numbers that a `Double` represents exactly. Sums, differences and small multiples of two such numbers
    /// fit 64 bits.
    static let range: ClosedRange<Int64> = -(1 << 53)...1 << 53

    static func bounded(_ value: Int64) -> Int64 { min(max(value, range.lowerBound), range.upperBound) }

    /// Clamps a number to the range; `nil` for NaN.
    static func bounded(_ value: Double) -> Double? {
        value.isNaN ? nil : min(max(value, Double(range.lowerBound)), Double(range.upperBound))
    }

    /// Returns the number in the first column of the first row.
    static func fetchOne(_ statement: Statement, _ arguments: StatementArguments = []) throws -> Int64? {
        let rows = try Row.fetchCursor(statement, arguments: arguments)
        guard let row = try rows.next() else { return nil }
        return row[0]
    }
}

/// Safe conversions of columns. An earlier version may have stored unbounded numbers, and a damaged disk may change a
/// row: no number and no missing value may end the process that reads it. These replace GRDB's subscripts, which trap
/// for an unexpected NULL.
extension Row {
    subscript(_ index: Int) -> Int64? {
        switch (self[index] as DatabaseValue).storage {
        case .int64(let value): StoredNumber.bounded(value)
        case .double(let value): StoredNumber.bounded(value).map { Int64($0) }
        case .null, .string, .blob: nil
        }
    }

    subscript(_ index: Int) -> Double? {
        switch (self[index] as DatabaseValue).storage {
        case .int64(let value): Double(StoredNumber.bounded(value))
        case .double(let value): StoredNumber.bounded(value)
        case .null, .string, .blob: nil
        }
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

    /// Returns all 64 bits of a digest.
    func bits(_ index: Int) -> Int64 { Int64.fromDatabaseValue(self[index] as DatabaseValue) ?? 0 }
}
