// What becomes of a download whose address is no longer good.
extension DownloadMachine {
    /// The owner's address was refused. There may be a newer one, in a feed that has changed: it is asked for, and waited
    /// for, at most once in the time that a failure is remembered.
    ///
    /// - Returns: `nil` where a newer address would not help, or is not to be asked for.
    mutating func renewAddress(after error: TransferError, now: Int64) -> [Action]? {
        guard limits.renewsAddress, error.code == .refused || error.code == .missing else { return nil }
        if let last = address.lastRenewal, now - last < limits.failureMemory { return nil }
        address.lastRenewal = now
        phase = .awaitingAddress(since: now, error)
        return dropAll() + [.renewAddress(error)]
    }

    /// The owner has looked for a newer address. A rendition from there has to prove by its bytes that it is the same.
    ///
    /// - Parameter isNew: there is one. If not, the failure of the one before stands.
    package mutating func addressRenewed(_ isNew: Bool, now: Int64) -> [Action] {
        guard case .awaitingAddress(_, let error) = phase else { return isNew ? addressChanged(now: now) : [] }
        guard isNew else { return fail(error, now: now) }
        phase = .fetching()
        trustNone()
        faults.forgetEnd()
        return plan(now)
    }

    /// The owner has another address now. Connections go on where they are; what failed with the one before may be
    /// tried again.
    package mutating func addressChanged(now: Int64) -> [Action] {
        if case .awaitingAddress = phase { return addressRenewed(true, now: now) }
        if failure != nil {
            forgetFailure()
            trustNone()
        }
        return plan(now)
    }

    /// The next answer comes from another address.
    private mutating func trustNone() {
        address.knowsDirect = false
        rendition.isForeign = !present.isEmpty
    }
}
