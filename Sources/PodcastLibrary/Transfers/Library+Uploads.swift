import GRDB
package import PodcastProtocol
package import Transfers

extension Library {
    /// Returns all outstanding or failed uploads, oldest first.
    package func uploads() throws -> [Upload] { try all(where: "1 ORDER BY id") }

    package func upload(id: TaskID) throws -> Upload? { try first(where: "id = ?", [id]) }

    /// Returns the upload whose snapshot (copy made for the upload) of the media file has this name.
    package func upload(file: String) throws -> Upload? { try first(where: "file = ?", [file]) }

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
            try db.insert(
                into: "upload",
                [
                    "id": upload.id, "url": upload.url, "title": upload.title, "description": upload.description,
                    "name": upload.media.name, "file": upload.media.file, "size": upload.size,
                    "type": upload.media.type, "image_name": upload.image?.name, "image_file": upload.image?.file,
                    "image_type": upload.image?.type, "idempotency_key": upload.idempotencyKey,
                    "step": upload.progress.step.rawValue, "location": upload.progress.location,
                    "tus": upload.progress.speaksTus, "held": upload.progress.offset, "suspended": upload.suspended,
                    "created": upload.created, "error": upload.error,
                ])
            return upload
        }
    }

    /// Records the progress of an upload. A missing upload is not an error: it may have been cancelled meanwhile.
    package func record(upload: TaskID, _ progress: UploadResumeData) throws {
        try execute(
            "UPDATE upload SET step = ?, location = ?, tus = ?, held = ? WHERE id = ?",
            [progress.step.rawValue, progress.location, progress.speaksTus, progress.offset, upload])
    }

    /// Suspends or resumes an upload at the user's request. A suspension persists across restarts. Resuming clears the
    /// error of a failed upload.
    package func setSuspended(upload: TaskID, _ suspended: Bool) throws {
        try execute(
            "UPDATE upload SET suspended = ?1, error = iif(?1, error, NULL) WHERE id = ?2", [suspended, upload])
    }

    /// Records the reason for a failed upload and stores its event, atomically.
    package func fail(upload: TaskID, error: String, keeping event: Event?) throws {
        try write { db in
            try db.run("UPDATE upload SET error = ? WHERE id = ?", [error, upload])
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

extension Upload: StoredRow {
    static let columns = """
        id, url, title, description, name, file, size, type, image_name, image_file, image_type, idempotency_key, \
        step, location, tus, held, suspended, created, error
        """
    static let table = "upload"

    init(_ row: Row) {
        self.init(
            id: row[0], url: row[1], title: row[2], description: row[3],
            media: SnapshotFile(file: row[5], name: row[4], type: row[7]), size: row[bytes: 6] ?? 0,
            idempotencyKey: row[11], created: row[17])
        if let name: String = row[8], let file: String = row[9] {
            image = SnapshotFile(file: file, name: name, type: row[10])
        }
        progress = UploadResumeData(
            step: UploadResumeData.Step(rawValue: row[12]) ?? .posting, location: row[13], speaksTus: row[14],
            offset: row[bytes: 15] ?? 0)
        suspended = row[16]
        error = row[18]
    }
}

/// The upload of an episode. Its row in the library is removed when the server has stored all bytes, or on
/// cancellation.
package struct Upload: Sendable, Equatable {
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
