// Renewal of an address that is no longer valid.
extension DownloadMachine {
    /// Requests a newer address from the owner after a refusal, since the feed may have changed. Does so at most once
    /// within `Limits.failureMemory`.
    ///
    /// - Returns: `nil` if a newer address would not help, or must not be requested.
    mutating func renewAddress(after error: TransferError, now: Int64) -> [Action]? {
        guard limits.renewsAddress, error.code == .refused || error.code == .missing else { return nil }
        if let last = address.lastRenewal, now - last < limits.failureMemory { return nil }
        address.lastRenewal = now
        phase = .awaitingAddress(since: now, error)
        return dropAll() + [.renewAddress(error)]
    }

    /// Handles the owner's answer. Responses from a new address are joined only after their bytes were compared with
    /// the present ones.
    ///
    /// - Parameter isNew: Whether there is a new address. If not, the earlier failure is final.
    package mutating func addressRenewed(_ isNew: Bool, now: Int64) -> [Action] {
        guard case .awaitingAddress(_, let error) = phase else { return isNew ? addressChanged(now: now) : [] }
        guard isNew else { return fail(error, now: now) }
        phase = .fetching()
        trustNone()
        faults.forgetEnd()
        return plan(now)
    }

    /// Handles a changed address. Running connections continue; requests that failed with the previous address may be
    /// retried.
    package mutating func addressChanged(now: Int64) -> [Action] {
        if case .awaitingAddress = phase { return addressRenewed(true, now: now) }
        if failure != nil {
            forgetFailure()
            trustNone()
        }
        return plan(now)
    }

    /// Invalidates the facts tied to the previous address: the next response comes from another one.
    private mutating func trustNone() {
        address.forgetDirect()
        rendition.isForeign = !present.isEmpty
    }
}
