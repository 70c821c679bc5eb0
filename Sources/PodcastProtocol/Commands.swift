internal import Foundation
package import TransferCore

/// The version of the messages; both sides must agree.
package let protocolVersion = 3

/// The first message of a client.
package struct Hello: Sendable, Codable, Equatable {
    package enum Role: String, Sendable, Codable {
        case command
        case mount
    }

    package var protocolVersion: Int
    /// Of the library's schema, as the client knows it.
    package var schema: Int
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

/// The daemon's answer to it.
package struct Welcome: Sendable, Codable, Equatable {
    package var protocolVersion: Int
    package var schema: Int
    package var library: String
    package var cache: String
    package var version: String
    package var pid: Int32
    /// Something that a person has to know, told to the first command that comes.
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

/// What can be done with an episode's task and its cached bytes: the values of `user.podfs.task`, and `download`.
package enum TaskAction: String, Sendable, Codable, CaseIterable {
    case download, resume, suspend, cancel, evict, pin, unpin
}

/// How long the tasks of a client live.
package enum SessionConfiguration: Sendable, Codable, Equatable {
    /// Tasks end with the client's connection, unless somebody else wants the same; what has arrived stays cached.
    case `default`
    /// As `default`, and nothing is left on the disk.
    case ephemeral
    /// Tasks outlive the client and the daemon. A client that comes back with the same identifier gets those that are
    /// outstanding, and what has ended in the meantime.
    case background(identifier: String)
}

/// What a client asks for.
package enum Command: Sendable, Codable, Equatable {
    case subscribe(url: String, name: String?)
    /// As `subscribe`, for a show of a list; waits for its turn. A feed that cannot be had now is no failure.
    case importShow(ImportItem)
    case unsubscribe(podcast: ShowID)
    /// All shows when empty.
    case refresh(podcasts: [ShowID])
    case rename(podcast: ShowID?, episode: EpisodeID?, name: String)
    /// Fetches a feed and answers with what it says, as the JSON of `podfs inspect`; stores nothing.
    case inspect(url: String)
    case tasks
    case act(TaskAction, episodes: [EpisodeID])
    /// An upload of a copy that is in the folder of uploads; begins at once. Asked for twice with the same copy it is one.
    case publish(PublishRequest)
    /// `resume`, `suspend` and `cancel` of uploads, by their tasks' numbers.
    case actOnUploads(TaskAction, ids: [TaskID])
    case setPlayed(episode: EpisodeID, Bool)
    case setPosition(episode: EpisodeID, seconds: Double)
    /// Sets what a show has of its own, each as `KEY=VALUE`, or takes it away with `KEY=`. None is set unless all can be.
    /// A `keep` that removes what is cached or played is refused unless `confirmed` is true.
    case set(podcast: ShowID, assignments: [String], confirmed: Bool? = nil)
    /// From now on, events are sent.
    case watch
    /// The kept events after a sequence number.
    case events(since: Int64)
    /// The client's tasks are of this session from now on; one session for a connection.
    case openSession(SessionConfiguration)
    /// A task for an episode, suspended until `resumeTask`.
    case createTask(episode: EpisodeID)
    /// Nest, and end with the connection.
    case suspendTask(episode: EpisodeID)
    case resumeTask(episode: EpisodeID)
    /// Ends a task for everybody. `producingResumeData` keeps the bytes that are here, else they are dropped.
    case cancelTask(episode: EpisodeID, producingResumeData: Bool)
    /// As `createTask`, for what a cancelled task has left.
    case continueTask(ResumeData)
    /// The client of a background session has taken note of all events up to this one.
    case acknowledge(through: Int64)
    /// Asks the catalogues for shows, at most so many; stores nothing.
    case search(term: String, limit: Int)
    /// The same, and makes rows of the results, which are forgotten a day after they were last found.
    case searchFolder(term: String)
    /// Fetches the feed of a show that a search has found, unless it is fresh.
    case fetchShow(podcast: ShowID)
    /// Makes sure that an asset is in the cache; the row is the show's or the episode's.
    case asset(AssetKind, id: Int64)
    /// Reads the whole files of these episodes, and drops those that are not what was downloaded. `acted` counts the good
    /// ones, and says of each other one what is wrong with it.
    case verify(episodes: [EpisodeID])
    /// Keeps the subscriptions and what was heard alike with a server's, from now on.
    case syncLogin(SyncLoginRequest)
    /// Exchanges with the server now; `despiteHold` also when it has asked to be left alone for a while.
    case syncNow(despiteHold: Bool)
    case syncStatus
    /// Forgets the server and the password.
    case syncLogout
    /// Finish the write under way and leave: a newer program takes over, or a person wants it.
    case leave
}

/// The daemon's answers to commands; a `Failure` is a frame of its own.
package enum Reply: Sendable, Codable, Equatable {
    case done
    /// The folder's name, the number of episodes, and how many items of the feed were none.
    case subscribed(name: String, episodes: Int, skipped: Int)
    case imported(ImportResult)
    case refreshed([RefreshResult])
    case tasks([TaskInfo])
    case text(String)
    /// How many episodes the action changed, and what it could not do.
    case acted(count: Int, problems: [String])
    case events([Event])
    /// What a show has of its own, by key, and what another `keep` has done.
    case settings([String: String], kept: KeepChange? = nil)
    /// What is outstanding of a background session, and what has ended while its client was away.
    case session(tasks: [TaskInfo], ended: [Event])
    case task(TaskInfo)
    /// What the catalogues have found, and what those say that could not be asked.
    case found([FoundShow], problems: [String])
    case foundFolders([FoundFolder])
    /// The name in the cache's folder `assets`, and bytes.
    case asset(file: String, size: Int64)
    case sync(SyncStatus)
    /// `nil` when nothing had arrived.
    case resumeData(ResumeData?)
}

/// What became of a show's episodes when its `keep` was changed.
package struct KeepChange: Sendable, Codable, Equatable {
    /// How many were removed, how many there were, and the bytes that this has freed.
    package var removed: Int
    package var total: Int
    package var bytes: Int64
    /// How many have come back that the feed lists.
    package var returned: Int

    package init(removed: Int, total: Int, bytes: Int64, returned: Int) {
        self.removed = removed
        self.total = total
        self.bytes = bytes
        self.returned = returned
    }
}

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

/// One task, as `.status` shows it.
package struct TaskInfo: Sendable, Codable, Equatable {
    /// What a task is for.
    package enum Kind: String, Sendable, Codable {
        case download, refresh, search, artwork, transcript, upload
    }

    package var id: TaskID
    package var kind: Kind
    /// `SHOW/EPISODE`, or `SHOW`.
    package var path: String
    /// The episode, when the task is about one.
    package var episode: EpisodeID?
    package var state: TaskState
    package var received: Int64
    package var expected: Int64?
    /// Bytes per second.
    package var rate: Double?
    package var error: String?
    /// The task rests until the cache has space for the whole file; `error` says why.
    package var waitsForSpace: Bool?
    /// Seconds since 1970 UTC.
    package var started: Int64

    package init(
        id: TaskID, kind: Kind, path: String, episode: EpisodeID?, state: TaskState, received: Int64, expected: Int64?,
        rate: Double?, error: String?, started: Int64
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

/// Something that happened, for every client that watches.
package struct Event: Sendable, Codable, Equatable {
    package enum Kind: String, Sendable, Codable {
        case progress, completed, failed, state, library, idle
    }

    package var sequence: Int64
    /// Seconds since 1970 UTC.
    package var time: Int64
    package var kind: Kind
    package var task: TaskID?
    /// The kind of the task; `nil` for a download.
    package var taskKind: TaskInfo.Kind?
    /// The episode.
    package var id: EpisodeID?
    /// The show, in library events.
    package var podcast: ShowID?
    package var generation: Int?
    package var path: String?
    /// The name that the episode's file or the show's folder had until now, in library events.
    package var formerName: String?
    package var state: TaskState?
    package var received: Int64?
    package var expected: Int64?
    package var rate: Double?
    /// Present bytes, as text.
    package var ranges: String?
    /// The identifier of the background session that a task belongs to.
    package var session: String?
    package var error: String?
    /// The task rests until the cache has space for the whole file; `error` says why.
    package var waitsForSpace: Bool?

    package init(sequence: Int64, time: Int64, kind: Kind) {
        self.sequence = sequence
        self.time = time
        self.kind = kind
    }
}

extension Event {
    /// Whether this is the last that is heard of a task.
    package var endsTask: Bool {
        switch kind {
        case .completed, .failed: return true
        // Of a download, and of an upload, that was cancelled.
        case .state: return state == .remote || state == .cancelled
        case .progress, .library, .idle: return false
        }
    }
}

/// The JSON payloads.
package enum WireJSON {
    package static func encode<Value: Encodable>(_ value: Value) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        // The messages are plain values: numbers are finite, keys are text; encoding them cannot fail.
        guard let data = try? encoder.encode(value) else { return Array("null".utf8) }
        return [UInt8](data)
    }

    package static func decode<Value: Decodable>(_ type: Value.Type, _ payload: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(payload))
    }
}
