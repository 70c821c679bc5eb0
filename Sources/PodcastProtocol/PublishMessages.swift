/// A file's copy that a client has put into the folder of uploads, and what the server is told of it.
package struct SnapshotFile: Sendable, Codable, Equatable {
    /// In the folder of uploads. The client holds a lock on it until it has an answer.
    package var file: String
    /// Of the file that was copied.
    package var name: String
    package var type: String?

    package init(file: String, name: String, type: String? = nil) {
        self.file = file
        self.name = name
        self.type = type
    }
}

/// Something to be published.
package struct PublishRequest: Sendable, Codable, Equatable {
    /// With the user info that it was given with.
    package var url: String
    package var title: String
    package var description: String?
    package var media: SnapshotFile
    package var image: SnapshotFile?

    package init(
        url: String, title: String, description: String? = nil, media: SnapshotFile, image: SnapshotFile? = nil
    ) {
        self.url = url
        self.title = title
        self.description = description
        self.media = media
        self.image = image
    }
}
