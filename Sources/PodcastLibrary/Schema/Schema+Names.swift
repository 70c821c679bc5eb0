import GRDB
import TransferCore

extension Schema {
    /// Replaces the extensions of episodes' file names that `MediaType.isAllowed` forbids by `.bin`.
    ///
    /// Earlier versions accepted `.svg`, `.xhtml`, `.jar` and other extensions from feeds, and browsers and desktops
    /// run such files. podfs otherwise never changes a name by itself, but here safety outweighs a stable path. The new
    /// names cannot collide, because the stems stay the same, and each stem is unique in its folder.
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
