import GRDB
package import PodcastProtocol

extension Library {
    /// Applies actions of other devices. In the same transaction, records `window`, from which the start time of the
    /// next request for actions is computed.
    ///
    /// - Parameters:
    ///   - clock: The clocks at the time of the response.
    ///   - window: The timestamps of the server's last responses.
    ///   - keepsLatestOnly: Whether the server stores only the last action of an episode. An action older than the
    ///     local state has then overwritten that state on the server, so the local state is sent again.
    /// - Returns: The episodes that changed, and the number of actions with timestamps in the future.
    package func apply(
        _ actions: [SyncAction], clock: SyncClock, window: SyncWindow, keepsLatestOnly: Bool, now: Int64
    ) throws -> (changed: [EpisodeID], future: Int) {
        try write { db in
            try SyncSQL.applying(db) {
                var changed: [EpisodeID] = []
                var future = 0
                var index = EpisodeIndex()
                var room = try Self.maxClamped - (Int.fetchOne(db, "SELECT count(*) FROM sync_clamped") ?? 0)
                for action in actions {
                    let isFuture = clock.isFuture(action.timestamp)
                    guard try Self.needsApplying(action, isFuture: isFuture, room: &room, db) else { continue }
                    guard let state = SyncedState(action) else {
                        // An action without a state, such as a download, has overwritten the state on the server.
                        if keepsLatestOnly { try Self.queueAgain(index.episode(of: action, db), now: now, db) }
                        continue
                    }
                    if isFuture { future += 1 }
                    let moment = SyncedMoment(time: clock.clamped(action.timestamp), state: state)
                    guard let episode = try index.episode(of: action, db) else {
                        try Self.park(action, moment, now: now, db)
                        continue
                    }
                    switch try Self.apply(moment, to: episode, skew: clock.skew, now: now, db) {
                    case .applied:
                        changed.append(episode)
                        // Each device replaces a future timestamp by the time at which it receives the action. Send
                        // the time chosen here, so that the other devices get the same one.
                        if isFuture { try Self.queue(episode, moment.time, stamp: moment.time, now: now, db) }
                    case .same: break
                    case .older(let time):
                        if keepsLatestOnly { try Self.queue(episode, time, stamp: time, now: now, db) }
                    }
                }
                try db.run(
                    "UPDATE sync_account SET episodes_since = ?, episodes_full = ?", [window.last, window.lastFull])
                try Self.bound(db)
                return (changed, future)
            }
        }
    }

    /// Returns the unsent changes, oldest first. Each gets its final timestamp here, so that a repeated request is
    /// identical.
    ///
    /// - Parameter device: `nil` if the server has no devices.
    package func pendingActions(clock: SyncClock, device: String?, limit: Int) throws -> [PendingAction] {
        try write { db in
            let rows = try Row.fetchCursor(
                db,
                """
                SELECT q.episode, q.at, q.floor, q.stamp, coalesce(e.main_url, e.url), e.guid, e.played,
                    e.position, coalesce(e.total, e.duration), p.url,
                    (SELECT f.url FROM sync_feed f WHERE f.podcast = p.id AND f.subscribed = 1 LIMIT 1),
                    e.started
                FROM sync_pending q JOIN episode e ON e.id = q.episode JOIN podcast p ON p.id = e.podcast
                WHERE p.ephemeral = 0
                ORDER BY q.at, q.episode LIMIT ?
                """, [limit])
            let found = try rows.mapAll { row in
                let stamp: Int64? = row[3]
                let time = stamp ?? clock.time(ofLocal: row[1], floor: row[2])
                let state = SyncedState(played: row[6], position: row[7], total: row[8])
                // The feed's address as the server spells it, if known.
                let podcast: String = row[10] ?? row[9]
                let action = state.action(
                    podcast: podcast, episode: row[4], guid: row[5], device: device, timestamp: time,
                    started: row[11], total: row[8])
                return PendingAction(episode: row[0], action: action)
            }
            for pending in found {
                try db.run(
                    "UPDATE sync_pending SET stamp = ? WHERE episode = ?", [pending.action.timestamp, pending.episode])
            }
            return found
        }
    }

    /// Shifts the times of unsent changes after the clock was set forward by `seconds`, or back if `seconds` is
    /// negative. The times were recorded with the old clock, and they decide conflicts between devices.
    package func moveUnsent(by seconds: Int64) throws {
        let shift = SyncTimeRange.bounded(seconds)
        try write { db in
            for table in ["sync_pending", "sync_subscription"] {
                try db.run("UPDATE \(table) SET at = max(0, min(at + ?, ?))", [shift, SyncTimeRange.latest])
            }
        }
    }

