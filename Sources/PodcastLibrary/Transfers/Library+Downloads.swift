import GRDB
package import PodcastProtocol
package import Transfers

extension Library {
    /// Returns all outstanding or failed downloads, oldest first.
    package func downloads() throws -> [Download] { try all(where: "1 ORDER BY id") }

    package func download(id: TaskID) throws -> Download? { try first(where: "id = ?", [id]) }

    package func download(of episode: EpisodeID) throws -> Download? { try first(where: "episode = ?", [episode]) }

    /// Returns the downloads of a session, oldest first. The session `""` has the downloads that end when their client
    /// disconnects.
    package func downloads(session: String) throws -> [Download] {
        try all(where: "session = ? ORDER BY id", [session])
    }

    /// Ensures that an episode has a download that has not failed. An existing download keeps its id and its
    /// suspension. It also keeps its session, unless that is `""`: a download of that session would be cancelled when
    /// its client disconnects, so it moves to `session`. A download that a user requests is no longer automatic.
    ///
    /// - Throws: `noSuchEpisode`.
    package func enqueue(episode: EpisodeID, session: String, automatic: Bool = false, now: Int64) throws -> Download {
        try write { db in
            if var existing = try Download.fetch(db, where: "episode = ?", [episode]).first {
                if existing.session.isEmpty { existing.session = session }
                existing.automatic = existing.automatic && automatic
                existing.error = nil
                existing.errorNumber = nil
                try db.run(
                    """
                    UPDATE download SET session = ?1, automatic = ?2, error = NULL, error_number = NULL
                    WHERE id = ?3 AND (session <> ?1 OR automatic <> ?2 OR error IS NOT NULL)
                    """, [existing.session, existing.automatic, existing.id])
                if !automatic { try Self.recordRequest(for: episode, automatic: false, db) }
                return existing
            }
            let exists = try Bool.fetchOne(
                db, "SELECT 1 FROM episode WHERE id = ? AND \(AlternateSQL.isPresent)", [episode])
            guard exists != nil else { throw LibraryError.noSuchEpisode(episode) }
            try Self.recordRequest(for: episode, automatic: automatic, db)
            try db.run(
                "INSERT INTO download (episode, session, automatic, created) VALUES (?, ?, ?, ?)",
                [episode, session, automatic, now])
            return Download(
                id: TaskID(db.lastInsertedRowID), episode: episode, session: session, automatic: automatic, created: now
            )
        }
    }

    /// Records that an episode is fetched ahead, or that a user has requested it, also one that was declined.
    private static func recordRequest(for episode: EpisodeID, automatic: Bool, _ db: Database) throws {
        try db.run(
            "UPDATE episode SET automatic = ?1, declined = declined AND ?1 WHERE id = ?2", [automatic, episode])
    }

    /// Marks episodes as declined by a user, so that they are not downloaded automatically again.
    package func decline(_ episodes: [EpisodeID]) throws {
        try write { db in
            for episode in episodes {
                try db.run("UPDATE episode SET declined = 1, automatic = 0 WHERE id = ?", [episode])
            }
        }
    }

    /// Suspends or resumes a download at a user's request. A suspension persists across restarts of the daemon.
    package func setSuspended(download: TaskID, _ suspended: Bool) throws {
        try execute(
            "UPDATE download SET suspended = ? WHERE id = ?", [suspended, download], orThrow: .noSuchDownload(download))
    }

    /// Persists the reason why a download failed, until the download is enqueued again or removed.
    package func fail(download: TaskID, error: String, errorNumber: Int) throws {
        try execute(
            "UPDATE download SET error = ?, error_number = ? WHERE id = ?", [error, errorNumber, download],
            orThrow: .noSuchDownload(download))
    }

    /// Removes a cancelled download. A missing one is not an error, because it may have completed meanwhile.
    package func removeDownload(id: TaskID) throws { try execute("DELETE FROM download WHERE id = ?", [id]) }
}

extension Download: StoredRow {
    static let columns = """
        d.id, d.episode, d.session, d.suspended, d.automatic, d.created, d.error, d.error_number
        """
    static let table = "download d"

    init(_ row: Row) { self.init(row, from: 0) }

    /// Creates the value from the columns of a join; `nil` if there is no download.
    init?(ifAny row: Row, from first: Int) {
        guard (row[first] as TaskID?) != nil else { return nil }
        self.init(row, from: first)
    }

    private init(_ row: Row, from first: Int) {
        self.init(
            id: row[first], episode: row[first + 1], session: row[first + 2], suspended: row[first + 3],
            automatic: row[first + 4], created: row[first + 5], error: row[first + 6], errorNumber: row[first + 7])
    }
}

extension Library {
    /// Returns the episodes to which an action on a show applies. If `podcast` is `nil`, the action is on all shows.
    ///
    /// Suspending, resuming and cancelling apply only to episodes with a task: suspending a show must not create three
    /// hundred suspended downloads, and resuming a show must not create three hundred running ones.
    package func episodes(of podcast: ShowID?, for action: TaskAction) throws -> [EpisodeID] {
        switch action {
        case .resume, .suspend, .cancel:
            return try values(
                """
                SELECT d.episode FROM download d JOIN episode e ON e.id = d.episode
                WHERE ?1 IS NULL OR e.podcast = ?1 ORDER BY d.id
                """, [podcast])
        case .evict:
            return try values(
                "SELECT episode FROM rendition WHERE ?1 IS NULL OR podcast = ?1 ORDER BY episode", [podcast])
        case .download, .pin, .unpin:
            let shows = try podcast.map { [$0] } ?? folders().map(\.id)
            return try shows.flatMap { try entries(of: $0).map(\.id) }
        }
    }
}

extension Library {
    /// Returns the outstanding downloads and uploads from the library. For use when no daemon runs.
    package func outstandingTasks() throws -> [TaskInfo] {
        let uploads = try uploads().map { upload in
            TaskInfo(
                id: upload.id, kind: .upload, path: upload.title, episode: nil,
                state: upload.state,
                received: upload.progress.offset, expected: upload.size, rate: nil, error: upload.error,
                started: upload.created)
        }
        let downloads: [TaskInfo] = try downloads().compactMap { download in
            guard let episode = try episode(id: download.episode), let show = try folder(id: episode.podcast) else {
                return nil
            }
            var info = TaskInfo(
                id: download.id, kind: .download, path: show.name + "/" + episode.name, episode: episode.id,
                state: download.state,
                received: episode.cachedBytes, expected: episode.confirmedSize, rate: nil,
                error: download.error, started: download.created)
            if info.expected == nil, episode.size.source != .unknown { info.estimate = episode.size.bytes }
            return info
        }
        return uploads + downloads
    }
}

/// A background download that is outstanding or failed. Its row is removed when it completes or is cancelled.
package struct Download: Sendable, Equatable {
    /// The task's id: positive, never reused for another task.
    package var id: TaskID
    package var episode: EpisodeID
    /// The identifier of the client session to which the task belongs; empty if the task ends with its client.
    package var session: String
    /// Whether a user has suspended the download.
    package var suspended: Bool = false
    /// Whether the download was created automatically and nobody has requested it since. Such a download waits for an
    /// unmetered link and mains power.
    package var automatic: Bool = false
    package var created: Int64 = 0
    /// The reason for the failure, one line; `nil` unless it failed.
    package var error: String?
    /// The errno with which reads of the file fail; set together with `error`.
    package var errorNumber: Int?

    /// The state of the task as long as the daemon has not started it, for example while no daemon runs.
    package var state: TaskState { error != nil ? .failed : suspended ? .suspended : .queued }
}
