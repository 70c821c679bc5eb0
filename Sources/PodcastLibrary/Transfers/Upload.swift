package import PodcastProtocol
package import Transfers

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
