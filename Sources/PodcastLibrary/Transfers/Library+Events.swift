import GRDB
package import PodcastProtocol

// The events that are stored for clients that are not connected.
extension Library {
    /// The maximum number of stored events: enough for a client that connects once a week.
    package static let maxStoredEvents = 1_000
    /// The maximum age of a stored event in seconds.
    package static let eventRetention: Int64 = 7 * 86_400

    /// Reserves sequence numbers that are never used again, in this run or a later one.
    ///
    /// - Returns: The numbers. Those that the caller does not use are lost, which is harmless.
    package func reserveSequences(_ count: Int64) throws -> Range<Int64> {
        try write { db in
            let sql = """
                INSERT INTO counter (name, value) VALUES ('sequence', ?1)
                ON CONFLICT (name) DO UPDATE SET value = value + ?1
                RETURNING value
                """
            let last = try StoredNumber.fetchOne(db, sql, [count]) ?? count
            return (last - count + 1)..<(last + 1)
        }
    }

    /// Stores an event, and prunes events above `maxStoredEvents` or older than `eventRetention`.
    package func store(_ event: Event) throws { try write { db in try Self.store(event, db) } }

    /// Stores an event as part of a transaction.
    static func store(_ event: Event, _ db: Database) throws {
        try db.run(
            "INSERT OR REPLACE INTO event (sequence, time, payload) VALUES (?, ?, ?)",
            [event.sequence, event.time, String(decoding: WireJSON.encode(event), as: UTF8.self)])
        try db.run("DELETE FROM event WHERE time < ?", [event.time - eventRetention])
        try db.run(
            """
            DELETE FROM event WHERE sequence <=
                (SELECT sequence FROM event ORDER BY sequence DESC LIMIT 1 OFFSET ?)
            """, [maxStoredEvents])
    }

    /// Returns the stored events after `sequence`, in order.
    package func events(since sequence: Int64) throws -> [Event] {
        try events("SELECT payload FROM event WHERE sequence > ? ORDER BY sequence", sequence)
    }

    /// Returns the last stored events, newest first.
    package func lastEvents(limit: Int) throws -> [Event] {
        try events("SELECT payload FROM event ORDER BY sequence DESC LIMIT ?", Int64(limit))
    }

    /// Returns the events whose text a statement selects, without damaged ones.
    private func events(_ sql: String, _ argument: Int64) throws -> [Event] {
        try rows(sql, [argument]) { WireJSON.decode(Event.self, Array(($0[0] as String).utf8)) }.compactMap(\.self)
    }

    /// Returns the sequence number of the last event that a background session's client has acknowledged; 0 for a new
    /// session.
    package func acknowledged(session: String) throws -> Int64 {
        try row("SELECT acknowledged FROM session WHERE identifier = ?", [session]) { $0[0] } ?? 0
    }

    /// Records that a session's client has received all events up to and including `sequence`. A number below the last
    /// acknowledged one has no effect.
    package func acknowledge(session: String, through sequence: Int64) throws {
        try execute(
            """
            INSERT INTO session (identifier, acknowledged) VALUES (?1, ?2)
            ON CONFLICT (identifier) DO UPDATE SET acknowledged = max(acknowledged, ?2)
            """, [session, sequence])
    }
}
