package import PodcastProtocol

/// An episode's file in the archive folder.
package struct ArchivedFile: Sendable, Equatable {
    /// The path relative to the folder: `SHOW/EPISODE`.
    package var path: String
    /// The episode; `nil` once its show is unsubscribed.
    package var episode: EpisodeID?
    package var size: Int64
    package var sha256: String
    /// The recorded metadata of the file, such as its mtime; this module does not parse the text.
    package var fileState: String?
    /// The reason why the file is not served, such as that it is missing; `nil` if it is as recorded.
    package var defect: String?

    package init(
        path: String, episode: EpisodeID?, size: Int64, sha256: String, fileState: String?, defect: String? = nil
    ) {
        self.path = path
        self.episode = episode
        self.size = size
        self.sha256 = sha256
        self.fileState = fileState
        self.defect = defect
    }
}

/// The archive folder, as the library knows it.
package struct ArchiveFolderRecord: Sendable, Equatable {
    /// The absolute path.
    package var path: String
    /// The id in the folder's marker file.
    package var marker: String
    /// The text by which this installation recognizes its own unfinished files in the folder.
    package var owner: String
    /// The reason why the files cannot be read now; `nil` while they can.
    package var problem: String?

    package init(path: String, marker: String, owner: String, problem: String? = nil) {
        self.path = path
        self.marker = marker
        self.owner = owner
        self.problem = problem
    }
}

/// The location of an archived episode for a program that opens it.
package struct ArchivePlace: Sendable, Equatable {
    /// The absolute path of the archive folder.
    package var folder: String
    /// The path relative to the folder.
    package var path: String
    /// Whether the folder is known to be unavailable.
    package var isOffline: Bool
}

/// A complete cache file that belongs into the archive.
package struct ArchiveCandidate: Sendable, Equatable {
    package var episode: EpisodeID
    package var show: ShowID
    /// The show's folder.
    package var showName: String
    /// The episode's file name.
    package var name: String
    package var size: Int64

    package var path: String { "\(showName)/\(name)" }
}

/// The number and size of the files that belong into the archive and are still in the cache.
package struct ArchiveBacklog: Sendable, Equatable {
    package var episodes = 0
    package var bytes: Int64 = 0
}
