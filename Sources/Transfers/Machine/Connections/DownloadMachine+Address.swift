package import Platform

// The sources of a file (addresses that offer the same file), and the renewal of addresses that are no longer valid.
extension DownloadMachine {
    /// The position of the source that is requested now.
    package var source: Int { address.current }

    /// Sets the number of sources, and returns to the first. Call after their addresses were set.
    package mutating func setSources(_ count: Int) {
        address.restart()
        address.count = max(1, count)
    }

    /// Continues with the next source after a permanent failure of the current one. If there is no next source,
    /// requests a newer address from the machine's owner, or fails with the failure of the first source.
    mutating func giveUpSource(_ error: TransferError, now: Instant) -> [Action] {
        guard address.advance(after: error) else {
            let error = address.firstRefusal ?? error
            return renewAddress(after: error, now: now) ?? fail(error, now: now)
        }
        // Validators of different servers are unrelated. Without a validator, bytes of the new source are compared with
        // those received before.
        rendition.pin?.validator = nil
        return nextSource(now)
    }

    /// Requests the current source after a change of source or address.
    mutating func nextSource(_ now: Instant) -> [Action] {
        invalidateAddressFacts()
        faults.clearEarlyEnd()
        return plan(now)
    }

    /// Handles a complete file whose hash differs from the one in the feed: starts a new generation (a new, empty
    /// file), and gives up the current source.
    package mutating func mismatched(_ error: TransferError, now: Instant) -> [Action] {
        guard isFinishing else { return [] }
        leaveFinishing()
        // `beginGeneration` counts the generations, and fails the download after too many, since the server's responses
        // then contradict each other. A wrong hash is no contradiction, so it restarts the count.
        faults.renewals = 0
        return beginGeneration(keeping: nil, pin: nil, now: now) + giveUpSource(error, now: now)
    }

    /// Requests a newer address from the owner after a refusal, since the feed may have changed, and ends all
    /// connections. Does so at most once within `Limits.failureMemory`.
    ///
    /// - Returns: `nil` if a newer address would not help, or must not be requested now.
    mutating func renewAddress(after error: TransferError, now: Instant) -> [Action]? {
        guard limits.renewsAddress, error.code == .refused || error.code == .missing else { return nil }
        if let last = address.lastRenewal, now - last < limits.failureMemory { return nil }
        address.lastRenewal = now
        phase = .awaitingAddress(since: now, error)
        return dropAll() + [.renewAddress(error)]
    }

    /// Handles the owner's answer to `Action.renewAddress`. Bytes of a new address are added to the file only after
    /// a comparison with those received before.
    ///
    /// - Parameter isNew: Whether there is a new address. If not, the earlier failure is final.
    package mutating func addressRenewed(_ isNew: Bool, now: Instant) -> [Action] {
        guard case .awaitingAddress(_, let error) = phase else { return isNew ? addressChanged(now: now) : [] }
        guard isNew else { return fail(error, now: now) }
        phase = .fetching()
        address.restart()
        return nextSource(now)
    }

    /// Handles a changed address. Running connections continue; a failure with the previous address is cleared.
    package mutating func addressChanged(now: Instant) -> [Action] {
        if case .awaitingAddress = phase { return addressRenewed(true, now: now) }
        if failure != nil {
            clearFailure()
            invalidateAddressFacts()
        }
        return plan(now)
    }

    /// Invalidates the facts tied to the previous address, because the next response comes from another address.
    private mutating func invalidateAddressFacts() {
        address.setKnowsDirect(false)
        rendition.isForeign = !present.isEmpty
    }
}
