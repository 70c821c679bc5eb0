import GRDB
import Synchronization

/// Connections that read, as many as threads read at the same time.
///
/// In place of the readers of GRDB's own pool, which asks SQLite for the version of the schema before every read: beside
/// a lookup of one row that is a second statement of the same cost. Nothing here goes by GRDB's knowledge of the schema,
/// and SQLite itself prepares a statement anew after a migration (https://www.sqlite.org/c3ref/prepare.html).
///
/// Thread-safe. A read within a read takes another connection.
final class ReaderConnections: Sendable {
    private let path: String
    private let configuration: Configuration
    /// Those that nobody uses.
    private let idle = Mutex<[DatabaseQueue]>([])
    private let counting = Mutex<DatabaseQueue?>(nil)

    /// How many are kept open: the threads of a mount, and one that listens to the daemon. GRDB's pool has five too.
    private static let mostIdle = 5

    /// - Parameter configuration: of connections that only read.
    init(path: String, configuration: Configuration) {
        self.path = path
        self.configuration = configuration
    }

    func use<Value>(_ body: (DatabaseQueue) throws -> Value) throws -> Value {
        let connection = try idle.withLock { $0.popLast() } ?? DatabaseQueue(path: path, configuration: configuration)
        defer {
            let isKept = idle.withLock { connections in
                guard connections.count < Self.mostIdle else { return false }
                connections.append(connection)
                return true
            }
            if !isKept { try? connection.close() }
        }
        return try body(connection)
    }

    /// `PRAGMA data_version` of a connection that is used for nothing else, and never closed before the others.
    func changeCounter() throws -> Int64 {
        let connection = try counting.withLock { kept in
            if let kept { return kept }
            let connection = try DatabaseQueue(path: path, configuration: configuration)
            kept = connection
            return connection
        }
        return try connection.unsafeRead { db in
            try Int64.fetchOne(db.cachedStatement(sql: "PRAGMA data_version")) ?? 0
        }
    }

    /// Closes those that nobody uses; the next read opens another.
    func close() throws {
        var connections = idle.withLock { connections in
            defer { connections = [] }
            return connections
        }
        let counting = counting.withLock { kept in
            defer { kept = nil }
            return kept
        }
        if let counting { connections.append(counting) }
        for connection in connections { try connection.close() }
    }
}
