package import Transfers

/// The version of the protocol, which must be the same in the client and the daemon.
package let protocolVersion = 5

/// The first message of a client: which kind of client it is.
package enum Hello: String, Sendable, Codable {
    case command, mount
}

/// The daemon's response to a `Hello`. The client checks whether it may use this daemon.
package struct Welcome: Sendable, Codable, Equatable {
    package var protocolVersion: Int
    package var schema: Int
    package var library: String
    package var cache: String
    /// The daemon's version of podfs.
    package var version: String
    package var pid: Int32
    /// A message for the user, sent to the first command that connects.
    package var notice: String?

    package init(
        protocolVersion: Int, schema: Int, library: String, cache: String, version: String, pid: Int32,
        notice: String? = nil
    ) {
        self.protocolVersion = protocolVersion
        self.schema = schema
        self.library = library
        self.cache = cache
        self.version = version
        self.pid = pid
        self.notice = notice
    }
}

/// An action on the download or the cached bytes of an episode. `resume`, `suspend` and `cancel` also apply to uploads.
package enum TaskAction: String, Sendable, Codable, CaseIterable {
    case download, resume, suspend, cancel, evict, pin, unpin
}

/// The lifetime of a client's tasks.
package enum SessionConfiguration: Sendable, Codable, Equatable {
    /// A task ends with the client's connection, unless another client has resumed the task or a program has the
    /// episode open. Received bytes stay cached.
    case `default`
    /// Like `default`, except that the received bytes are removed unless the episode is pinned.
    case ephemeral
    /// Tasks outlive the client and the daemon. A client that reconnects with the same identifier gets the outstanding
    /// tasks, and the final events (those that ended a task) since the last one that it acknowledged.
    case background(identifier: String)
}

