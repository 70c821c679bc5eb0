internal import TransferCore

/// When a download's checkpoint is written: at most a second or 8 MiB behind, and when its bytes are synced to the disk.
struct CheckpointPace {
    /// The bytes that a sync has put on the disk.
    var synced = ByteRanges()
    /// A checkpoint is being written.
    private(set) var isBusy = false
    /// When the next one is due, in milliseconds.
    private(set) var due: Int64 = .max
    private var behind: Int64 = 0
    /// What the checkpoint that is being written makes good; counted again when it fails.
    private var inFlight: (behind: Int64, unsynced: Int64) = (0, 0)
    private var unsynced: Int64 = 0
    private var lastSync: Int64 = .min

    private static let interval: Int64 = 1_000
    /// After one that could not be written, which costs a try each time.
    private static let retryInterval: Int64 = 5_000
    static let bytes: Int64 = 8 << 20
    /// Bytes survive a kill without a sync, in the page cache; a sync guards against the loss of power. Every 64 MiB or
    /// ten seconds keeps its cost below what can be measured.
    private static let syncInterval: Int64 = 10_000
    private static let syncBytes: Int64 = 64 << 20

    var isBehind: Bool { behind > 0 }

    mutating func add(_ count: Int64, at now: Int64) {
        if behind == 0 { due = now + Self.interval }
        behind += count
        unsynced += count
        if behind >= Self.bytes { due = min(due, now) }
        if lastSync == .min { lastSync = now }
    }

    /// Begins to write one.
    ///
    /// - Returns: whether the file is to be synced first.
    mutating func begin(at now: Int64, all: Bool) -> Bool {
        isBusy = true
        inFlight = (behind, 0)
        behind = 0
        due = .max
        let synchronizes =
            all || unsynced >= Self.syncBytes || lastSync != .min && now - lastSync >= Self.syncInterval
        if synchronizes {
            inFlight.unsynced = unsynced
            unsynced = 0
            lastSync = now
        }
        return synchronizes
    }

    /// The one that was begun could not be written.
    mutating func failed(at now: Int64) {
        isBusy = false
        behind += max(inFlight.behind, 1)
        unsynced += inFlight.unsynced
        due = now + Self.retryInterval
    }

    /// What hindered the last one has passed.
    mutating func hurry(at now: Int64) {
        if isBehind { due = min(due, now) }
    }

    mutating func end(synced: ByteRanges?) {
        isBusy = false
        if let synced { self.synced = synced }
    }
}
