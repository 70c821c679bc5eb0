internal import PodcastLibrary

/// The episode sizes that the daemon confirmed in its responses to opens; each is called a grant.
///
/// The daemon records a granted size in the library shortly after its response. Until then, the library's row has only
/// a guess from the feed, which this type replaces by the granted size.
struct GrantedSizes: Sendable {
    private struct Grant {
        /// The size in bytes.
        var size: Int64
        /// The time of the grant in seconds of Unix time.
        var moment: Int64
        /// The size in the library's row until the grant is recorded.
        var guess: EpisodeSize
        /// Whether the library has recorded the size.
        var isRecorded = false

        /// Whether the grant applies to a row without a confirmed size.
        ///
        /// It does not apply if the feed has named another file since. The signs of that are another guess in the row,
        /// or a change of the row more than a second after the grant.
        func applies(to row: EpisodeSize, changed: Int64) -> Bool { changed <= moment + 1 && guess == row }
    }

    /// When there are `pruneThreshold` grants, those that are recorded and at least `retention` seconds old are pruned.
    /// No read of the old row can still be in flight after that time.
    private static let pruneThreshold = 1_000
    private static let retention: Int64 = 60

    private var grants: [NodeNumber: Grant] = [:]

    /// Adds the size of a grant.
    ///
    /// - Parameter guess: The size in the library's row, which the kernel saw before.
    mutating func add(_ size: Int64, of number: NodeNumber, replacing guess: EpisodeSize, now: Int64) {
        if grants.count >= Self.pruneThreshold {
            grants = grants.filter { !$0.value.isRecorded || $0.value.moment + Self.retention > now }
        }
        grants[number] = Grant(size: size, moment: now, guess: guess)
    }

    /// Returns the row with any pending grant applied, as the kernel should see it.
    func applied(to entry: EpisodeEntry) -> EpisodeEntry {
        // A confirmed size (from the server) needs no grant: it is the granted size, or the size of another file that
        // the feed has named since.
        guard entry.sizeSource != .server, let grant = grants[NodeNumber(entry)],
            grant.applies(to: EpisodeSize(bytes: entry.size, source: entry.sizeSource), changed: entry.changed)
        else { return entry }
        var entry = entry
        entry.size = grant.size
        entry.sizeSource = .server
        entry.changed = max(entry.changed, grant.moment)
        return entry
    }

    /// Returns the episode with any pending grant applied, for extended attributes, which the kernel does not cache.
    func applied(to episode: Episode) -> Episode {
        let number = NodeNumber(kind: .episode, generation: episode.generation, row: episode.id)
        guard episode.confirmedSize == nil, let grant = grants[number],
            grant.applies(to: episode.size, changed: episode.changed)
        else { return episode }
        var episode = episode
        episode.confirmedSize = grant.size
        return episode
    }

    /// Whether a node has a grant that is not recorded in the library yet.
    func isPending(_ number: NodeNumber) -> Bool { grants[number]?.isRecorded == false }

    /// Marks a grant as recorded if the library's row has a confirmed size. The grant is kept until it is pruned, since
    /// other threads may have read the row before the change.
    mutating func markRecorded(_ entry: EpisodeEntry) {
        if entry.sizeSource == .server { grants[NodeNumber(entry)]?.isRecorded = true }
    }
}