/// A client's command.
package enum Command: Sendable, Codable, Equatable {
    case subscribe(url: String, name: String?)
    /// Subscribes to a show of an imported list, as soon as the limits for requests to its host permit. A feed that
    /// cannot be fetched now is not a failure.
    case importShow(ImportItem)
    case unsubscribe(podcast: ShowID)
    /// Refreshes shows; all if the list is empty.
    case refresh(podcasts: [ShowID])
    case rename(podcast: ShowID?, episode: EpisodeID?, name: String)
    /// Renames the episodes of these shows, or of all shows if the list is empty, by the shows' templates. If a
    /// show's template requires portable names, the show's folder is renamed as well. The reply is `renamed`.
    case renameByTemplate(podcasts: [ShowID], isDryRun: Bool)
    /// Fetches a feed and returns the JSON that `podfs inspect` prints. Stores nothing.
    case inspect(url: String)
    /// Returns all tasks.
    case tasks
    /// Returns the tasks that a status lists, and counts the others. The reply is `status`.
    case status
    case counters
    /// Performs an action on episodes. The reply is `acted`.
    case act(TaskAction, episodes: [EpisodeID])
    /// Starts the upload of a copy in the uploads folder. A repeated request with the same copy returns the upload that
    /// the first request started.
    case publish(PublishRequest)
    /// Resumes, suspends or cancels uploads, which are identified by the ids of their tasks.
    case actOnUploads(TaskAction, ids: [TaskID])
    case setPlayed(episode: EpisodeID, Bool)
    case setPosition(episode: EpisodeID, seconds: Double)
    /// Marks all episodes of a show as played, or as not played.
    case setShowPlayed(podcast: ShowID, Bool)
    /// Reports a player's action on an episode. The reply is `listening`.
    case report(ListeningReport)
    /// Changes the show's own settings. `KEY=VALUE` sets one, and `KEY=` removes one. If an assignment is refused, none
    /// is applied. A value of `keep` that would remove cached or played episodes is refused unless `confirmed` is true.
    case set(podcast: ShowID, assignments: [String], confirmed: Bool? = nil)
    /// Changes or creates a view (a folder of the episodes that satisfy the user's conditions). `KEY=VALUE` sets a
    /// part of its definition, such as a condition, and `KEY=` removes one. The other parts stay unchanged.
    case setView(name: String, assignments: [String])
    case removeView(name: String)
    /// Subscribes to events.
    case watch
    /// Returns the stored events after a sequence number.
    case events(since: Int64)
    /// Opens a session, to which the client's tasks then belong; at most one per connection.
    case openSession(SessionConfiguration)
    /// Creates a task for an episode, suspended until `resumeTask`.
    case createTask(episode: EpisodeID)
    /// Suspends a task. Suspensions nest, and end with the connection.
    case suspendTask(episode: EpisodeID)
    case resumeTask(episode: EpisodeID)
    /// Cancels a task for all clients. The received bytes are deleted, unless `producingResumeData` is true.
    case cancelTask(episode: EpisodeID, producingResumeData: Bool)
    /// Creates a task, like `createTask`, to continue a cancelled task from its received bytes.
    case continueTask(ResumeData)
    /// Acknowledges all events up to this sequence number, inclusive, for a background session.
    case acknowledge(through: Int64)
    /// Searches the podcast catalogues for at most `limit` shows. For an address, returns the feed at it, or the feeds
    /// that the web page at it names. Stores nothing.
    case search(term: String, limit: Int)
    /// Searches like `search`, and creates rows in the library for the results. A row is removed a day after the show
    /// was last found or used.
    case searchFolder(term: String)
    /// Fetches the feed of a show that a search has found, unless the show is subscribed or the feed was fetched within
    /// the last hour.
    case fetchShow(podcast: ShowID)
    /// Ensures that an asset is cached; the playlist of a `stream` is only checked. `id` is the id of the show for
    /// `cover`, otherwise of the episode.
    case asset(AssetKind, id: Int64)
    /// Reads the complete files of these episodes, and evicts those that differ from what was downloaded. The reply is
    /// `acted`, with the number of episodes without a defect, and the defects of the others.
    case verify(episodes: [EpisodeID])
    /// Compares an episode's file in the archive with the library, because a mount could not open it. If it cannot be
    /// read now, the episode is fetched from its server from now on. The reply is `done`.
    case examineArchived(episode: EpisodeID)
    /// Adds a file to the archive as the file of an episode. A file with an absolute path is copied; one with a path
    /// relative to the archive folder is in it, and stays there. The reply is `adopted`.
    case adopt(episode: EpisodeID, path: String, size: Int64)
    /// Records the facts that determine the bytes of an episode's file in the folder `Tagged`. Sizes are in bytes. The
    /// reply is `taggedFile`.
    case setTaggedFile(
        episode: EpisodeID, rendition: Int, tagSize: Int64, fingerprint: Int64, skipped: Int64, total: Int64?)
    /// Starts synchronization with a server.
    case syncLogin(SyncLoginRequest)
    /// Synchronizes now; with `despiteHold` even if the server has asked to wait.
    case syncNow(despiteHold: Bool)
    case syncStatus
    /// Ends synchronization, and deletes the stored account and password.
    case syncLogout
    /// Finishes the current write and exits. Sent when a newer program takes over, or when a user has requested it.
    case leave
}

/// A show in a list of subscriptions.
package struct ImportItem: Sendable, Codable, Equatable {
    package var url: String
    /// The show's title and website according to the list. Both are used until the feed is fetched. If the feed has no
    /// title, this title is used afterwards too.
    package var title: String?
    package var link: String?
    /// The folders of the list that contain the show.
    package var folders: [String]?

    package init(url: String, title: String? = nil, link: String? = nil, folders: [String]? = nil) {
        self.url = url
        self.title = title
        self.link = link
        self.folders = folders
    }
}

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

/// A request to start synchronization: the server, the account and its password.
package struct SyncLoginRequest: Sendable, Codable, Equatable, CustomStringConvertible {
    package var url: String
    package var user: String?
    package var password: String
    package var device: String?
    /// The server's API, `gpodder` or `nextcloud`; `nil` to detect it.
    package var kind: String?
    package var allowsHTTP: Bool

    package init(
        url: String, user: String?, password: String, device: String? = nil, kind: String? = nil,
        allowsHTTP: Bool = false
    ) {
        self.url = url
        self.user = user
        self.password = password
        self.device = device
        self.kind = kind
        self.allowsHTTP = allowsHTTP
    }

    /// A description without the password, since values are printed in logs.
    package var description: String { "login" }
}
