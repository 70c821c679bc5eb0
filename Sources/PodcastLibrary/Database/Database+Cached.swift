import GRDB
import Synchronization

// Statements that are prepared once for each connection.

extension Database {
    func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }
}

/// Columns of a row by name, with their values.
struct Columns: ExpressibleByDictionaryLiteral {
    private(set) var names: [StaticString]
    private(set) var values: [DatabaseValue]

    init(dictionaryLiteral columns: (StaticString, (any DatabaseValueConvertible)?)...) {
        names = []
        values = []
        // Room for the columns that are appended, too.
        names.reserveCapacity(Self.usual)
        values.reserveCapacity(Self.usual)
        // By index, since a copy of each existential value takes longer than its conversion.
        for index in columns.indices {
            names.append(columns[index].0)
            values.append(columns[index].1?.databaseValue ?? .null)
        }
    }

    /// The number of columns of a new episode, rounded up.
    private static let usual = 32

    /// The names, separated by commas.
    var list: String { names.map { "\($0)" }.joined(separator: ", ") }

    static func += (columns: inout Columns, more: Columns) {
        columns.names += more.names
        columns.values += more.values
    }

    static func + (columns: Columns, more: Columns) -> Columns {
        var all = columns
        all += more
        return all
    }
}

extension Database {
    func insert(into table: StaticString, _ columns: Columns) throws {
        try run(columns, "INSERT", table) { names in
            let marks = names.map { _ in "?" }.joined(separator: ", ")
            return "INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(marks))"
        }
    }

    /// Updates the row with the value in the column of `key`.
    func update(_ table: StaticString, _ columns: Columns, where key: Columns) throws {
        try run(columns + key, "UPDATE", table) { names in
            let assignments = names.map { "\($0) = ?" }
            return """
                UPDATE \(table) SET \(assignments.dropLast().joined(separator: ", ")) WHERE \(assignments.last ?? "")
                """
        }
    }

    /// Executes the statement that `text` makes from the names of the columns.
    private func run(
        _ columns: Columns, _ verb: StaticString, _ table: StaticString, _ text: ([String]) -> String
    ) throws {
        let key = ([verb, table] + columns.names).map { Int(bitPattern: $0.utf8Start) }
        let sql: String
        if let known = statementTexts.withLock({ $0[key] }) {
            sql = known
        } else {
            sql = text(columns.names.map { "\($0)" })
            statementTexts.withLock { $0[key] = sql }
        }
        let statement = try cachedStatement(sql: sql)
        // The values are bound directly, since an array of arguments takes longer than SQLite's own work for the row.
        statement.setUncheckedArguments([])
        for (index, value) in columns.values.enumerated() {
            let code = ResultCode(rawValue: value.bind(to: statement.sqliteStatement, at: CInt(index + 1)))
            if code != .SQLITE_OK { throw DatabaseError(resultCode: code, sql: sql) }
        }
        try statement.execute()
    }
}

/// The texts of statements by the addresses of the verb, the table and the columns in the program. To join the names
/// for each row took a third of the time of an import (perf).
private let statementTexts = Mutex<[[Int]: String]>([:])

extension Row {
    static func fetchOne(_ db: Database, _ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
        try fetchOne(db.cachedStatement(sql: sql), arguments: arguments)
    }

    static func fetchCursor(_ db: Database, _ sql: String, _ arguments: StatementArguments = []) throws -> RowCursor {
        try fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
    }
}

extension DatabaseValueConvertible {
    static func fetchOne(_ db: Database, _ sql: String, _ arguments: StatementArguments = []) throws -> Self? {
        try fetchOne(db.cachedStatement(sql: sql), arguments: arguments)
    }

    static func fetchAll(_ db: Database, _ sql: String, _ arguments: StatementArguments = []) throws -> [Self] {
        try fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
    }
}

extension DatabaseValueConvertible where Self: Hashable {
    static func fetchSet(_ db: Database, _ sql: String, _ arguments: StatementArguments = []) throws -> Set<Self> {
        try fetchSet(db.cachedStatement(sql: sql), arguments: arguments)
    }
}

extension RowCursor {
    /// Converts all rows. (`Array(cursor.map)` needs an escaping closure.)
    func mapAll<Value>(_ transform: (Row) throws -> Value) throws -> [Value] {
        var values: [Value] = []
        while let row = try next() { values.append(try transform(row)) }
        return values
    }

    /// Converts all rows to keys and values; the last one of a key counts.
    func dictionary<Key, Value>(_ entry: (Row) throws -> (Key, Value)) throws -> [Key: Value] {
        var entries: [Key: Value] = [:]
        while let row = try next() {
            let (key, value) = try entry(row)
            entries[key] = value
        }
        return entries
    }
}

/// A value that is read from a row.
protocol StoredRow {
    /// The columns that `init(_:)` reads, in its order.
    static var columns: String { get }
    /// The table of the columns, or a join.
    static var table: String { get }

    init(_ row: Row)
}

extension StoredRow {
    /// - Parameters:
    ///   - outer: A table to be read before `table`, with `CROSS JOIN`.
    ///   - condition: The text after WHERE.
    static func fetch(
        _ db: Database, joining outer: String = "", where condition: String, _ arguments: StatementArguments = []
    ) throws -> [Self] {
        try Row.fetchCursor(db, "SELECT \(columns) FROM \(outer)\(table) WHERE \(condition)", arguments)
            .mapAll(Self.init)
    }
}

/// Queries of one statement; see `query`.
extension Library {
    func all<Value: StoredRow>(
        joining outer: String = "", where condition: String, _ arguments: StatementArguments = []
    ) throws -> [Value] {
        try query { db in try Value.fetch(db, joining: outer, where: condition, arguments) }
    }

    func first<Value: StoredRow>(
        joining outer: String = "", where condition: String, _ arguments: StatementArguments = []
    ) throws -> Value? {
        try query { db in try Value.fetch(db, joining: outer, where: condition, arguments).first }
    }

    func value<Value: DatabaseValueConvertible>(
        _ sql: String, _ arguments: StatementArguments = []
    ) throws -> Value? {
        try query { db in try Value.fetchOne(db, sql, arguments) }
    }

    func values<Value: DatabaseValueConvertible>(
        _ sql: String, _ arguments: StatementArguments = []
    ) throws -> [Value] {
        try query { db in try Value.fetchAll(db, sql, arguments) }
    }

    func rows<Value>(
        _ sql: String, _ arguments: StatementArguments = [], _ transform: (Row) throws -> Value
    ) throws -> [Value] {
        try query { db in try Row.fetchCursor(db, sql, arguments).mapAll(transform) }
    }

    /// Converts the first row; `nil` without a row.
    func row<Value>(
        _ sql: String, _ arguments: StatementArguments = [], _ transform: (Row) throws -> Value?
    ) throws -> Value? {
        try query { db in try Row.fetchOne(db, sql, arguments).flatMap(transform) }
    }

    func dictionary<Key, Value>(
        _ sql: String, _ arguments: StatementArguments = [], _ entry: (Row) throws -> (Key, Value)
    ) throws -> [Key: Value] {
        try query { db in try Row.fetchCursor(db, sql, arguments).dictionary(entry) }
    }

    /// Executes one statement in a transaction.
    ///
    /// - Parameter missing: The error if the statement has changed no row; `nil` if that is no error.
    func execute(
        _ sql: String, _ arguments: StatementArguments = [],
        orThrow missing: @autoclosure () -> LibraryError? = nil
    ) throws {
        try write { db in
            try db.run(sql, arguments)
            if db.changesCount == 0, let missing = missing() { throw missing }
        }
    }
}