    /// Removes from the queue the actions that the server has accepted or rejected. A change stays in the queue if the
    /// episode's state has changed again since the request.
    package func actionsSent(_ actions: [PendingAction]) throws {
        try write { db in
            for pending in actions {
                let time = pending.action.timestamp
                try db.run("DELETE FROM sync_pending WHERE episode = ? AND stamp = ?", [pending.episode, time])
                try Self.recordTime(time, of: pending.episode, db)
            }
        }
    }

    // MARK: One action

    /// The result of comparing an action with the local state.
    private enum Outcome {
        /// The action was later, or the local state had no recorded time. The action has replaced the local state.
        case applied
        /// The local state equals that of the action, or the episode does not exist.
        case same
        /// The local state is later, with this time.
        case older(Int64)
    }

    private static func apply(
        _ moment: SyncedMoment, to episode: EpisodeID, skew: Int64, now: Int64, _ db: Database
    ) throws -> Outcome {
        let row = try Row.fetchOne(
            db,
            """
            SELECT e.played, e.position, coalesce(e.total, e.duration), s.time, q.at, q.floor, q.stamp FROM episode e
            LEFT JOIN sync_episode s ON s.episode = e.id LEFT JOIN sync_pending q ON q.episode = e.id
            WHERE e.id = ?
            """, [episode])
        guard let row else { return .same }
        let state = SyncedState(played: row[0], position: row[1], total: row[2])
        let time: Int64?
        if let at: Int64 = row[4] {
            let stamp: Int64? = row[6]
            time = stamp ?? SyncClock(local: 0, server: skew).time(ofLocal: at, floor: row[5])
        } else {
            time = row[3]
        }
        if let time {
            let known = SyncedMoment(time: time, state: state)
            if known == moment { return .same }
            guard known < moment else { return .older(time) }
        }
        try db.run("DELETE FROM sync_pending WHERE episode = ?", [episode])
        try recordTime(moment.time, of: episode, db)
        if time != nil, state == moment.state { return .same }
        try db.run(
            """
            UPDATE episode SET changed = CASE WHEN played = ?1 AND position IS ?2 THEN changed ELSE ?3 END,
                played = ?1, position = ?2, started = NULL, heard = ?4,
                last_played = CASE WHEN ?5 THEN last_played ELSE nullif(max(coalesce(last_played, 0), ?4), 0) END
            WHERE id = ?6
            """,
            [
                moment.state.isPlayed, moment.state.position, now, moment.localTime(skew: skew, now: now),
                moment.state == .new, episode,
            ])
        return .applied
    }

    /// Records the timestamp of an episode's state, unless a later one is recorded.
    private static func recordTime(_ time: Int64, of episode: EpisodeID, _ db: Database) throws {
        // Inserts from a SELECT, which returns no row if the episode has been removed meanwhile.
        try db.run(
            """
            INSERT INTO sync_episode (episode, time) SELECT id, ?2 FROM episode WHERE id = ?1
            ON CONFLICT (episode) DO UPDATE SET time = max(time, excluded.time)
            """, [episode, time])
    }

    /// Queues the state of an episode for sending, unless a change of it is queued already.
    ///
    /// - Parameters:
    ///   - floor: The lowest timestamp that the state may be sent with.
    ///   - stamp: The timestamp to send.
    private static func queue(_ episode: EpisodeID, _ floor: Int64, stamp: Int64, now: Int64, _ db: Database) throws {
        try db.run(
            """
            INSERT INTO sync_pending (episode, at, floor, stamp) VALUES (?, ?, ?, ?) ON CONFLICT (episode) DO NOTHING
            """, [episode, now, floor, stamp])
    }

    /// Queues the state of an episode for sending again, with its original timestamp. If the state has no recorded
    /// timestamp, nothing is queued.
    private static func queueAgain(_ episode: EpisodeID?, now: Int64, _ db: Database) throws {
        let time = try StoredNumber.fetchOne(db, "SELECT time FROM sync_episode WHERE episode = ?", [episode])
        if let episode, let time { try queue(episode, time, stamp: time, now: now, db) }
    }

    // MARK: Clamped actions

    /// The maximum number of recorded actions. It limits the size of the database if a server invents actions.
    private static let maxClamped = 10_000
    /// The maximum number of parked states, for the same reason. A person who plays ten episodes a day reaches it in
    /// three years.
    private static let maxParked = 10_000

