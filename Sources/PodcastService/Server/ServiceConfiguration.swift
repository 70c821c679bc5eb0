package import Platform
package import PodcastFeed
package import PodcastLibrary
package import PodcastProtocol
package import Transfers

/// Configuration of the daemon, from the command line and the configuration file.
package struct ServiceConfiguration: Sendable {
    package var paths: InstallationPaths
    package var version: String
    package var transfers: TransferConfiguration
    package var nameTemplate = NameTemplate.standard
    /// Time without clients and tasks after which the daemon exits.
    package var idleExit = Duration.seconds(300)
    /// Shell command run when an episode is complete; see podfs.conf(5).
    package var onDownload: String?
    /// Shell command run for each new episode of a refresh.
    package var onNewEpisode: String?
    /// Shell command run when a player's report or a person marks an episode as played.
    package var onPlayed: String?
    /// Shell command run when a feed may never return.
    package var onFeedTrouble: String?
    /// Shell command run when the last task has finished.
    package var onIdle: String?
    /// Limits of the cache: its size, and the space that it leaves free.
    package var storage = StorageLimits()
    /// Reads the network and power conditions on which discretionary (automatic) work depends. May block.
    package var conditions: @Sendable () -> LinkConditions = { LinkConditions() }
    /// The age at which the known conditions are read again while discretionary work depends on them.
    package var conditionLifetime = Duration.seconds(60)
    /// Whether discretionary work may run on a metered link.
    package var allowsMetered = false
    /// Whether discretionary work may run on battery.
    package var allowsBattery = false
    /// Rules for the times of refreshes.
    package var schedule = RefreshSchedule()
    /// Rules for the times of exchanges with the sync server.
    package var sync = SyncSchedule()
    /// Limits of the feed parser.
    package var feedLimits = FeedLimits.standard
    /// Maximum number of concurrent feed fetches.
    package var refreshConnections = 64
    /// The episodes to retain; a show's own setting takes precedence.
    package var keep = Keep.all
    /// The number of episodes per show to download automatically; a show's own setting takes precedence.
    package var autoDownload = 0
    package var autoDownloadRules = AutoDownloadRules()
    /// The absolute path of the archive folder; `nil` for no archive.
    package var archiveFolder: String?
    /// Whether the episodes of all shows are archived; a show's own setting takes precedence.
    package var archivesAll = false
    /// The time without a sign of life after which the archive's file system counts as dead.
    package var archiveDeadline = Duration.seconds(15)
    /// Path of the netrc file; `nil` for `~/.netrc`.
    package var netrcFile: String?
    /// Catalogues to search.
    package var catalogues: [Catalogue] = [.iTunes()]
    /// Timeout of a search, and of fetching a found show's feed. A program that lists a search folder, or the folder of
    /// a found show, is blocked meanwhile.
    package var searchTimeout = Duration.seconds(10)
    /// Time for which the file of an unsubscribed show's episode stays cached after its last close. Many programs open
    /// a file, read its beginning, close it, and open it again.
    package var ephemeralLinger = Duration.seconds(5)
    /// The wall clock. It may be set forward or back at any time.
    package var wallClock: @Sendable () -> WallTime = { .now }
    /// Called after work that may have used much memory: a command, a refresh, a sync.
    package var onWork: @Sendable () -> Void = {}

    package init(paths: InstallationPaths, version: String, transfers: TransferConfiguration) {
        self.paths = paths
        self.version = version
        self.transfers = transfers
    }
}
