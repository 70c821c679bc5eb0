import GRDB

/// What the numbers in a row may be: what arithmetic on moments, sizes and counts carries without overflow.
enum StoredNumber {
    /// Every whole number that a `Double` holds exactly. Sums, differences and small multiples of two such numbers fit 64
    /// bits.
    static let range: ClosedRange<Int64> = -(1 << 53)...1 << 53

    static func bounded(_ value: Int64) -> Int64 { min(max(value, range.lowerBound), range.upperBound) }

    /// `nil` for what is no number.
    static func bounded(_ value: Double) -> Double? {
        value.isNaN ? nil : min(max(value, Double(range.lowerBound)), Double(range.upperBound))
    }

    /// The number in the first column of the first row.
    static func fetchOne(_ statement: Statement, _ arguments: StatementArguments = []) throws -> Int64? {
        let rows = try Row.fetchCursor(statement, arguments: arguments)
        guard let row = try rows.next() else { return nil }
        return row[0]
    }
}

/// Columns as values. A row may have been written by an earlier version, from numbers that nobody had bounded, and a
/// disk may change it: no number, and no missing value, ends the process that reads it. These take the place of GRDB's
/// subscripts, which stop the process for a NULL where none was expected.
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

    /// A number of bytes; `nil` for what the size of no file can be.
    subscript(bytes index: Int) -> Int64? {
        (self[index] as Int64?).flatMap { (0...EpisodeSize.greatest).contains($0) ? $0 : nil }
    }

    /// All 64 bits, of a digest.
    func bits(_ index: Int) -> Int64 { Int64.fromDatabaseValue(self[index] as DatabaseValue) ?? 0 }
}
