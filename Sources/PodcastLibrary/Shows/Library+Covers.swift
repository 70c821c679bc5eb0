import GRDB
package import PodcastProtocol

// The covers of subscribed shows, each of which is fetched once. An index contains only the shows whose cover is still
// to be fetched, so that none of these queries grows with the library.
extension Library {
    /// The time after which a cover is fetched again if its server has failed.
    package static let coverPause = Duration.seconds(6 * 3_600)

    /// Returns the shows whose covers are due, those that have waited longest first.
    package func coversDue(at now: Int64, limit: Int) throws -> [ShowID] {
        try values("SELECT id FROM podcast WHERE cover_due <= ? ORDER BY cover_due, id LIMIT ?", [now, limit])
    }

    /// Returns the time at which the next cover is due; `nil` if there is none.
    package func nextCover() throws -> Int64? {
        try value("SELECT min(cover_due) FROM podcast WHERE cover_due IS NOT NULL")
    }

    /// Returns the number of covers that are due.
    package func coverCount(dueAt now: Int64) throws -> Int {
        try value("SELECT count(*) FROM podcast WHERE cover_due <= ?", [now]) ?? 0
    }

    /// Records that a show's cover is in the cache.
    ///
    /// - Parameters:
    ///   - fileExtension: The extension for the format of the image.
    ///   - address: The address from which it was fetched. If the feed names another one since, the fetch stays due.
    ///   - isNew: Whether the image has just been received.
    package func record(
        cover fileExtension: String, from address: String, of podcast: ShowID, isNew: Bool, now: Int64
    ) throws {
        try execute(
            """
            UPDATE podcast SET cover_due = iif(image = ?1, NULL, cover_due),
                changed = iif(?2 OR cover IS NOT ?3, ?4, changed), cover = ?3
            WHERE id = ?5
            """, [address, isNew, fileExtension, now, podcast])
    }

    /// Records that a show's cover could not be fetched from `address`.
    ///
    /// - Parameter due: The time at which it is fetched again; `nil` for not before its address changes.
    package func coverFailed(of podcast: ShowID, from address: String, due: Int64?) throws {
        try execute("UPDATE podcast SET cover_due = ? WHERE id = ? AND image = ?", [due, podcast, address])
    }

    /// Records that covers have been removed from the cache.
    package func forgetCovers(of shows: [ShowID], now: Int64) throws {
        try write { db in
            for show in shows {
                try db.run(
                    "UPDATE podcast SET cover = NULL, changed = ? WHERE id = ? AND cover IS NOT NULL", [now, show])
            }
        }
    }
}

extension Podcast {
    /// The name of the cover in the show's folder; `nil` if the feed names none. Its extension is that of the image in
    /// the cache, before the first fetch that of the address.
    package var coverName: String? {
        guard let image else { return nil }
        return "\(Self.coverPrefix)\(cover ?? Self.imageExtension(ofAddress: image) ?? "jpg")"
    }

    package static let coverPrefix = "cover."

    /// The known file extensions of images, and the one that podfs uses in each case.
    private static let imageExtensions = [
        "jpg": "jpg", "jpeg": "jpg", "png": "png", "gif": "gif", "webp": "webp", "avif": "avif", "heic": "heic",
        "bmp": "bmp",
    ]

    private static func imageExtension(ofAddress address: String) -> String? {
        let file = address.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").last ?? ""
        return imageExtensions[FileName.fileExtension(of: String(file)).lowercased()]
    }

    /// Returns whether the cover is about to be fetched.
    package func isCoverDue(at now: Int64) -> Bool { cover == nil && coverDue.map { $0 <= now } ?? false }
}
