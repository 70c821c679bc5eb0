package import Transfers

/// The upload of an episode. Its row in the library is removed when the server has stored all bytes, or on
/// cancellation.
package struct Upload: Sendable, Equatable {
    /// A file of an upload, the media or an image. The upload sends a snapshot of the original file.
    package struct Part: Sendable, Equatable {
        /// The name of the original file.
        package var name: String
        /// The name of the snapshot in the uploads folder.
        package var file: String
        /// The MIME type; `nil` if unknown.
        package var type: String?

        package init(name: String, file: String, type: String? = nil) {
            self.name = name
            self.file = file
            self.type = type
        }
    }

    /// The progress on the server.
    package struct Progress: Sendable, Equatable {
        /// `unposted`, `posting` or `posted`.
        package var step: String
        /// The URL to which the media are sent, once the server has responded with it.
        package var location: String?
        /// Whether that URL supports tus, a protocol for resumable uploads; `nil` until the server was asked.
        package var tus: Bool?
        /// The number of bytes stored by the server.
        package var held: Int64

        package init(step: String = "unposted", location: String? = nil, tus: Bool? = nil, held: Int64 = 0) {
            self.step = step
            self.location = location
            self.tus = tus
            self.held = held
        }
    }

    /// The task's id: positive, never reused for another task.
    package var id: TaskID
    /// The address of the POST, without user info.
    package var url: String
    package var title: String
    package var description: String?
    package var media: Part
    /// The size of the media in bytes.
    package var size: Int64
    package var image: Part?
    package var idempotencyKey: String
    package var progress = Progress()
    /// Whether a person has suspended the upload.
    package var suspended = false
    /// Seconds since 1970.
    package var created: Int64
    /// The reason for the failure, one line; `nil` unless it failed.
    package var error: String?

    /// The state of the task as long as the daemon has not started it, for example while no daemon runs.
    package var state: TaskState { error != nil ? .failed : suspended ? .suspended : .queued }

    package init(
        id: TaskID = 0, url: String, title: String, description: String? = nil, media: Part, size: Int64,
        image: Part? = nil, idempotencyKey: String, created: Int64
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
