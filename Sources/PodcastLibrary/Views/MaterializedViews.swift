import GRDB
internal import PodcastProtocol
import Synchronization
import Transfers

/// The stored episodes of each view (a folder of the episodes that satisfy the user's conditions). Each transaction
/// that changes a fact on which the conditions or the order of a view depend also updates the stored episodes.
///
/// A view that selects episodes by age is *due* when the next episode becomes too old or old enough for it. It is then
/// rebuilt, although no transaction has changed an episode.
///
/// A listing reads only the rows of one view, however many views and episodes there are. Thread-safe; used only with
/// the writing connection.
final class MaterializedViews: Sendable {
    /// The views whose definitions this version can read; `nil` until they are loaded.
    private let compiled = Mutex<[CompiledView]?>(nil)

    /// The time in seconds by which a due view is postponed if this version cannot read its definition: a day.
    private static let recheck: Int64 = 86_400

    /// Discards the compiled definitions, after a change of a view or a rolled-back transaction.
    func invalidate() { compiled.withLock { $0 = nil } }

    /// Prepares the writing connection, and updates the views that are due.
    func open(_ db: Database, now: Int64) throws {
        try db.execute(sql: ViewSQL.changeTracking)
        _ = try update(db, now: now)
    }

    /// Applies the changes of the current transaction to the views. Call before it commits.
    func applyChanges(_ db: Database, now: Int64) throws {
        let last = try EpisodeID.fetchOne(db.cachedStatement(sql: "SELECT last FROM known_episode")) ?? EpisodeID(0)
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO changed_episode SELECT id FROM episode WHERE id > ?")
            .execute(arguments: [last])
        let isChanged = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM changed_episode)")
        guard try Bool.fetchOne(isChanged) == true else { return }
        let views = try views(db)
        if !views.isEmpty {
            var refresh = ViewRefresh(db, views, now: now)
            try refresh.run(lastKnown: last)
        }
        try db.cachedStatement(sql: "UPDATE known_episode SET last = (SELECT coalesce(max(id), 0) FROM episode)")
            .execute()
        try db.cachedStatement(sql: "DELETE FROM changed_episode").execute()
        try db.cachedStatement(sql: "DELETE FROM changed_title").execute()
    }

    /// Rebuilds the views that are due at `now`.
    ///
    /// - Returns: The names of the views that have changed.
    func update(_ db: Database, now: Int64) throws -> [String] {
        let due = try ViewID.fetchSet(db, sql: "SELECT id FROM view WHERE expires <= ?", arguments: [now])
        guard !due.isEmpty else { return [] }
        var names: [String] = []
        let views = try views(db)
        // Only a newer version can read the definitions of these views, and it rebuilds them when it runs. This version
        // postpones them, because otherwise they would stay due.
        for id in due.subtracting(views.map(\.id)) {
            try db.execute(sql: "UPDATE view SET expires = ? WHERE id = ?", arguments: [now + Self.recheck, id])
        }
        for view in views where due.contains(view.id) {
            var refresh = ViewRefresh(db, [view], now: now)
            guard try refresh.rebuild(view) else { continue }
            names += try String.fetchAll(db, sql: "SELECT name FROM view WHERE id = ?", arguments: [view.id])
        }
        return names
    }

    /// Rebuilds a new or changed view.
    func rebuild(_ id: ViewID, _ db: Database, now: Int64) throws {
        invalidate()
        guard let view = try views(db).first(where: { $0.id == id }) else { return }
        var refresh = ViewRefresh(db, [view], now: now)
        try refresh.matchTitles(of: view)
        _ = try refresh.rebuild(view)
    }

    private func views(_ db: Database) throws -> [CompiledView] {
        if let known = compiled.withLock({ $0 }) { return known }
        let rows = try Row.fetchCursor(db, sql: "SELECT id, definition FROM view ORDER BY id")
        // A view is omitted if only a newer version can read its definition. Its stored episodes then stay unchanged.
        let views = try rows.mapAll { row in
            (try? ViewDefinition(lines: row[1])).map { CompiledView(row[0], $0) }
        }.compactMap { $0 }
        compiled.withLock { $0 = views }
        return views
    }
}

