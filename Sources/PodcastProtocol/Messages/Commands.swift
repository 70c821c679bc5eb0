internal import Foundation
package import Transfers

/// The version of the protocol, which must be the same in the client and the daemon.
package let protocolVersion = 5

/// The first message of a client.
package struct Hello: Sendable, Codable, Equatable {
    /// The kind of client.
    package enum Role: String, Sendable, Codable {
        case command
        case mount
    }

    package var protocolVersion: Int
    /// The version of the library's schema that the client uses.
    package var schema: Int
    /// The paths of the library and of the cache folder.
    package var library: String
    package var cache: String
    package var role: Role
    package var pid: Int32

    package init(protocolVersion: Int, schema: Int, library: String, cache: String, role: Role, pid: Int32) {
        self.protocolVersion = protocolVersion
        self.schema = schema
        self.library = library
        self.cache = cache
        self.role = role
        self.pid = pid
    }
}

/// The daemon's response to a `Hello`.
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

/// The daemon's replies to commands that succeed. A `Failure` is sent in a frame of another kind.
package enum Reply: Sendable, Codable, Equatable {
    case done
    /// The folder's name, the number of episodes, and the number of skipped items.
    case subscribed(name: String, episodes: Int, skipped: Int)
    case imported(ImportResult)
    case refreshed([RefreshResult])
    case renamed([RenamedPath])
    case tasks([TaskInfo])
    case status(TaskList)
    /// The number of episodes opened or read by probes since the daemon's start. Probes are programs that read only
    /// headers and tags, such as the scanners of media libraries.
    case counters(probed: Int)
    case text(String)
    /// The number of episodes or uploads for which the action succeeded, and a message for each failure.
    case acted(count: Int, problems: [String])
    case events([Event])
    /// The show's own settings by key, and the effect of a changed `keep`.
    case settings([String: String], kept: KeepChange? = nil)
    /// The outstanding tasks of a background session, and its final events since the last acknowledgement.
    case session(tasks: [TaskInfo], ended: [Event])
    case task(TaskInfo)
    /// The shows found, and the errors of catalogues that could not be searched.
    case found([FoundShow], problems: [String])
    case foundFolders([FoundFolder])
    /// The name in the cache's folder `assets`, and the size in bytes.
    case asset(file: String, size: Int64)
    case sync(SyncStatus)
    /// The position in seconds to which the player should seek once; `nil` if it should not seek.
    case listening(resume: Double?)
    /// The data with which a cancelled task can be continued; `nil` if no byte, or every byte, had arrived.
    case resumeData(ResumeData?)
    /// The number of the file's version.
    case taggedFile(version: Int)
    /// The file's path in the archive folder.
    case adopted(path: String)
}

// The values of replies, for callers that expect one kind; `nil` for a reply of another kind.
extension Reply {
    package var subscribed: (name: String, episodes: Int, skipped: Int)? {
        if case .subscribed(let name, let episodes, let skipped) = self { (name, episodes, skipped) } else { nil }
    }
    package var imported: ImportResult? { if case .imported(let result) = self { result } else { nil } }
    package var refreshed: [RefreshResult]? { if case .refreshed(let results) = self { results } else { nil } }
    package var renamed: [RenamedPath]? { if case .renamed(let paths) = self { paths } else { nil } }
    package var tasks: [TaskInfo]? { if case .tasks(let tasks) = self { tasks } else { nil } }
    package var status: TaskList? { if case .status(let list) = self { list } else { nil } }
    package var probed: Int? { if case .counters(let probed) = self { probed } else { nil } }
    package var text: String? { if case .text(let text) = self { text } else { nil } }
    package var acted: (count: Int, problems: [String])? {
        if case .acted(let count, let problems) = self { (count, problems) } else { nil }
    }
    package var events: [Event]? { if case .events(let events) = self { events } else { nil } }
    package var settings: (own: [String: String], kept: KeepChange?)? {
        if case .settings(let own, let kept) = self { (own, kept) } else { nil }
    }
    package var session: (tasks: [TaskInfo], ended: [Event])? {
        if case .session(let tasks, let ended) = self { (tasks, ended) } else { nil }
    }
    package var task: TaskInfo? { if case .task(let task) = self { task } else { nil } }
    package var found: (shows: [FoundShow], problems: [String])? {
        if case .found(let shows, let problems) = self { (shows, problems) } else { nil }
    }
    package var listening: Double?? { if case .listening(let resume) = self { .some(resume) } else { nil } }
    package var adopted: String? { if case .adopted(let path) = self { path } else { nil } }
    package var sync: SyncStatus? { if case .sync(let status) = self { status } else { nil } }
}

/// A path that has changed: `SHOW`, or `SHOW/EPISODE`.
package struct RenamedPath: Sendable, Codable, Equatable {
    package var former: String
    package var path: String

    package init(former: String, path: String) {
        self.former = former
        self.path = path
    }
}

