import GRDB

// Statements that are prepared once for each connection.

extension Database {
    func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }
}

/// The columns of a row with their values.
typealias Columns = [(name: String, value: (any DatabaseValueConvertible)?)]

extension Database {
    func insert(into table: String, _ columns: Columns) throws {
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        try run(
            "INSERT INTO \(table) (\(columns.map(\.name).joined(separator: ", "))) VALUES (\(marks))",
            StatementArguments(columns.map(\.value)))
    }

    /// Updates the row whose column `key` has this value.
    func update(_ table: String, _ columns: Columns, where key: String, _ value: some DatabaseValueConvertible) throws {
        let assignments = columns.map { "\($0.name) = ?" }.joined(separator: ", ")
        try run(
            "UPDATE \(table) SET \(assignments) WHERE \(key) = ?", StatementArguments(columns.map(\.value) + [value]))
    }
}

extension Row {
    static func fetchOne(_ db: Database, _ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
        try fetchOne(db.cachedStatement(sql: sql), arguments: arguments)
    }

    static func fetchAll(_ db: Database, _ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
        try fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
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
}

extension Library {
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
