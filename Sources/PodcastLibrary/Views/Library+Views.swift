import GRDB
internal import Platform
package import PodcastProtocol
internal import Transfers

/// A view's folder in the root.
package struct ViewFolder: Sendable, Equatable {
    package var id: ViewID
    package var name: String
    /// The last time at which an episode entered or left the folder, or moved within it, in seconds since 1970. Before
    /// the first such change, it is the time at which a user created the view, or 0 for a view that podfs created.
    package var changed: Int64
    /// A number that grows whenever the links in the folder, or displayed facts of their episodes, may have changed.
    package var revision: Int64
    /// The number of episodes in the folder.
    package var count: Int
    /// The stored definition.
    var lines: String

    package var definition: ViewDefinition { ViewDefinition(lines: lines) }
}

extension Library {
    // MARK: - Queries

    /// Returns the folders of all views, sorted by name.
    package func viewFolders() throws -> [ViewFolder] { try all(where: "1 ORDER BY folded") }

    package func viewFolder(named name: String) throws -> ViewFolder? {
        try first(where: "folded = ? AND name = ?", [FileName.folded(name), name])
    }

    package func viewFolder(id: ViewID) throws -> ViewFolder? { try first(where: "id = ?", [id]) }

    /// Returns the folder of a view, ignoring the case of its name.
    package func view(named name: String) throws -> ViewFolder? {
        try first(where: "folded = ?", [FileName.folded(FileName.normalized(name))])
    }

    /// Returns the episodes of a view, in its order. Reads as many rows as the view has.
    package func entries(of view: ViewID) throws -> [EpisodeEntry] {
        try all(joining: ViewSQL.joined, where: ViewSQL.isListed, [view])
    }

    /// Returns the names, titles and durations of these episodes.
    package func tracks(of episodes: [EpisodeID]) throws -> [EpisodeID: Track] {
        try dictionary(
            "SELECT e.id, e.name, e.title, e.duration FROM json_each(?) j CROSS JOIN episode e ON e.id = j.value",
            ["[\(episodes.map(\.description).joined(separator: ","))]"]
        ) { ($0[0], Track(name: $0[1], title: $0[2], duration: $0[3])) }
    }

    /// Returns the names of the folders of these shows.
    package func folderNames(of shows: Set<ShowID>) throws -> [ShowID: String] {
        try query { db in
            var names: [ShowID: String] = [:]
            for show in shows { names[show] = try String.fetchOne(db, "SELECT name FROM podcast WHERE id = ?", [show]) }
            return names
        }
    }

    /// Returns the next time at which a view may change although no episode changes (`newer_than`, `older_than`), in
    /// seconds since 1970; `nil` for never.
    package func nextViewUpdate() throws -> Int64? { try row("SELECT min(expires) FROM view") { $0[0] } }

    // MARK: - Changes

    /// Changes a view, or creates one that does not exist.
    ///
    /// - Parameter assignments: `KEY=VALUE`, or `KEY=` to remove a condition. Other keys keep their values.
    /// - Returns: The name of the view's folder.
    /// - Throws: `SettingError` for an invalid name, key or value; nothing is then changed.
    @discardableResult
    package func setView(named name: String, _ assignments: [String], now: Int64) throws -> String {
        let name = FileName.normalized(name)
        return try write { db in
            let folded = FileName.folded(name)
            let known = try Row.fetchOne(db, "SELECT id, definition, name FROM view WHERE folded = ?", [folded])
            var definition = ViewDefinition(lines: known?[1] ?? "")
            for assignment in assignments { try definition.set(assignment) }
            let id: ViewID
            if let known {
                id = known[0]
                try db.run("UPDATE view SET definition = ? WHERE id = ?", [definition.lines, id])
            } else {
                try Self.checkNew(name, folded, db)
                try db.run(
                    "INSERT INTO view (name, folded, definition, changed) VALUES (?, ?, ?, ?)",
                    [name, folded, definition.lines, now])
                id = ViewID(db.lastInsertedRowID)
                // The greatest id of a view, because the node ids of links have 18 bits for it.
                guard id.rawValue <= (1 << 18 - 1) else {
                    throw SettingError(message: "no more views can be created: change an existing one")
                }
            }
            try materializedViews.rebuild(id, db, now: now)
            return known?[2] ?? name
        }
    }

    /// Removes a view, ignoring the case of its name.
    ///
    /// - Returns: The name of the view's folder.
    /// - Throws: `SettingError` if there is no such view.
    package func removeView(named name: String) throws -> String {
        try write { db in
            let found = try String.fetchOne(
                db, "DELETE FROM view WHERE folded = ? RETURNING name", [FileName.folded(name)])
            guard let found else {
                throw SettingError(message: "there is no view '\(PlainText.excerpt(name))'; see: podfs view list")
            }
            materializedViews.invalidate()
            return found
        }
    }

    /// Updates the views that are due because time has passed: see `nextViewUpdate()`.
    ///
    /// - Returns: The names of the views that have changed.
    package func updateViews(now: Int64) throws -> [String] {
        try write { db in try materializedViews.update(db, now: now) }
    }

    private static func checkNew(_ name: String, _ folded: String, _ db: Database) throws {
        let shown = PlainText.excerpt(name)
        if try isShow(folded, db) {
            throw SettingError(message: "'\(shown)' is the name of a show: choose another name for the view")
        }
        let isTaken = try folded == "index.html" || isOtherFolder(folded, db)
        let reason = FileName.objection(to: name) ?? (isTaken ? "podfs has a folder or file of this name" : nil)
        if let reason { throw SettingError(message: "'\(shown)' cannot be the name of a view: \(reason)") }
    }
}

extension ViewFolder: StoredRow {
    static let columns = "id, name, changed, revision, count, definition"
    static let table = "view"

    init(_ row: Row) {
        self.init(id: row[0], name: row[1], changed: row[2], revision: row[3], count: row[4], lines: row[5])
    }
}
