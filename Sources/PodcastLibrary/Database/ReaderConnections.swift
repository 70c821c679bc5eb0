import GRDB
import Synchronization

/// The reading connections, as many as threads read concurrently.
///
/// They replace the readers of GRDB's own pool, which queries the schema version before every read: a second statement
/// that costs as much as the lookup of one row. Nothing here depends on GRDB's knowledge of the schema, and SQLite
/// itself prepares a statement again after a migration (https://www.sqlite.org/c3ref/prepare.html).
///
/// Thread-safe. A nested read uses another connection.
final class ReaderConnections: Sendable {
    private let path: String
    private let configuration: Configuration
    /// The idle connections.
    private let idle = Mutex<[DatabaseQueue]>([])
    private let counting = Mutex<DatabaseQueue?>(nil)

    /// The maximum number of idle connections: the threads of a mount, and one that receives events. GRDB's pool has
    /// five too.
    private static let maxIdle = 5

    /// - Parameter configuration: The configuration of reading connections.
    init(path: String, configuration: Configuration) {
        self.path = path
        self.configuration = configuration
    }

    func use<Value>(_ body: (DatabaseQueue) throws -> Value) throws -> Value {
        let connection = try idle.withLock { $0.popLast() } ?? DatabaseQueue(path: path, configuration: configuration)
        defer {
            let isKept = idle.withLock { connections in
                guard connections.count < Self.maxIdle else { return false }
                connections.append(connection)
                return true
            }
            if !isKept { try? connection.close() }
        }
        return try body(connection)
    }

    /// Returns `PRAGMA data_version` of a connection used for nothing else, and closed last.
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

    /// Closes the idle connections; the next read opens a new one.
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
