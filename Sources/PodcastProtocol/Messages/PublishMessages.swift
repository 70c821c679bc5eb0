/// The copy of a file, stored in the uploads folder, and the file's description for the server.
package struct SnapshotFile: Sendable, Codable, Equatable {
    /// The name in the uploads folder. The client holds a lock on the copy until it gets a response.
    package var file: String
    /// The name of the original file.
    package var name: String
    /// The media type.
    package var type: String?

    package init(file: String, name: String, type: String? = nil) {
        self.file = file
        self.name = name
        self.type = type
    }
}

/// A request to publish an episode.
package struct PublishRequest: Sendable, Codable, Equatable {
    /// The URL of the server, including user info.
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
