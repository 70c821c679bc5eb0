// What becomes of a download whose bytes find no place.
extension DownloadMachine {
    /// Bytes could not be stored: everything stops, what is there stays. Where no space is the reason the task rests
    /// until there is some; any other reason is a failure.
    package mutating func storageFailed(_ error: TransferError, now: Int64) -> [Action] {
        guard error.code == .diskFull else { return fail(error, now: now) }
        return storageIsFull(error, now: now) + [.storageFull(error)]
    }

    /// The file of this generation could not be made.
    package mutating func fileMissing(_ error: TransferError, now: Int64) -> [Action] {
        hasFile = false
        isFinishing = false
        return storageFailed(error, now: now)
    }

    /// The disk did not keep what it had been given: only `ranges` can be relied on, the rest has to come again.
    package mutating func lostStored(keeping ranges: ByteRanges, _ error: TransferError, now: Int64) -> [Action] {
        isFinishing = false
        present = present.intersection(ranges)
        // They would go on behind bytes that are missing again.
        let actions = dropAll()
        return actions + storageFailed(error, now: now)
    }

    /// There is no space for more bytes, as this or another download has found, or the owner says. Connections end, and
    /// who waits for bytes is told; the task is not forgotten, and what is present can be read.
    package mutating func storageIsFull(_ error: TransferError, now: Int64) -> [Action] {
        guard !isCached else { return [] }
        storageFull = error
        // A file that is being finished has all its bytes, and nobody waits for it.
        if isFinishing { return [] }
        retryAt = nil
        retryIsServers = false
        let actions = dropAll()
        return actions + answerAll(error)
    }

    /// There is space again.
    package mutating func storageAvailable(now: Int64) -> [Action] {
        guard storageFull != nil else { return [] }
        storageFull = nil
        return plan(now)
    }
}
