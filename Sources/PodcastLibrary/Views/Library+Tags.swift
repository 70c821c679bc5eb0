import GRDB
internal import Platform
package import PodcastProtocol
internal import Transfers

/// The id of a tag.
package struct TagID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}

extension TagID: DatabaseValueConvertible {}

/// A label that users give to shows.
package struct Tag: Sendable, Equatable {
    package var id: TagID
    /// The name of the tag, and of its folder.
    package var name: String

    /// The maximum number of tags of one show.
    static let maxPerShow = 32

    /// Checks whether a text can be a tag. A tag is also the name of a folder, so it must be a valid folder name.
    ///
    /// - Throws: `SettingError` if it cannot.
    package static func check(_ name: String) throws(SettingError) {
        guard let reason = FileName.objection(to: name) else { return }
        throw SettingError(message: "'\(PlainText.excerpt(name))' cannot be a tag: \(reason)")
    }

    /// Parses a comma-separated list of tags. Duplicates, ignoring case, are omitted.
    ///
    /// - Throws: `SettingError` for a text that cannot be a tag, or for too many tags.
    package static func list(_ text: String) throws(SettingError) -> [String] {
        let tags = text.split(separator: ",").map { FileName.normalized(FileName.trimmedSpace(String($0))) }
            .filter { !$0.isEmpty }
        for tag in tags { try check(tag) }
        if distinct(tags).count > maxPerShow {
            throw SettingError(message: "a show can have \(maxPerShow) tags at most")
        }
        return distinct(tags)
    }

    /// Omits duplicates, ignoring case.
    static func distinct(_ tags: [String], besides known: [String] = []) -> [String] {
        var seen = Set(known.map(FileName.folded))
        return tags.filter { seen.insert(FileName.folded($0)).inserted }
    }

    /// Converts the folder names in another program's list of subscriptions to tags. The names may contain any
    /// characters, so they are made valid. Duplicates, ignoring case, and names beyond `maxPerShow` are omitted.
    package static func list(folders: [String]) -> [String] {
        Array(distinct(folders.map { FileName.stem($0.replacing(",", with: " ")) }).prefix(maxPerShow))
    }
}

extension Library {
    /// Returns the tags of all subscribed shows, sorted by name.
    package func tags() throws -> [Tag] { try all(where: "\(Tag.isUsed) ORDER BY t.folded") }

    package func tag(named name: String) throws -> Tag? {
        try first(where: "\(Tag.isUsed) AND t.folded = ? AND t.name = ?", [FileName.folded(name), name])
    }

    package func tag(id: TagID) throws -> Tag? { try first(where: "\(Tag.isUsed) AND t.id = ?", [id]) }

    /// Returns the tags of a show, sorted by name.
    package func tags(of show: ShowID) throws -> [String] {
        try query { db in try Self.tagsOfShows(db, of: show)[show] ?? [] }
    }

    /// Returns a show's own settings, with its tags under the key `tags`.
    package func shownSettings(of show: ShowID) throws -> [String: String] {
        var settings = try settings(of: show)
        let tags = try tags(of: show)
        if !tags.isEmpty { settings["tags"] = tags.joined(separator: ", ") }
        return settings
    }

    /// Returns the folder entries of the subscribed shows with a tag, sorted by name.
    package func folders(with tag: TagID) throws -> [FolderEntry] {
        try all(
            where: """
                p.ephemeral = 0 AND p.id IN (SELECT podcast FROM show_tag WHERE tag = ?) ORDER BY p.folded, p.name
                """, [tag])
    }

    /// Returns the name of the folder of tags in the root.
    package func tagsFolder() throws -> String {
        try value("SELECT name FROM root_folder WHERE role = 'tags'") ?? "Tags"
    }

    /// Replaces the tags of a show. As long as any show has a tag, the tag keeps the spelling with which it was
    /// created, even if `tags` contains another one.
    ///
    /// - Throws: `noSuchPodcast`.
    package func setTags(_ tags: [String], of show: ShowID) throws {
        try write { db in try Self.setTags(tags, of: show, db) }
    }

    /// Adds tags to a show, until it has `Tag.maxPerShow` tags. Ignores the other tags, as `Tag.list(folders:)` does.
    ///
    /// - Throws: `noSuchPodcast`.
    package func addTags(_ tags: [String], to show: ShowID) throws {
        if tags.isEmpty { return }
        try write { db in
            let present = try Self.tagsOfShows(db, of: show)[show] ?? []
            let new = Tag.distinct(tags, besides: present)
            try Self.setTags(present + new.prefix(max(0, Tag.maxPerShow - present.count)), of: show, db)
        }
    }

    static func setTags(_ tags: [String], of show: ShowID, _ db: Database) throws {
        guard try podcastExists(show, db) else { throw LibraryError.noSuchPodcast(show) }
        let wanted = Set(try tags.map { try id(of: $0, db) })
        let present = try TagID.fetchSet(db, "SELECT tag FROM show_tag WHERE podcast = ?", [show])
        for tag in wanted.subtracting(present) {
            try db.run("INSERT INTO show_tag (podcast, tag) VALUES (?, ?)", [show, tag])
        }
        for tag in present.subtracting(wanted) {
            try db.run("DELETE FROM show_tag WHERE podcast = ? AND tag = ?", [show, tag])
        }
        try db.execute(sql: "DELETE FROM tag WHERE id NOT IN (SELECT tag FROM show_tag)")
    }

    /// Returns the id of a tag. Creates the tag if it does not exist.
    ///
    /// Does not use INSERT OR IGNORE, which consumes an id even on a conflict (https://sqlite.org/autoinc.html): the
    /// node ids of links have only 18 bits for the id of a tag.
    private static func id(of tag: String, _ db: Database) throws -> TagID {
        let folded = FileName.folded(tag)
        let known = try TagID.fetchOne(db, "SELECT id FROM tag WHERE folded = ?", [folded])
        if let known { return known }
        try db.run("INSERT INTO tag (name, folded) VALUES (?, ?)", [tag, folded])
        return TagID(db.lastInsertedRowID)
    }

    /// Returns the tags of all shows that have any.
    package func tagsOfShows() throws -> [ShowID: [String]] { try query { db in try Self.tagsOfShows(db) } }

    /// - Parameter show: The only show to read; `nil` for all.
    static func tagsOfShows(_ db: Database, of show: ShowID? = nil) throws -> [ShowID: [String]] {
        let rows = try Row.fetchCursor(
            db,
            """
            SELECT s.podcast, t.name FROM show_tag s JOIN tag t ON t.id = s.tag \(show == nil ? "" : "WHERE s.podcast = ?")
            ORDER BY t.folded
            """, show.map { [$0] } ?? [])
        var tags: [ShowID: [String]] = [:]
        while let row = try rows.next() { tags[row[0] as ShowID, default: []].append(row[1]) }
        return tags
    }
}

extension Tag: StoredRow {
    static let columns = "t.id, t.name"
    static let table = "tag t"
    /// The condition of the tags of subscribed shows.
    static let isUsed = """
        EXISTS (SELECT 1 FROM show_tag s JOIN podcast p ON p.id = s.podcast WHERE s.tag = t.id AND p.ephemeral = 0)
        """

    init(_ row: Row) { self.init(id: row[0], name: row[1]) }
}
