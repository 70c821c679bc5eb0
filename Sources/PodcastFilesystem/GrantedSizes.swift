internal import PodcastLibrary
internal import Synchronization

/// The sizes with which the daemon has answered opens, and which it writes into the library in a moment: until then the
/// library's rows have the guess of a feed.
final class GrantedSizes: Sendable {
    private struct Grant {
        /// Bytes.
        var size: Int64
        /// In seconds.
        var moment: Int64
        /// What the library's row had in place of it.
        var guess: EpisodeSize
        /// The row with it, as the kernel was told.
        var told: EpisodeEntry?
        /// A row was told that does not fit.
        var isPassedOver = false
        /// The library has it.
        var isSettled = false

        /// Whether a row without a confirmed size is one that will have this.
        ///
        /// Another file of the feed has another guess as a rule, or is of a later second; and nothing is known of its size.
        func fits(_ row: EpisodeSize, changed: Int64) -> Bool { changed <= moment + 1 && guess == row }
    }

    private let grants = Mutex<[NodeNumber: Grant]>([:])

    /// Grants that the library has caught up with leave when there are many, after as many seconds as no reading of a row
    /// takes.
    private static let (many, kept) = (1_000, 60 as Int64)

    /// - Parameter guess: what the row had without it.
    func add(_ size: Int64, of number: NodeNumber, insteadOf guess: EpisodeSize, now: Int64) {
        grants.withLock { grants in
            if grants.count >= Self.many {
                grants = grants.filter { !$0.value.isSettled || $0.value.moment + Self.kept > now }
            }
            grants[number] = Grant(size: size, moment: now, guess: guess)
        }
    }

    /// The library's row as the kernel is to be told of it.
    func ahead(_ entry: EpisodeEntry) -> EpisodeEntry {
        // The library has it; or the feed has named another file since, of which nothing is known.
        if entry.sizeSource == .server { return entry }
        let number = NodeNumber(kind: .episode, generation: entry.generation, row: entry.id)
        return grants.withLock { grants in
            let guess = EpisodeSize(bytes: entry.size, source: entry.sizeSource)
            guard let grant = grants[number] else { return entry }
            guard grant.fits(guess, changed: entry.changed) else {
                grants[number]?.isPassedOver = true
                return entry
            }
            var entry = entry
            entry.size = grant.size
            entry.sizeSource = .server
            entry.changed = max(entry.changed, grant.moment)
            grants[number]?.told = entry
            return entry
        }
    }

    /// The same of all that the library knows of an episode, which the kernel does not keep.
    func ahead(_ episode: Episode) -> Episode {
        if episode.confirmedSize != nil { return episode }
        let number = NodeNumber(kind: .episode, generation: episode.generation, row: episode.id)
        guard let grant = grants.withLock({ $0[number] }), grant.fits(episode.size, changed: episode.changed) else {
            return episode
        }
        var episode = episode
        episode.confirmedSize = grant.size
        return episode
    }

    /// Whether a size of this node was granted, and the library has not been seen to have it.
    func isPending(_ number: NodeNumber) -> Bool { grants.withLock { $0[number]?.isSettled == false } }

    /// The library has the size of an episode. The grant stays for those who have read the row before.
    ///
    /// - Returns: whether the kernel has been told all of the row ahead, or is just about to be. To tell it once more
    ///   would do harm: it may be at the answer to the question that it asks after an open, and would throw it away. The
    ///   time of the change may be a second off until the next one.
    func settle(_ entry: EpisodeEntry) -> Bool {
        let number = NodeNumber(kind: .episode, generation: entry.generation, row: entry.id)
        return grants.withLock { grants in
            guard let grant = grants[number], !grant.isSettled else { return false }
            grants[number]?.isSettled = true
            if grant.isPassedOver { return false }
            guard var told = grant.told else { return entry.size == grant.size }
            told.changed = entry.changed
            told.lastOpened = entry.lastOpened
            return told == entry
        }
    }
}
