import GRDB
internal import PodcastProtocol
import Synchronization

/// The stored episodes of each view (a folder of the episodes that satisfy the user's conditions). Each transaction
/// that changes a fact on which the conditions or the order of a view depend also updates the stored episodes.
///
/// A view that selects episodes by age is *due* when the next episode becomes too old or old enough for it. It is then
/// rebuilt, although no transaction has changed an episode.
///
/// A listing reads only the rows of one view, however many views and episodes there are. Thread-safe; used only with
/// the writing connection.
final class MaterializedViews: Sendable {
    /// All views; `nil` until they are loaded.
    private let compiled = Mutex<[ViewSQL]?>(nil)

    /// Discards the compiled definitions, after a change of a view or a rolled-back transaction.
    func invalidate() { compiled.withLock { $0 = nil } }

    /// Prepares the writing connection, and updates the views that are due.
    func open(_ db: Database, now: Int64) throws {
        for function in ViewSQL.functions { db.add(function: function) }
        try db.execute(sql: String(decoding: PackageResources.view_changes_sql, as: UTF8.self))
        _ = try update(db, now: now)
    }

    /// Applies the changes of the current transaction to the views. Call before it commits.
    func applyChanges(_ db: Database, now: Int64) throws {
        try db.run(
            """
            INSERT OR IGNORE INTO changed_episode
            SELECT id FROM episode WHERE id > (SELECT last FROM known_episode)
            """)
        guard try Bool.fetchOne(db, "SELECT EXISTS (SELECT 1 FROM changed_episode)") == true else { return }
        let views = try views(db)
        try matchChangedTitles(views.filter { $0.title != nil }, db)
        for view in views { try ViewRefresh(db, view, now: now).applyChanges() }
        try db.run("UPDATE known_episode SET last = (SELECT coalesce(max(id), 0) FROM episode)")
        try db.run("DELETE FROM changed_episode")
        try db.run("DELETE FROM changed_title")
    }

    /// Rebuilds the views that are due at `now`.
    ///
    /// - Returns: The names of the views that have changed.
    func update(_ db: Database, now: Int64) throws -> [String] {
        let due = try ViewID.fetchSet(db, "SELECT id FROM view WHERE expires <= ?", [now])
        guard !due.isEmpty else { return [] }
        return try views(db).filter { due.contains($0.id) }.compactMap { view in
            guard try ViewRefresh(db, view, now: now).rebuild() else { return nil }
            return try String.fetchOne(db, "SELECT name FROM view WHERE id = ?", [view.id])
        }
    }

    /// Rebuilds a new or changed view.
    func rebuild(_ id: ViewID, _ db: Database, now: Int64) throws {
        invalidate()
        guard let view = try views(db).first(where: { $0.id == id }) else { return }
        try db.run("DELETE FROM view_title WHERE view = ?", [id])
        if view.title != nil { try match([view], "1", db) }
        _ = try ViewRefresh(db, view, now: now).rebuild()
    }

    private func views(_ db: Database) throws -> [ViewSQL] {
        if let known = compiled.withLock({ $0 }) { return known }
        let views = try Row.fetchCursor(db, "SELECT id, definition FROM view ORDER BY id").mapAll {
            ViewSQL($0[0], ViewDefinition(lines: $0[1]))
        }
        compiled.withLock { $0 = views }
        return views
    }

    // MARK: Titles

    /// Stores again which views' expressions match new and changed titles. A search then matches no titles.
    private func matchChangedTitles(_ views: [ViewSQL], _ db: Database) throws {
        try db.run("DELETE FROM view_title WHERE episode IN (SELECT id FROM changed_title)")
        guard !views.isEmpty else { return }
        try db.run(
            """
            INSERT OR IGNORE INTO changed_title
            SELECT id FROM changed_episode WHERE id > (SELECT last FROM known_episode)
            """)
        try match(views, "e.id IN (SELECT id FROM changed_title)", db)
    }

    /// Stores which of the titles that meet a condition match the views' expressions.
    private func match(_ views: [ViewSQL], _ condition: String, _ db: Database) throws {
        let rows = try Row.fetchCursor(
            db,
            """
            SELECT e.id, e.title FROM episode e JOIN podcast p ON p.id = e.podcast
            WHERE p.ephemeral = 0 AND e.buried <> \(EpisodeSQL.alternate) AND \(condition)
            """)
        while let row = try rows.next() {
            for view in views where view.title?.matches(row[1]) ?? false {
                try db.run(
                    "INSERT INTO view_title (episode, view) VALUES (?, ?)", [row[0] as EpisodeID, view.id])
            }
        }
    }
}

/// One update of a stored view, inside a transaction.
private struct ViewRefresh {
    /// The sort key of an episode in the view.
    private struct Place: Equatable {
        var rank: Int64
        var tie: Int64
    }

