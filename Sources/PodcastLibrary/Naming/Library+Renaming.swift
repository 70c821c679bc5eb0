import Foundation
import GRDB
internal import PodcastFeed
package import PodcastProtocol

/// A changed name of an episode's file, or of a show's folder.
package struct Renaming: Sendable, Equatable {
    /// `nil` for the show's folder.
    package var episode: EpisodeID?
    /// The previous name.
    package var former: String
    /// The new name.
    package var name: String
}

extension Library {
    /// Renames a show's episodes by the template, and its folder if the template requires portable names.
    ///
    /// The episodes get the names that they would have if they were new, in the order of their ids. Names given by
    /// users are replaced; the extensions of the files stay.
    ///
    /// - Parameter isDryRun: Whether to return the changes without making them.
    /// - Returns: The changes. A change of the folder is the first.
    /// - Throws: `noSuchPodcast` if there is no such show, or if it is only a search result in the library.
    package func renameAll(
        by template: NameTemplate, podcast: ShowID, isDryRun: Bool, now: Int64 = Int64(time(nil))
    ) throws -> [Renaming] {
        if isDryRun { return try read { db in try Self.renamings(by: template, podcast, db) } }
        return try write { db in
            let renamings = try Self.renamings(by: template, podcast, db)
            // Two episodes may swap names. Each renamed episode first gets a temporary name, because the names in a
            // show must be unique after each statement.
            for (number, renaming) in renamings.enumerated() where renaming.episode != nil {
                try db.run("UPDATE episode SET folded = ? WHERE id = ?", ["/\(number)", renaming.episode])
            }
            for renaming in renamings {
                if let episode = renaming.episode {
                    try EpisodeSQL.rename(episode, to: renaming.name, now: now, db)
                } else {
                    try PodcastSQL.rename(podcast, to: renaming.name, now: now, db)
                }
            }
            return renamings
        }
    }

    private static func renamings(by template: NameTemplate, _ podcast: ShowID, _ db: Database) throws -> [Renaming] {
        let show = try Row.fetchOne(db, "SELECT name, title FROM podcast WHERE id = ? AND ephemeral = 0", [podcast])
        guard let show else { throw LibraryError.noSuchPodcast(podcast) }
        let folder: String = show[0]
        var renamings: [Renaming] = []
        let portable = template.isPortable ? FileName.portable(folder) : folder
        if portable != folder {
            var names = UniqueNames(taken: UniqueNames.reservedInRoot)
            let name = try names.claim(portable) { folded in
                try isShow(folded, besides: podcast, db) || isOtherFolder(folded, db)
            }
            renamings.append(Renaming(episode: nil, former: folder, name: name))
        }
        let buried = try String.fetchSet(db, "SELECT folded FROM episode WHERE podcast = ? AND buried = 1", [podcast])
        var names = UniqueNames(taken: buried.union(UniqueNames.reservedInShow))
        let rows = try Row.fetchCursor(
            db,
            """
            SELECT id, name, title, published, published_offset, season, episode FROM episode
            WHERE podcast = ? AND buried = 0 ORDER BY id
            """, [podcast])
        while let row = try rows.next() {
            var item = Item()
            item.title = row[2]
            let seconds: Int64? = row[3]
            item.published = seconds.map { PublicationDate(seconds: $0, offset: row[4]) }
            item.season = row[5]
            item.episode = row[6]
            let former: String = row[1]
            let stem = names.claim(template.stem(for: item, show: show[1]))
            let name = "\(stem).\(FileName.fileExtension(of: former))"
            if !name.utf8.elementsEqual(former.utf8) {
                renamings.append(Renaming(episode: row[0], former: former, name: name))
            }
        }
        return renamings
    }
}