    /// Returns whether to apply an action. One from the future is *clamped*: its timestamp is replaced by the time of
    /// receipt. It would get a later time on each receipt, so it is recorded, and applied only once; not at all if it
    /// cannot be recorded. Any other action may have to be applied again: its episode may have appeared since, or the
    /// server may have reverted to it.
    ///
    /// - Parameter room: The number of actions that can still be recorded.
    private static func needsApplying(
        _ action: SyncAction, isFuture: Bool, room: inout Int, _ db: Database
    ) throws -> Bool {
        guard isFuture || room < maxClamped else { return true }
        let content = [
            action.podcast, action.episode, action.guid ?? "", action.kind.rawValue, action.device ?? "",
            "\(action.timestamp) \(action.started ?? -1) \(action.position ?? -1) \(action.total ?? -1)",
        ].joined(separator: "\n")
        if !isFuture {
            return try Bool.fetchOne(db, "SELECT 1 FROM sync_clamped WHERE action = ?", [content]) == nil
        }
        if room <= 0 { return false }
        try db.run("INSERT OR IGNORE INTO sync_clamped (action) VALUES (?)", [content])
        room -= db.changesCount
        return db.changesCount > 0
    }

    // MARK: Parked states

    /// Deletes the oldest parked states above the maximum.
    private static func bound(_ db: Database) throws {
        let parked = try Int.fetchOne(db, "SELECT count(*) FROM sync_parked") ?? 0
        if parked <= maxParked { return }
        try db.run(
            """
            DELETE FROM sync_parked WHERE (podcast, episode, guid) IN (
                SELECT podcast, episode, guid FROM sync_parked ORDER BY received, time LIMIT ?)
            """, [parked - maxParked])
    }

    /// Stores the state of an episode that is not in the library, unless a later one is stored.
    private static func park(_ action: SyncAction, _ moment: SyncedMoment, now: Int64, _ db: Database) throws {
        let row = try Row.fetchOne(
            db,
            """
            SELECT time, played, position FROM sync_parked WHERE podcast = ? AND episode = ? AND guid = ?
            """, [action.podcast, action.episode, action.guid ?? ""])
        if let row {
            let known = SyncedMoment(time: row[0], state: SyncedState(played: row[1], position: row[2], total: nil))
            guard known < moment else { return }
        }
        try db.run(
            """
            INSERT OR REPLACE INTO sync_parked (podcast, episode, guid, time, played, position, unsent, received)
            VALUES (?, ?, ?, ?, ?, ?, 0, ?)
            """,
            [
                action.podcast, action.episode, action.guid ?? "", moment.time, moment.state.isPlayed,
                moment.state.position.map { Int64($0) }, now,
            ])
    }

    /// Applies parked states to the episodes of these shows that are now in the library.
    static func unpark(podcasts: Set<ShowID>, now: Int64, _ db: Database) throws {
        guard try Bool.fetchOne(db, "SELECT 1 FROM sync_parked LIMIT 1") ?? false else { return }
        let rows = try Row.fetchCursor(
            db, "SELECT podcast, episode, guid, time, played, position, unsent FROM sync_parked"
        ).mapAll { row in
            let action = SyncAction(
                podcast: row[0], episode: row[1], guid: (row[2] as String).isEmpty ? nil : row[2], kind: .play,
                timestamp: row[3])
            let state = SyncedState(played: row[4], position: row[5], total: nil)
            return (action, SyncedMoment(time: row[3], state: state), row[6] as Bool)
        }
        try SyncSQL.applying(db) {
            var index = EpisodeIndex(only: podcasts)
            for (action, moment, isUnsent) in rows {
                guard let episode = try index.episode(of: action, db) else { continue }
                if case .applied = try apply(moment, to: episode, skew: 0, now: now, db), isUnsent {
                    try queue(episode, moment.time, stamp: moment.time, now: now, db)
                }
                try db.run(
                    "DELETE FROM sync_parked WHERE podcast = ? AND episode = ? AND guid = ?",
                    [action.podcast, action.episode, action.guid ?? ""])
            }
        }
    }

    /// Applies parked states to the episodes of all subscribed shows.
    package func unpark(now: Int64) throws {
        try write { db in
            let subscribed = try ShowID.fetchSet(db, "SELECT id FROM podcast WHERE ephemeral = 0")
            try Self.unpark(podcasts: subscribed, now: now, db)
        }
    }
}
