package import DaemonCore
internal import Glibc
package import PodcastFeed
package import PodcastLibrary
package import PodcastProtocol
package import TransferEngine

/// What the daemon needs to know, from the command line and the configuration file.
package struct ServiceConfiguration: Sendable {
    package var places: Places
    package var version: String
    package var transfers: TransferConfiguration
    package var nameTemplate: NameTemplate
    /// How long it stays without a client and a task, in seconds.
    package var idleExit: Int64
    /// Run with a shell after an episode is complete; see podfs.conf(5).
    package var onDownload: String?
    package var onNewEpisode: String?
    /// Run when the last task has ended.
    package var onIdle: String?
    /// What the cache may take, and what it leaves free.
    package var storage = StorageLimits()
    /// What downloads wait for that nobody has asked for.
    package var conditions = ConditionSource.constant(.unknown)
    package var allowsMetered = false
    package var allowsBattery = false
    package var schedule = RefreshSchedule()
    package var sync = SyncSchedule()
    /// How much of a feed is read.
    package var feedLimits = FeedLimits.standard
    /// Feeds fetched at the same time.
    package var refreshConnections = 8
    /// Which episodes stay, and how many of the newest are fetched ahead; a show may have its own.
    package var keep = Keep.all
    package var autoDownload = 0
    /// Where names and passwords of hosts stand; `~/.netrc` when nil.
    package var netrcFile: String?
    /// Whom searches ask.
    package var catalogues: [any Catalogue] = [ITunesCatalogue()]
    /// How long a search, or the feed of what it has found, may take, in milliseconds: somebody waits before an open
    /// folder.
    package var searchTimeout: Int64 = 10_000
    /// How long what is cached of an unsubscribed episode outlives its last reader, in seconds: many programs open a file,
    /// look at its beginning, and open it again.
    package var ephemeralLinger: Double = 5
    /// The time of day, in seconds since 1970. It may be set at any moment.
    package var wallClock: @Sendable () -> Int64 = { Int64(time(nil)) }
    /// Called when work ends that may have taken much memory: a command, a refresh, an exchange.
    package var onWork: @Sendable () -> Void = {}

    package init(places: Places, version: String, transfers: TransferConfiguration) {
        self.places = places
        self.version = version
        self.transfers = transfers
        nameTemplate = .standard
        idleExit = 300
    }
}
