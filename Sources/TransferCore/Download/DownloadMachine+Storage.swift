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
        rendition.hasFile = false
        leaveFinishing()
        return storageFailed(error, now: now)
    }

    /// The disk did not keep what it had been given: only `ranges` can be relied on, the rest has to come again.
    package mutating func lostStored(keeping ranges: ByteRanges, _ error: TransferError, now: Int64) -> [Action] {
        leaveFinishing()
        rendition.present = present.intersection(ranges)
        // They would go on behind bytes that are missing again.
        return dropAll() + storageFailed(error, now: now)
    }

    /// There is no space for more bytes, as this or another download has found, or the owner says. Connections end, and
    /// who waits for bytes is told; the task is not forgotten, and what is present can be read.
    package mutating func storageIsFull(_ error: TransferError, now: Int64) -> [Action] {
        guard !isCached else { return [] }
        storageFull = error
        // A file that is being finished has all its bytes, and nobody waits for it.
        if isFinishing { return [] }
        if case .fetching = phase { phase = .fetching() }
        return dropAll() + readers.answerAll(error)
    }

    /// The whole file has no space yet, for the reason given, or has it now. Background filling rests; what is present
    /// stays, and a reader gets what it asks for.
    package mutating func setAwaitsSpace(_ reason: TransferError?, now: Int64) -> [Action] {
        changeFilling(now) { $0.awaitsSpace = reason }
    }

    /// The whole file can never have space: the task fails, unless somebody reads. The failure is not remembered, so that
    /// a reader who comes later is served.
    package mutating func exceedsSpace(_ error: TransferError, now: Int64) -> [Action] {
        guard isFetching, isFilling, readers.isEmpty else { return [] }
        let actions = fail(error, now: now)
        phase = .failed(error, until: nil)
        return actions
    }

    /// There is space again.
    package mutating func storageAvailable(now: Int64) -> [Action] {
        guard storageFull != nil else { return [] }
        storageFull = nil
        return plan(now)
    }
}