    private let db: Database
    private let view: ViewSQL
    private let now: Int64
    /// The number of episodes in the view.
    private var count = 0
    /// When the view is due, in seconds since 1970; `nil` for never.
    private var expires: Int64?

    init(_ db: Database, _ view: ViewSQL, now: Int64) { (self.db, self.view, self.now) = (db, view, now) }

    /// Applies the recorded changes of episodes to the view.
    ///
    /// A view at its limit has all matching episodes up to its last place, and perhaps none of those after it.
    consuming func applyChanges() throws {
        guard let row = try Row.fetchOne(db, "SELECT count, expires FROM view WHERE id = ?", [view.id]) else { return }
        (count, expires) = (row[0], row[1])
        let (oldCount, oldExpires) = (count, expires)
        let limit = view.limit
        let last = count >= limit ? try places("rank DESC, tie DESC", limit: 1).first : nil
        let old = try changedPlaces()
        for place in old { try remove(place) }
        try insert(
            from: "changed_episode c CROSS JOIN episode e ON e.id = c.id", view.changedCondition,
            last == nil ? "1" : "NOT \(view.isAfter)", last)
        if count > limit {
            for place in try places("rank DESC, tie DESC", limit: count - limit) { try remove(place) }
        } else if let last, count < limit {
            try insert(from: "episode e", view.condition, view.isAfter, last, limit: limit - count)
        }
        if let age = view.olderThan {
            // These episodes may match once they are old enough.
            try expire(after: age, "id IN (SELECT id FROM changed_episode)")
        }
        let new = try changedPlaces()
        if old.isEmpty, new.isEmpty, (count, expires) == (oldCount, oldExpires) { return }
        try write(hasMoved: old != new, isTouched: !old.isEmpty)
    }

    /// Replaces the episodes of the view with the result of a new search.
    ///
    /// - Returns: Whether an episode has entered, left or moved.
    consuming func rebuild() throws -> Bool {
        let old = try places("rank, tie")
        try db.run("DELETE FROM view_episode WHERE view = ?", [view.id])
        try insert(from: "episode e", view.condition, limit: view.limit)
        if let age = view.olderThan { try expire(after: age) }
        let hasMoved = try places("rank, tie") != old
        try write(hasMoved: hasMoved, isTouched: false)
        return hasMoved
    }

    // MARK: Rows

    /// Adds matching episodes, in the view's order.
    ///
    /// - Parameters:
    ///   - source: The tables with `episode e`.
    ///   - bound: A condition with the arguments `:rank` and `:tie` of `place`.
    private mutating func insert(
        from source: String, _ condition: String, _ bound: String = "1", _ place: Place? = nil, limit: Int = .max
    ) throws {
        let inserted = try Row.fetchCursor(
            db,
            """
            INSERT INTO view_episode (view, rank, tie, episode)
            SELECT :view, \(view.rank), \(view.tie), e.id FROM \(source)
            WHERE \(condition) AND \(bound) ORDER BY \(view.order) LIMIT :limit
            RETURNING (SELECT e.moment FROM episode e WHERE e.id = view_episode.episode)
            """,
            ["view": view.id, "now": now, "rank": place?.rank, "tie": place?.tie, "limit": limit])
        while let row = try inserted.next() {
            count += 1
            if let age = view.newerThan { expires = min(expires ?? .max, row[0] + age) }
        }
    }

    private mutating func remove(_ place: Place) throws {
        try db.run(
            "DELETE FROM view_episode WHERE view = ? AND rank = ? AND tie = ?", [view.id, place.rank, place.tie])
        count -= 1
    }

    /// Makes the view due when the first of the episodes that meet a condition becomes older than `age`.
    private mutating func expire(after age: Int64, _ condition: String = "1") throws {
        let next = try StoredNumber.fetchOne(
            db, "SELECT min(moment) FROM episode WHERE buried = 0 AND moment > ? AND \(condition)", [now - age])
        if let next { expires = min(expires ?? .max, next + age) }
    }

    private func write(hasMoved: Bool, isTouched: Bool) throws {
        try db.run(
            """
            UPDATE view SET count = ?, expires = ?, revision = revision + ?,
                changed = CASE WHEN ? THEN ? ELSE changed END WHERE id = ?
            """, [count, expires, hasMoved || isTouched ? 1 : 0, hasMoved, now, view.id])
    }

    /// Returns the places of those changed episodes that the view contains.
    private func changedPlaces() throws -> [Place] {
        try places("rank, tie", "changed_episode c CROSS JOIN view_episode ON episode = c.id")
    }

    private func places(_ order: String, _ table: String = "view_episode", limit: Int = .max) throws -> [Place] {
        try Row.fetchCursor(
            db, "SELECT rank, tie FROM \(table) WHERE view = ? ORDER BY \(order) LIMIT ?", [view.id, limit]
        ).mapAll { Place(rank: $0[0], tie: $0[1]) }
    }
}
