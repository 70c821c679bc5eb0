// What readers and people ask for.
extension DownloadMachine {
    /// A file was opened. Answered at once when a server has confirmed the size, else when the head of one answer is
    /// here. Each successful open is to be followed by one `close`.
    package mutating func open(_ id: WaitID, now: Int64) -> [Action] {
        if isCached || isFinishing || pin != nil && failure == nil {
            handles += 1
            return [.answerOpen(id, nil)]
        }
        if let failure = rememberedFailure(now) ?? storageFull { return [.answerOpen(id, failure)] }
        opens.append((id, now))
        hurry(now)
        return plan(now)
    }

    /// A reader wants `range` of `generation`. Answered when every byte of it below the end of the file is present.
    package mutating func read(_ id: WaitID, _ range: Range<Int64>, generation: Int, now: Int64) -> [Action] {
        guard generation == self.generation else { return [.answerRead(id, Self.changed)] }
        if isSatisfied(range) { return [.answerRead(id, nil)] + fill(now: now) }
        if let failure = rememberedFailure(now) ?? storageFull { return [.answerRead(id, failure)] }
        isFilling = true
        let raised = raise(to: .asked)
        reads.append(Wait(id: id, range: range, since: now))
        hurry(now)
        return raised + plan(now)
    }

    /// Whether a read is still to be answered.
    package func isWaiting(_ id: WaitID) -> Bool { reads.contains { $0.id == id } }

    static let changed = TransferError(.changed, "the file changed on the server")

    /// The reader has gone: its answer is wanted no more.
    package mutating func cancelWait(_ id: WaitID, now: Int64) -> [Action] {
        reads.removeAll { $0.id == id }
        opens.removeAll { $0.id == id }
        if handles == 0, !isFilling, opens.isEmpty, reads.isEmpty { return dropUnwanted() }
        return plan(now)
    }

    /// A file was closed. A response that is held for a first read goes with the last one.
    package mutating func close(now: Int64) -> [Action] {
        handles = max(0, handles - 1)
        guard handles == 0, !isFilling else { return [] }
        return dropUnwanted()
    }

    /// The whole file is wanted: by a person or a program that has read of it, or by nobody in particular. What somebody
    /// wants more counts for more; a failure is remembered, and a suspension stays.
    package mutating func fill(_ priority: TransferPriority = .asked, now: Int64) -> [Action] {
        guard !isCached else { return [] }
        let changed = isFilling ? raise(to: priority) : setPriority(priority)
        if isFilling, changed.isEmpty { return [] }
        isFilling = true
        return changed + plan(now)
    }

    /// A person asks for the file: again after a failure, without waiting for the memory of it to fade.
    package mutating func retry(now: Int64) -> [Action] {
        guard !isCached else { return [] }
        forgetFailure()
        isFilling = true
        isSuspended = false
        return raise(to: .asked) + plan(now)
    }

    private mutating func raise(to priority: TransferPriority) -> [Action] { setPriority(max(self.priority, priority)) }

    private mutating func setPriority(_ priority: TransferPriority) -> [Action] {
        guard priority != self.priority else { return [] }
        self.priority = priority
        return [.prioritized(priority)]
    }

    /// Automatic tasks may run now, or have to rest. A reader is served all the same, and makes a task one that was
    /// asked for.
    package mutating func setAllowsAutomatic(_ allowed: Bool, now: Int64) -> [Action] {
        guard allowed != allowsAutomatic else { return [] }
        let fillsNow = fillsInBackground
        allowsAutomatic = allowed
        if isCached || isFinishing || fillsInBackground == fillsNow { return [] }
        return (allowed ? [] : dropUnwanted()) + plan(now)
    }

    package mutating func setSuspended(_ suspended: Bool, now: Int64) -> [Action] {
        guard suspended != isSuspended, !isCached else { return [] }
        isSuspended = suspended
        if suspended {
            isFilling = true
            return dropUnwanted() + plan(now)
        }
        forgetFailure()
        return plan(now)
    }

    /// Ends the task. What is present stays, and a reader that is blocked still gets its bytes. A task that has all its
    /// bytes has nothing to be spared any more: it completes.
    package mutating func cancel(now: Int64) -> [Action] {
        if isFinishing { return [] }
        isFilling = false
        isSuspended = false
        forgetFailure()
        return dropUnwanted() + plan(now)
    }

    /// The download goes away: answers everyone, ends every connection.
    package mutating func shutDown(_ error: TransferError) -> [Action] {
        let actions = dropAll()
        return actions + answerAll(error)
    }

    func isSatisfied(_ range: Range<Int64>) -> Bool {
        if isCached || isFinishing { return true }
        guard let total = pin?.total else { return present.covers(range) }
        return range.lowerBound >= total || present.covers(range.lowerBound..<min(range.upperBound, total))
    }

    private mutating func rememberedFailure(_ now: Int64) -> TransferError? {
        guard let failure else { return nil }
        if let failureForgotten, now < failureForgotten { return failure }
        forgetFailure()
        return nil
    }

    mutating func forgetFailure() {
        failure = nil
        failureForgotten = nil
        attempts = 0
        firstFailure = nil
        lastError = nil
        recentError = nil
        earlyEnd = nil
        retryAt = nil
        retryIsServers = false
        lies = 0
        renewals = 0
    }

    /// A new reader does not wait out a long back-off; one try a second is allowed for it, unless the server named the
    /// time itself.
    private mutating func hurry(_ now: Int64) {
        guard let due = retryAt, !retryIsServers else { return }
        retryAt = min(due, max(now, lastTry == .min ? now : lastTry + 1_000))
    }

    /// Ends the connections that serve no blocked reader.
    mutating func dropUnwanted() -> [Action] {
        if !isFilling, !hasBlockedReaders { awaitedAddress = nil }
        let serving = servingConnections()
        var actions: [Action] = []
        for id in connections.keys.sorted() where !serving.contains(id) {
            connections[id] = nil
            actions.append(.abort(id))
        }
        return actions
    }

    /// Ends every connection.
    mutating func dropAll() -> [Action] {
        let actions = connections.keys.sorted().map { Action.abort($0) }
        connections = [:]
        return actions
    }

    mutating func answerAll(_ error: TransferError) -> [Action] {
        let actions =
            opens.map { Action.answerOpen($0.id, error) } + reads.map { Action.answerRead($0.id, error) }
        opens = []
        reads = []
        return actions
    }
}
