package import TransferCore

/// Something that a person publishes. It leaves when the server has it, or when it is cancelled.
package struct Upload: Sendable, Equatable {
    /// A file's copy, which nobody changes, and what the server is told of it.
    package struct Part: Sendable, Equatable {
        /// Of the file that was published.
        package var name: String
        /// Of the copy, in the folder of uploads.
        package var file: String
        package var type: String?

        package init(name: String, file: String, type: String? = nil) {
            self.name = name
            self.file = file
            self.type = type
        }
    }

    /// How far it has come on the server.
    package struct Progress: Sendable, Equatable {
        /// `unposted`, `posting` or `posted`.
        package var step: String
        package var location: String?
        package var tus: Bool?
        /// Bytes.
        package var held: Int64

        package init(step: String = "unposted", location: String? = nil, tus: Bool? = nil, held: Int64 = 0) {
            self.step = step
            self.location = location
            self.tus = tus
            self.held = held
        }
    }

    /// The task's id: positive, never given to another task.
    package var id: TaskID
    /// Where it is posted, without user info.
    package var url: String
    package var title: String
    package var description: String?
    package var media: Part
    /// Of the media, in bytes.
    package var size: Int64
    package var image: Part?
    package var idempotencyKey: String
    package var progress = Progress()
    /// Suspended by a person: stays so until a person resumes it.
    package var suspended = false
    package var created: Int64
    /// Why it failed, one line; `nil` unless it failed.
    package var error: String?

    /// The state of the task until the daemon has begun it again.
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
