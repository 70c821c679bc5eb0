package import Transfers

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

/// The state of the synchronization; empty without an account.
package struct SyncStatus: Sendable, Codable, Equatable {
    /// The state of the exchange with the server.
    package enum State: String, Sendable, Codable {
        /// There is no account.
        case none
        case idle, running, failed
        /// Synchronization has stopped, because the server rejects the password.
        case stopped
    }

    package var state = State.none
    package var server: String?
    package var kind: String?
    package var user: String?
    package var device: String?
    /// The error of the last synchronization, one line.
    package var error: String?
    /// The times of the last and the next synchronization, in seconds since 1970 UTC.
    package var lastSync: Int64?
    package var nextSync: Int64?
    /// The numbers of unsent changes of subscriptions and of unsent episode actions.
    package var waitingSubscriptions = 0
    package var waitingActions = 0
    /// The number of stored playback states that wait for their episodes: these are not in the library yet.
    package var parkedActions = 0

    package init() {}
}
