import GRDB
import TransferCore

extension Schema {
    /// Renames episodes with forbidden extensions (`MediaType.isAllowed`) to `.bin`.
    ///
    /// Earlier versions accepted `.svg`, `.xhtml`, `.jar` and other extensions from feeds, and browsers and desktops
    /// run such files. podfs otherwise never changes a name by itself, but here safety outweighs a stable path. The
    /// stem, which alone must be unique in a folder, stays.
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
