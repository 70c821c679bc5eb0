import GRDB
package import PodcastProtocol
package import Transfers

extension Library {
    /// Returns all outstanding or failed uploads, oldest first.
    package func uploads() throws -> [Upload] { try query { db in try Self.uploads(db, "1 ORDER BY id") } }

    package func upload(id: TaskID) throws -> Upload? { try query { db in try Self.uploads(db, "id = ?", [id]).first } }

    /// Returns the upload whose snapshot (copy made for the upload) of the media file has this name.
    package func upload(file: String) throws -> Upload? {
        try query { db in try Self.uploads(db, "file = ?", [file]).first }
    }

    private static func uploads(
        _ db: Database, _ condition: String, _ arguments: StatementArguments = []
    ) throws -> [Upload] {
        try String.fetchAll(db, "SELECT value FROM upload WHERE \(condition)", arguments).compactMap {
            StoredDetails.value($0, as: Upload.self)
        }
    }

    /// Adds an upload. Assigns its id from the sequence of the downloads' ids, since both are ids of tasks.
    package func add(_ upload: Upload) throws -> Upload {
        try write { db in
            var upload = upload
            let last = try StoredNumber.fetchOne(db, "SELECT seq FROM sqlite_sequence WHERE name = 'download'")
            upload.id = TaskID((last ?? 0) + 1)
            try db.run(
                last == nil
                    ? "INSERT INTO sqlite_sequence (seq, name) VALUES (?, 'download')"
                    : "UPDATE sqlite_sequence SET seq = ? WHERE name = 'download'", [upload.id])
            try db.run(
                "INSERT INTO upload (id, file, value) VALUES (?, ?, ?)",
                [upload.id, upload.media.file, StoredDetails.text(upload)])
            return upload
        }
    }

    /// Changes an upload, and stores its event if there is one, atomically. A missing upload is not an error: it may
    /// have been cancelled meanwhile.
    package func update(
        upload id: TaskID, keeping event: Event? = nil, _ change: (inout Upload) -> Void
    ) throws {
        try write { db in
            if var upload = try Self.uploads(db, "id = ?", [id]).first {
                change(&upload)
                try db.run("UPDATE upload SET value = ? WHERE id = ?", [StoredDetails.text(upload), id])
            }
            if let event { try Self.store(event, db) }
        }
    }

    /// Removes a completed or cancelled upload and stores its event, atomically.
    package func removeUpload(id: TaskID, keeping event: Event?) throws {
        try write { db in
            try db.run("DELETE FROM upload WHERE id = ?", [id])
            if let event { try Self.store(event, db) }
        }
    }
}

/// The upload of an episode. Its row in the library is removed when the server has stored all bytes, or on
/// cancellation.
package struct Upload: Sendable, Equatable, Codable {
    /// The task's id: positive, never reused for another task.
    package var id: TaskID
    /// The address of the POST, without user info.
    package var url: String
    package var title: String
    package var description: String?
    package var media: SnapshotFile
    /// The size of the media in bytes.
    package var size: Int64
    package var image: SnapshotFile?
    package var idempotencyKey: String
    /// The progress on the server.
    package var progress = UploadResumeData()
    /// Whether a person has suspended the upload.
    package var suspended = false
    /// Seconds since 1970.
    package var created: Int64
    /// The reason for the failure, one line; `nil` unless it failed.
    package var error: String?

    /// The state of the task as long as the daemon has not started it, for example while no daemon runs.
    package var state: TaskState { error != nil ? .failed : suspended ? .suspended : .queued }

    package init(
        id: TaskID = 0, url: String, title: String, description: String? = nil, media: SnapshotFile, size: Int64,
        image: SnapshotFile? = nil, idempotencyKey: String, created: Int64
    ) {
        self.id = id
        self.url = url
        self.title = title
        self.description = description
        self.media = media
        self.size = size
        self.image = image
        self.idempotencyKey = idempotencyKey
        self.created = created
    }
}