/// One update of stored views, inside a transaction.
struct ViewRefresh {
    /// The columns of a view that this update changes.
    private struct State {
        var count: Int
        /// Whether more episodes match than the limit allows.
        var isTruncated: Bool
        /// Whether an episode has entered, left or moved.
        var hasMoved = false
        /// Whether the name or another shown fact of an episode may have changed.
        var isTouched = false
        /// When the view is due, in seconds since 1970; `nil` for never.
        var expires: Int64?
        /// The place (sort key) of the view's last episode; `nil` before it is read, and after a change.
        var last: ViewPlace?
    }

    private let db: Database
    private let views: [CompiledView]
    private let now: Int64
    private var shows: [ShowID: ViewShow] = [:]
    private var states: [ViewID: State] = [:]

    init(_ db: Database, _ views: [CompiledView], now: Int64) { (self.db, self.views, self.now) = (db, views, now) }

    // MARK: Changed episodes

    /// Applies the recorded changes to all views.
    ///
    /// - Parameter lastKnown: The greatest id of an episode at the end of the previous update. Episodes that were added
    ///   since have greater ids.
    mutating func run(lastKnown: EpisodeID) throws {
        let hasPatterns = views.contains { $0.definition.title != nil }
        let candidates = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT \(ViewCandidate.columns), c.id IN (SELECT id FROM changed_title)
                    FROM changed_episode c CROSS JOIN episode e ON e.id = c.id
                    WHERE e.id NOT IN (SELECT medium FROM alternate)
                    """))
        while let row = try candidates.next() {
            let episode = ViewCandidate(row)
            let show = try show(episode.podcast)
            let isNew = episode.id > lastKnown
            let places = isNew ? [:] : try places(of: episode.id)
            if places.isEmpty, !show.isSubscribed { continue }
            let titles = hasPatterns ? try titles(of: episode, isNew: isNew || row[13]) : []
            for view in views {
                let isMember = view.contains(episode, of: show, hasTitle: titles.contains(view.id), now: now)
                let place = places[view.id]
                if isMember || place != nil { try move(episode, in: view, from: place, isMember: isMember) }
                // The episode may match once it is old enough.
                if let age = view.definition.olderThan, episode.moment > now - age {
                    try expire(view, at: episode.moment + age)
                }
            }
        }
        try removeDeleted()
        for view in views where states[view.id] != nil { try finish(view) }
    }

    /// Inserts, moves or removes an episode.
    ///
    /// - Parameters:
    ///   - old: The episode's place; `nil` if the view does not contain it.
    ///   - isMember: Whether the episode meets the view's conditions, regardless of the limit.
    private mutating func move(
        _ episode: ViewCandidate, in view: CompiledView, from old: ViewPlace?, isMember: Bool
    ) throws {
        var state = try state(of: view)
        defer { states[view.id] = state }
        let new = view.place(episode)
        if let old {
            if isMember, old == new {
                state.isTouched = true
                return
            }
            try remove(old, from: view.id)
            state.count -= 1
            state.hasMoved = true
            state.last = nil
        }
        guard isMember else { return }
        if let limit = view.definition.limit, state.isTruncated || state.count >= limit {
            if state.last == nil { state.last = try lastPlace(in: view.id) }
            guard let last = state.last, new < last else {
                state.isTruncated = true
                return
            }
            if state.count == limit {
                try remove(last, from: view.id)
                state.count -= 1
                state.isTruncated = true
            }
        }
        try insert(episode.id, new, into: view.id)
        state.count += 1
        state.hasMoved = true
        state.last = nil
        if let age = view.definition.newerThan { state.expires = min(state.expires ?? .max, episode.moment + age) }
    }

    /// Removes episodes that no longer exist from the views.
    private mutating func removeDeleted() throws {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT v.view, v.rank, v.tie FROM changed_episode c CROSS JOIN view_episode v ON v.episode = c.id
                    WHERE NOT EXISTS (SELECT 1 FROM episode WHERE id = c.id)
                    """))
        for row in rows {
            let id: ViewID = row[0]
            guard let view = views.first(where: { $0.id == id }) else { continue }
            try remove(ViewPlace(rank: row[1], tie: row[2]), from: id)
            var state = try state(of: view)
            state.count -= 1
            state.hasMoved = true
            state.last = nil
            states[id] = state
        }
        try db.cachedStatement(
            sql: """
                DELETE FROM view_title WHERE episode IN (
                    SELECT id FROM changed_episode c WHERE NOT EXISTS (SELECT 1 FROM episode WHERE id = c.id))
                """
        ).execute()
    }

    /// Fills a truncated view up to its limit if it has lost episodes, and writes the view's columns.
    private mutating func finish(_ view: CompiledView) throws {
        var state = try state(of: view)
        if let limit = view.definition.limit, state.isTruncated, state.count < limit {
            try fill(view, &state, after: try lastPlace(in: view.id))
        }
        try write(state, of: view)
    }

    // MARK: Whole views

    /// Replaces the episodes of a view with the result of a new search.
    ///
    /// - Returns: Whether an episode has entered, left or moved.
    mutating func rebuild(_ view: CompiledView) throws -> Bool {
        let before = try members(of: view.id)
        try db.cachedStatement(sql: "DELETE FROM view_episode WHERE view = ?").execute(arguments: [view.id])
        var state = State(count: 0, isTruncated: false)
        try fill(view, &state, after: nil)
        state.hasMoved = try members(of: view.id) != before
        state.expires = try expiry(of: view)
        try write(state, of: view)
        return state.hasMoved
    }

    /// Stores which episodes have titles that a view's expression matches.
    func matchTitles(of view: CompiledView) throws {
        try db.execute(sql: "DELETE FROM view_title WHERE view = ?", arguments: [view.id])
        guard let pattern = view.definition.title else { return }
        let insert = try db.cachedStatement(sql: "INSERT INTO view_title (episode, view) VALUES (?, ?)")
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT e.id, e.title FROM episode e JOIN podcast p ON p.id = e.podcast WHERE p.ephemeral = 0 \
                AND e.buried <> \(EpisodeSQL.alternate)
                """)
        while let row = try rows.next() {
            if pattern.matches(row[1]) { try insert.execute(arguments: [row[0] as EpisodeID, view.id]) }
        }
    }

    /// Adds the matching episodes after `place`, or all if `place` is `nil`, until the limit is reached.
    private mutating func fill(_ view: CompiledView, _ state: inout State, after place: ViewPlace?) throws {
        var shows: [ShowID]?
        if !view.tags.isEmpty || !view.shows.isEmpty {
            shows = []
            for id in try ShowID.fetchAll(db, sql: "SELECT id FROM podcast WHERE ephemeral = 0")
            where view.selects(try show(id)) { shows?.append(id) }
        }
        state.isTruncated = false
        let rows = try Row.fetchCursor(
            db, sql: ViewSQL.search(view, shows: shows, after: place, now: now))
        while let row = try rows.next() {
            let episode = ViewCandidate(row)
            // `hasTitle` is true because the query returns only episodes whose titles match.
            guard view.contains(episode, of: try show(episode.podcast), hasTitle: true, now: now) else { continue }
            let found = view.place(episode)
            if let place, found <= place { continue }
            if state.count == view.definition.limit {
                state.isTruncated = true
                return
            }
            try insert(episode.id, found, into: view.id)
            state.count += 1
            state.hasMoved = true
            if let age = view.definition.newerThan { state.expires = min(state.expires ?? .max, episode.moment + age) }
        }
    }

    // MARK: Rows

    /// Returns the facts of a show. A show that no longer exists counts as not subscribed.
    private mutating func show(_ id: ShowID) throws -> ViewShow {
        if let known = shows[id] { return known }
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT ephemeral, folded, title FROM podcast WHERE id = ?"), arguments: [id])
        var show = ViewShow(isSubscribed: false, names: [], tags: [])
        if let row {
            show.isSubscribed = !row[0]
            show.names = [row[1], FileName.folded(row[2])]
            show.tags = try String.fetchSet(
                db.cachedStatement(
                    sql: "SELECT t.folded FROM show_tag s JOIN tag t ON t.id = s.tag WHERE s.podcast = ?"),
                arguments: [id])
        }
        shows[id] = show
        return show
    }

    private func state(of view: CompiledView) throws -> State {
        if let known = states[view.id] { return known }
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT count, truncated, expires FROM view WHERE id = ?"), arguments: [view.id])
        return row.map { State(count: $0[0], isTruncated: $0[1], expires: $0[2]) }
            ?? State(count: 0, isTruncated: false)
    }

    /// Makes a view due at `moment` at the latest.
    private mutating func expire(_ view: CompiledView, at moment: Int64) throws {
        var state = try state(of: view)
        state.expires = min(state.expires ?? .max, moment)
        states[view.id] = state
    }

    private func write(_ state: State, of view: CompiledView) throws {
        let isChanged = state.hasMoved || state.isTouched
        try db.cachedStatement(
            sql: """
                UPDATE view SET count = ?, truncated = ?, expires = ?, revision = revision + ?,
                    changed = CASE WHEN ? THEN ? ELSE changed END WHERE id = ?
                """
        ).execute(arguments: [
            state.count, state.isTruncated, state.expires, isChanged ? 1 : 0, state.hasMoved, now, view.id,
        ])
    }

    /// Returns when the view is due, in seconds since 1970; `nil` for never.
    private func expiry(of view: CompiledView) throws -> Int64? {
        var moments: [Int64] = []
        if let age = view.definition.newerThan {
            let oldest = try db.cachedStatement(
                sql: "SELECT min(e.moment) FROM view_episode v JOIN episode e ON e.id = v.episode WHERE v.view = ?")
            if let oldest = try StoredNumber.fetchOne(oldest, [view.id]) { moments.append(oldest + age) }
        }
        if let age = view.definition.olderThan {
            let next = try db.cachedStatement(
                sql: "SELECT min(moment) FROM episode WHERE buried = 0 AND moment > ?")
            if let next = try StoredNumber.fetchOne(next, [now - age]) { moments.append(next + age) }
        }
        return moments.min()
    }

    /// Returns the views whose expressions match the episode's title. If the title is new, matches it and stores the
    /// result. Otherwise returns the stored result.
    private func titles(of episode: ViewCandidate, isNew: Bool) throws -> Set<ViewID> {
        guard isNew else {
            return try ViewID.fetchSet(
                db.cachedStatement(sql: "SELECT view FROM view_title WHERE episode = ?"), arguments: [episode.id])
        }
        try db.cachedStatement(sql: "DELETE FROM view_title WHERE episode = ?").execute(arguments: [episode.id])
        var found: Set<ViewID> = []
        for view in views where view.definition.title?.matches(episode.title) ?? false {
            found.insert(view.id)
            try db.cachedStatement(sql: "INSERT INTO view_title (episode, view) VALUES (?, ?)")
                .execute(arguments: [episode.id, view.id])
        }
        return found
    }

    private func places(of episode: EpisodeID) throws -> [ViewID: ViewPlace] {
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT view, rank, tie FROM view_episode WHERE episode = ?"),
            arguments: [episode])
        var places: [ViewID: ViewPlace] = [:]
        while let row = try rows.next() {
            let view: ViewID = row[0]
            places[view] = ViewPlace(rank: row[1], tie: row[2])
        }
        return places
    }

    private func members(of view: ViewID) throws -> [EpisodeID] {
        try EpisodeID.fetchAll(
            db.cachedStatement(sql: "SELECT episode FROM view_episode WHERE view = ? ORDER BY rank, tie"),
            arguments: [view])
    }

    private func lastPlace(in view: ViewID) throws -> ViewPlace? {
        let statement = try db.cachedStatement(
            sql: "SELECT rank, tie FROM view_episode WHERE view = ? ORDER BY rank DESC, tie DESC LIMIT 1")
        return try Row.fetchOne(statement, arguments: [view]).map { ViewPlace(rank: $0[0], tie: $0[1]) }
    }

    private func insert(_ episode: EpisodeID, _ place: ViewPlace, into view: ViewID) throws {
        try db.cachedStatement(sql: "INSERT INTO view_episode (view, rank, tie, episode) VALUES (?, ?, ?, ?)")
            .execute(arguments: [view, place.rank, place.tie, episode])
    }

    private func remove(_ place: ViewPlace, from view: ViewID) throws {
        try db.cachedStatement(sql: "DELETE FROM view_episode WHERE view = ? AND rank = ? AND tie = ?")
            .execute(arguments: [view, place.rank, place.tie])
    }
}
