import GRDB
import TransferCore

extension Schema {
    /// Gives episodes whose extension is not on the list of what a feed's file may have (`MediaType.isAllowed`) the
    /// extension `.bin`.
    ///
    /// Names never change otherwise. Earlier versions took a feed's word for `.svg`, `.xhtml`, `.jar` and the like, which
    /// browsers and desktops run: that nothing of a feed runs counts for more than that a path stays. The stem is the same,
    /// and it alone is what is unique in a folder.
    static func renameUnsafeFiles(_ db: Database) throws {
        var unsafe: [(id: EpisodeID, name: String)] = []
        let rows = try Row.fetchCursor(db, sql: "SELECT id, name FROM episode")
        while let row = try rows.next() {
            let name: String = row[1]
            if !MediaType.isAllowed(FileName.fileExtension(of: name).lowercased()) { unsafe.append((row[0], name)) }
        }
        for (id, name) in unsafe {
            try db.cachedStatement(
                sql: "UPDATE episode SET name = ?, changed = max(changed, CAST(strftime('%s') AS INTEGER)) WHERE id = ?"
            ).execute(arguments: ["\(FileName.stem(ofFile: name)).\(MediaType.unknown)", id])
        }
    }
}