/// The effect of a changed `keep` on a show's episodes.
package struct KeepChange: Sendable, Codable, Equatable {
    /// The number of removed episodes, the number of episodes before the removal, and the number of freed bytes.
    package var removed: Int
    package var total: Int
    package var bytes: Int64
    /// The number of formerly removed episodes that are restored, since the feed still lists them.
    package var returned: Int

    package init(removed: Int, total: Int, bytes: Int64, returned: Int) {
        self.removed = removed
        self.total = total
        self.bytes = bytes
        self.returned = returned
    }
}

/// The result of refreshing one show.
package struct RefreshResult: Sendable, Codable, Equatable {
    package var name: String
    package var added: Int
    package var error: String?

    package init(name: String, added: Int, error: String? = nil) {
        self.name = name
        self.added = added
        self.error = error
    }
}

/// The description of a task, as shown in the mount's file `.status`.
package struct TaskInfo: Sendable, Codable, Equatable {
    /// The purpose of a task.
    package enum Kind: String, Sendable, Codable {
        case download, refresh, search, artwork, transcript, upload, archive
    }

    package var id: TaskID
    package var kind: Kind
    /// The object of the task: `SHOW/EPISODE`, `SHOW/FILE` for an asset, or `SHOW`. For an upload it is the title, for
    /// a search the term, and for a show that is being added the address.
    package var path: String
    /// The episode, if the task concerns one.
    package var episode: EpisodeID?
    package var state: TaskState
    /// The number of bytes received, or sent by an upload.
    package var received: Int64
    /// The total number of bytes; `nil` if it is not known.
    package var expected: Int64?
    /// Bytes per second.
    package var rate: Double?
    package var error: String?
    /// Whether the task waits for space for the whole file; `error` has the reason.
    package var waitsForSpace: Bool?
    /// The size in bytes that the feed or the duration suggests, while `expected` is unknown.
    package var estimate: Int64?
    /// The time of the next attempt after a failure, in seconds since 1970 UTC; `error` has the reason.
    package var nextTry: Int64?
    /// The time at which the task started, in seconds since 1970 UTC.
    package var started: Int64

    package init(
        id: TaskID, kind: Kind, path: String, episode: EpisodeID? = nil, state: TaskState, received: Int64 = 0,
        expected: Int64? = nil, rate: Double? = nil, error: String? = nil, started: Int64
    ) {
        self.id = id
        self.kind = kind
        self.path = path
        self.episode = episode
        self.state = state
        self.received = received
        self.expected = expected
        self.rate = rate
        self.error = error
        self.started = started
    }
}

/// The encoding of JSON payloads.
package enum WireJSON {
    /// Encodes a message.
    package static func encode<Value: Encodable>(_ value: Value) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        // The messages are plain values with finite numbers and text keys, so encoding cannot fail.
        guard let data = try? encoder.encode(value) else { return Array("null".utf8) }
        return [UInt8](data)
    }

    /// Decodes a message; `nil` if it is malformed.
    package static func decode<Value: Decodable>(_ type: Value.Type, _ payload: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(payload))
    }
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

/// The result of importing a show.
package enum ImportResult: Sendable, Codable, Equatable {
    case added(name: String, episodes: Int)
    /// The show was already subscribed.
    case known(name: String)
    /// The show is subscribed, without episodes until a refresh succeeds.
    case kept(name: String, error: String)
    /// The show is not subscribed: for example, the address is not that of a show, the feed is gone (410), or the
    /// daemon rejected the command.
    case refused(error: String)
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

/// A search result: a show as a catalogue (a podcast directory) describes it. Texts are single lines without control
/// characters; addresses are http or https.
package struct FoundShow: Sendable, Codable, Equatable {
    package var title: String
    package var author: String?
    /// The feed's address, for subscribing. Catalogues (podcast directories) list no credentials, so the address can be
    /// displayed unchanged.
    package var url: String
    /// The address of the largest artwork offered.
    package var artwork: String?
    /// The number of episodes.
    package var episodes: Int?
    /// The address of the show's web page, on the catalogue's site or its own.
    package var link: String?
    /// The name of the show's folder; `nil` if the show is not subscribed.
    package var subscribed: String?
    /// The address space of the catalogue's server: the internet, a local network or this computer. The addresses that
    /// the catalogue supplies may not be in a more private one.
    package var space: AddressSpace?

    package init(
        title: String, author: String? = nil, url: String, artwork: String? = nil, episodes: Int? = nil,
        link: String? = nil, subscribed: String? = nil
    ) {
        self.title = title
        self.author = author
        self.url = url
        self.artwork = artwork
        self.episodes = episodes
        self.link = link
        self.subscribed = subscribed
    }
}

/// A search result that the daemon has stored in the library. A mount lists the show in the search's folder.
package struct FoundFolder: Sendable, Codable, Equatable {
    package var podcast: ShowID
    /// The name of the show's folder.
    package var name: String

    package init(podcast: ShowID, name: String) {
        self.podcast = podcast
        self.name = name
    }
}
