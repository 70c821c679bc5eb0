internal import TransferCore

/// The times at which episodes were last opened or closed in this mount, in seconds since 1970. Reported as `st_atime`.
struct AccessTimes: Sendable {
    /// The number of entries from which on a table is pruned. `set` then removes times older than `libraryDelay`, and
    /// `report` removes opens of earlier seconds.
    private static let capacity = 4_096
    /// The maximum time in seconds from an open until the library has recorded it.
    private static let libraryDelay: Int64 = 60

    /// The number of changes of access times so far.
    private(set) var changes: UInt64 = 0
    private var times: [EpisodeID: Int64] = [:]
    /// For each episode, the time of the last open that was reported to the daemon.
    private var reported: [EpisodeID: Int64] = [:]

    subscript(episode: EpisodeID) -> Int64? { times[episode] }

    /// Sets the access time of an episode.
    ///
    /// - Returns: Whether the time has changed.
    mutating func set(_ episode: EpisodeID, to now: Int64) -> Bool {
        guard times[episode] != now else { return false }
        if times.count >= Self.capacity { times = times.filter { $0.value + Self.libraryDelay > now } }
        times[episode] = now
        changes += 1
        return true
    }

    /// Records an open, and returns whether to report it to the daemon. At most one open per second and episode is
    /// reported, because the library records whole seconds.
    mutating func report(openOf episode: EpisodeID, at now: Int64) -> Bool {
        if reported.count >= Self.capacity { reported = reported.filter { $0.value == now } }
        return reported.updateValue(now, forKey: episode) != now
    }
}
