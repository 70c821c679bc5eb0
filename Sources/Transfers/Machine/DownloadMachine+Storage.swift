package import Platform

// Handling of missing space and storage failures.
extension DownloadMachine {
    /// Handles a failed write: all connections end, and present bytes stay. If the write failed for lack of space, the
    /// task waits for space; otherwise it fails.
    package mutating func storageFailed(_ error: TransferError, now: Instant) -> [Action] {
        guard error.code == .diskFull else { return fail(error, now: now) }
        return storageIsFull(error, now: now) + [.storageFull(error)]
    }

    /// Handles a cache file that could not be created.
    package mutating func fileMissing(_ error: TransferError, now: Instant) -> [Action] {
        rendition.hasFile = false
        leaveFinishing()
        return storageFailed(error, now: now)
    }

    /// Handles a failed sync (fdatasync(2)), after which the disk may have lost written bytes. Only those in `ranges`
    /// are reliable, and the rest is fetched again.
    package mutating func lostStored(keeping ranges: ByteRanges, _ error: TransferError, now: Instant) -> [Action] {
        leaveFinishing()
        rendition.present = present.intersection(ranges)
        // The connections would continue after bytes that are now missing.
        return dropAll() + storageFailed(error, now: now)
    }

    /// Handles a full disk, which this or another download has found, or which the engine's owner (the daemon) has
    /// reported. Connections end, and waiting readers fail. The task remains, and present bytes can be read.
    package mutating func storageIsFull(_ error: TransferError, now: Instant) -> [Action] {
        guard !isCached else { return [] }
        storageFull = error
        // A file being finished (synced and hashed) has all its bytes, and no reader waits for it.
        if isFinishing { return [] }
        if case .fetching = phase { phase = .fetching() }
        return dropAll() + readers.answerAll(error)
    }

    /// Sets or clears the reason why the whole file has no space yet. While a reason is set, the background download of
    /// the whole file (filling) pauses; present bytes stay, and readers are served.
    package mutating func setAwaitsSpace(_ reason: TransferError?, now: Instant) -> [Action] {
        changeFilling(now) { $0.awaitsSpace = reason }
    }

    /// Handles a file that can never fit into the cache. The task fails, unless a program has the file open. The
    /// failure does not affect later readers: the next one starts a new attempt at once.
    package mutating func exceedsSpace(_ error: TransferError, now: Instant) -> [Action] {
        guard isFetching, isFilling, readers.isEmpty else { return [] }
        let actions = fail(error, now: now)
        phase = .failed(error, until: nil)
        return actions
    }

    /// Resumes after space has become available.
    package mutating func storageAvailable(now: Instant) -> [Action] {
        guard storageFull != nil else { return [] }
        storageFull = nil
        return plan(now)
    }
}
