import GRDB

/// An event that is kept for clients that were away when it came.
package struct KeptEvent: Sendable, Equatable {
    /// Grows from event to event, over all runs of the daemon.
    package var sequence: Int64
    package var time: Int64
    /// The message, not understood here.
    package var payload: String

    package init(sequence: Int64, time: Int64, payload: String) {
        self.sequence = sequence
        self.time = time
        self.payload = payload
    }
}

extension Library {
    /// The most events kept, and how long one is, in seconds: enough for a client that looks once a week.
    package static let mostKeptEvents = 1_000
    package static let keepsEventsFor: Int64 = 7 * 86_400

    /// Numbers for events, given to nobody else, in this run or a later one.
    ///
    /// - Returns: the numbers; what is not used of them is lost, which is no harm.
    package func reserveSequences(_ count: Int64) throws -> Range<Int64> {
        try write { db in
            let sql = """
                INSERT INTO counter (name, value) VALUES ('sequence', ?1)
                ON CONFLICT (name) DO UPDATE SET value = max(0, min(value, \(StoredNumber.range.upperBound))) + ?1
                RETURNING value
                """
            let last = try StoredNumber.fetchOne(db.cachedStatement(sql: sql), [count]) ?? count
            return (last - count + 1)..<(last + 1)
        }
    }

    /// Keeps an event, and drops those that are too many or too old.
    package func keep(_ event: KeptEvent) throws {
        try write { db in try Self.keep(event, db) }
    }

    /// The same within a transaction.
    static func keep(_ event: KeptEvent, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO event (sequence, time, payload) VALUES (?, ?, ?)")
            .execute(arguments: [event.sequence, event.time, event.payload])
        try db.cachedStatement(sql: "DELETE FROM event WHERE time < ?")
            .execute(arguments: [event.time - keepsEventsFor])
        try db.cachedStatement(
            sql: """
                DELETE FROM event WHERE sequence <=
                    (SELECT sequence FROM event ORDER BY sequence DESC LIMIT 1 OFFSET ?)
                """
        ).execute(arguments: [mostKeptEvents])
    }

    /// The kept events after `sequence`, in order.
    package func events(since sequence: Int64) throws -> [KeptEvent] {
        try query { db in
            let statement = try db.cachedStatement(
                sql: "SELECT sequence, time, payload FROM event WHERE sequence > ? ORDER BY sequence")
            return try Row.fetchCursor(statement, arguments: [sequence]).mapAll { row in
                KeptEvent(sequence: row[0], time: row[1], payload: row[2])
            }
        }
    }

    /// The last event that a background session's client has taken note of; 0 for one that is new.
    package func acknowledged(session: String) throws -> Int64 {
        try query { db in
            try StoredNumber.fetchOne(
                db.cachedStatement(sql: "SELECT acknowledged FROM session WHERE identifier = ?"), [session]) ?? 0
        }
    }

    /// Events up to this one are not told to the session again. Earlier numbers change nothing.
    package func acknowledge(session: String, through sequence: Int64) throws {
        try write { db in
            try db.cachedStatement(
                sql: """
                    INSERT INTO session (identifier, acknowledged) VALUES (?1, ?2)
                    ON CONFLICT (identifier) DO UPDATE SET acknowledged = max(acknowledged, ?2)
                    """
            ).execute(arguments: [session, sequence])
        }
    }
}
