import GRDB
import Synchronization

/// A pool of reading connections, one for each concurrent read.
///
/// It replaces the readers of GRDB's own pool, which queries the schema version before every read. This second
/// statement costs as much as the lookup of one row. The reads here do not depend on GRDB's knowledge of the schema,
/// and SQLite itself prepares a statement again after a change of the schema
/// (https://www.sqlite.org/c3ref/prepare.html).
///
/// Thread-safe. A nested read uses another connection.
final class ReaderConnections: Sendable {
    private let path: String
    private let configuration: Configuration
    private let idle = Mutex<[DatabaseQueue]>([])
    /// The connection that only `changeCounter` uses; `nil` before its first call.
    private let counterConnection = Mutex<DatabaseQueue?>(nil)

    /// The maximum number of idle connections: one for each thread of a mount, and one for the receiver of events.
    /// GRDB's pool has five too.
    private static let maxIdle = 5

    /// - Parameter configuration: The configuration of reading connections.
    init(path: String, configuration: Configuration) {
        self.path = path
        self.configuration = configuration
    }

    /// Calls `body` with an idle or a new connection. Afterwards the connection becomes idle, or is closed if there are
    /// already `maxIdle`.
    func use<Value>(_ body: (DatabaseQueue) throws -> Value) throws -> Value {
        let connection = try idle.withLock { $0.popLast() } ?? DatabaseQueue(path: path, configuration: configuration)
        defer {
            let isReused = idle.withLock { connections in
                guard connections.count < Self.maxIdle else { return false }
                connections.append(connection)
                return true
            }
            if !isReused { try? connection.close() }
        }
        return try body(connection)
    }

    /// Returns `PRAGMA data_version` of a connection that is used for nothing else, because only values of the same
    /// connection are comparable. `use` would select different connections, and close some of them.
    func changeCounter() throws -> Int64 {
        let connection = try counterConnection.withLock { stored in
            let connection = try stored ?? DatabaseQueue(path: path, configuration: configuration)
            stored = connection
            return connection
        }
        return try connection.unsafeRead { db in try Int64.fetchOne(db, "PRAGMA data_version") ?? 0 }
    }
}
