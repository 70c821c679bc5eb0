import GRDB
package import PodcastProtocol
internal import Transfers

// Search results: rows of `podcast` that are ephemeral until the show is subscribed.
extension Library {
    /// The maximum number of unsubscribed shows, as many as a day of searching by hand finds. Above the maximum, the
    /// least recently found or renewed shows are removed, unless they have cached bytes or were unsubscribed by another
    /// device.
    private static let maxEphemeral = 5_000

    /// Creates rows for search results; shows found before keep their row and name.
    ///
    /// A new name differs from that of any other show, found or subscribed, so that it is still free when the show is
    /// subscribed. If two results have the same name anyway (a folder was renamed since), the unsubscribed one gets a
    /// number in the returned list only.
    ///
    /// - Returns: The shows in the order of the results, each once.
    package func store(found shows: [FoundShow], now: Int64) throws -> [FoundFolder] {
        try write { db in
            let taken = try String.fetchSet(db, "SELECT folded FROM podcast")
            var names = UniqueNames(taken: taken.union(UniqueNames.reservedInRoot))
            var result: [FoundFolder] = []
            var ephemeral: Set<Int> = []
            var seen: Set<ShowID> = []
            for show in shows {
                let row = try Row.fetchOne(
                    db,
                    """
                    SELECT id, name, ephemeral FROM podcast WHERE folded = ?1 AND ephemeral = 0 OR url = ?2
                    ORDER BY ephemeral LIMIT 1
                    """, [show.subscribed.map(FileName.folded), show.url])
                let name = row.map { $0[1] as String } ?? names.claim(FileName.stem(show.title))
                let id: ShowID
                if let row {
                    id = row[0]
                    try renew([id], db, now: now)
                } else {
                    id = try PodcastSQL.put(show.url, show.title, folder: name, ephemeral: true, now: now, db)
                    try db.run(
                        "UPDATE podcast SET author = ?, image = ?, link = ?, reach = ? WHERE id = ?",
                        [show.author, show.artwork, show.link, show.space?.rawValue, id])
                }
                guard seen.insert(id).inserted else { continue }
                if row.map({ $0[2] as Bool }) ?? true { ephemeral.insert(result.count) }
                result.append(FoundFolder(podcast: id, name: name))
            }
            try db.run(
                """
                DELETE FROM podcast WHERE id IN (
                    SELECT id FROM podcast WHERE ephemeral = 1 ORDER BY created DESC, id DESC LIMIT -1 OFFSET ?)
                AND id NOT IN (SELECT podcast FROM sync_removed)
                AND NOT EXISTS (SELECT 1 FROM rendition r WHERE r.podcast = podcast.id)
                """, [Self.maxEphemeral])
            return Self.distinct(result, ephemeral: ephemeral)
        }
    }

    /// Adds a number to each name that is not unique.
    ///
    /// - Parameter ephemeral: The indices of the unsubscribed shows, whose names get the numbers if a subscribed show
    ///   has the same name.
    private static func distinct(_ folders: [FoundFolder], ephemeral: Set<Int>) -> [FoundFolder] {
        var names = UniqueNames(taken: [])
        var result = folders
        for index in folders.indices.filter({ !ephemeral.contains($0) }) + ephemeral.sorted() {
            result[index].name = names.claim(folders[index].name)
        }
        return result
    }

    /// Counts unsubscribed shows that are in use as found at `now`, which postpones their removal. Subscribed shows are
    /// unchanged.
    package func renew(found podcasts: Set<ShowID>, now: Int64) throws {
        if podcasts.isEmpty { return }
        try write { db in try renew(podcasts.sorted(), db, now: now) }
    }

    private func renew(_ podcasts: [ShowID], _ db: Database, now: Int64) throws {
        for id in podcasts {
            try db.run("UPDATE podcast SET created = max(created, ?) WHERE id = ? AND ephemeral = 1", [now, id])
        }
    }

    /// Whether the show is an unsubscribed search result. A show that another device has unsubscribed does not count:
    /// its cached bytes may be needed again.
    package func isEphemeral(podcast: ShowID) throws -> Bool {
        try value(
            "SELECT ephemeral AND id NOT IN (SELECT podcast FROM sync_removed) FROM podcast WHERE id = ?",
            [podcast]) ?? false
    }

    /// Returns the show with exactly this folder name, preferring a search result to a subscribed one.
    package func foundFolder(named name: String) throws -> FolderEntry? {
        try first(
            where: "p.folded = ? AND p.name = ? ORDER BY p.ephemeral DESC, p.created DESC LIMIT 1",
            [FileName.folded(name), name])
    }

    /// Returns the renditions (the cached bytes) of unpinned episodes of search results.
    package func ephemeralRenditions() throws -> [Rendition] {
        try all(
            where: """
                e.pinned = 0 AND e.podcast IN (
                    SELECT id FROM podcast WHERE ephemeral = 1 AND id NOT IN (SELECT podcast FROM sync_removed))
                """)
    }

    /// Returns the unsubscribed shows with a pinned episode, which must not be purged.
    package func ephemeralPodcastsPinned() throws -> Set<ShowID> {
        try Set(
            values(
                """
                SELECT DISTINCT podcast FROM episode
                WHERE pinned = 1 AND podcast IN (SELECT id FROM podcast WHERE ephemeral = 1)
                """))
    }
}
