internal import Platform

/// The schedule of a download's checkpoints (records of the received bytes) and of the syncs of its file. A checkpoint
/// is due one second after the first new byte, or after 8 MiB of new bytes. After a failed one, the next is due in five
/// seconds.
struct CheckpointPace {
    /// The ranges synced to the disk.
    var synced = ByteRanges()
    /// The number of failed syncs of the file that the download has already handled, by discarding the bytes not in
    /// `synced`.
    var knownFailures = 0
    /// Whether a checkpoint is being written.
    private(set) var isBusy = false
    /// The time of the next checkpoint; `nil` if every byte is in a written checkpoint, or in the one being written.
    private(set) var due: Instant?
    /// The number of bytes received since the last checkpoint was started.
    private var behind: Int64 = 0
    /// The parts of `behind` and `unsynced` that the checkpoint being written covers. They are added again if it fails.
    private var inFlight: (behind: Int64, unsynced: Int64) = (0, 0)
    /// The number of bytes received since the last sync was started.
    private var unsynced: Int64 = 0
    private var lastSync: Instant?
    /// Whether `due` is the time of the retry after a failed checkpoint, which new bytes do not advance.
    private var isDelayed = false

    private static let interval = Duration.seconds(1)
    /// The delay after a failed checkpoint, since each attempt costs a write.
    private static let retryInterval = Duration.seconds(5)
    /// The number of bytes after which a checkpoint is due at once.
    static let maxBehind: Int64 = 8 << 20
    /// The interval of syncs. Bytes in the page cache survive a kill of the daemon, but only a sync protects them from
    /// a power failure. With a sync every 64 MiB or ten seconds, the cost is too small to measure.
    private static let syncInterval = Duration.seconds(10)
    private static let syncBytes: Int64 = 64 << 20

    var isBehind: Bool { behind > 0 }

    /// Records new bytes.
    mutating func add(_ count: Int64, at now: Instant) {
        if behind == 0 { due = now + Self.interval }
        behind += count
        unsynced += count
        if behind >= Self.maxBehind, !isDelayed { due = due.map { min($0, now) } }
        if lastSync == nil { lastSync = now }
    }

    /// Starts a checkpoint.
    ///
    /// - Parameter all: Whether to sync the file even if no sync is due.
    /// - Returns: Whether the file must be synced before the checkpoint is written.
    mutating func start(at now: Instant, all: Bool) -> Bool {
        isBusy = true
        isDelayed = false
        inFlight = (behind, 0)
        behind = 0
        due = nil
        let synchronizes =
            all || unsynced >= Self.syncBytes || lastSync.map { now - $0 >= Self.syncInterval } ?? false
        if synchronizes {
            inFlight.unsynced = unsynced
            unsynced = 0
            lastSync = now
        }
        return synchronizes
    }

    /// Records that the checkpoint could not be written.
    mutating func failed(at now: Instant) {
        isBusy = false
        behind += max(inFlight.behind, 1)
        unsynced += inFlight.unsynced
        due = now + Self.retryInterval
        isDelayed = true
    }

    /// Makes a delayed checkpoint due at once, since the cause of the last failure has disappeared.
    mutating func retrySoon(at now: Instant) {
        guard isBehind else { return }
        due = due.map { min($0, now) }
        isDelayed = false
    }

    /// Records that the checkpoint was written.
    ///
    /// - Parameter synced: The ranges that were synced before it; `nil` if none were.
    mutating func finish(synced: ByteRanges?) {
        isBusy = false
        if let synced { self.synced = synced }
    }
}
