internal import PodcastProtocol
internal import Transfers

/// The times at which episodes were last opened or closed in this mount, in seconds since 1970. Reported as `st_atime`.
struct AccessTimes: Sendable {
    /// The number of entries from which on a table is pruned.
    private static let capacity = 4_096
    /// The maximum time in seconds from an open until the library has recorded it.
    private static let libraryDelay: Int64 = 60

    /// The number of changes of access times so far.
    private(set) var changes: UInt64 = 0
    private var times: [EpisodeID: Int64] = [:]
    /// For each episode, the time of the last open that was reported to the daemon.
    private var reported: [EpisodeID: Int64] = [:]
    /// The time of the last pruning, in seconds since 1970. A second one in the same second would remove nothing, and
    /// a program that opens thousands of episodes in a minute would cause one with every open.
    private var pruned: Int64 = 0

    subscript(episode: EpisodeID) -> Int64? { times[episode] }

    /// Sets the access time of an episode.
    ///
    /// - Returns: Whether the time has changed.
    mutating func set(_ episode: EpisodeID, to now: Int64) -> Bool {
        guard times[episode] != now else { return false }
        prune(at: now)
        times[episode] = now
        changes += 1
        return true
    }

    /// Records an open, and returns whether to report it to the daemon. At most one open per second and episode is
    /// reported, because the library records whole seconds.
    mutating func report(openOf episode: EpisodeID, at now: Int64) -> Bool {
        prune(at: now)
        return reported.updateValue(now, forKey: episode) != now
    }

    /// Removes the times older than `libraryDelay`, and the reported opens of earlier seconds.
    private mutating func prune(at now: Int64) {
        guard max(times.count, reported.count) >= Self.capacity, pruned != now else { return }
        pruned = now
        times = times.filter { $0.value + Self.libraryDelay > now }
        reported = reported.filter { $0.value == now }
    }
}
