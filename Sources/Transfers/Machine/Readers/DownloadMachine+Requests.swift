package import Platform

// Requests of readers and people.
extension DownloadMachine {
    /// Opens the file. The open is answered at once if a response has already confirmed the file, a failure is
    /// remembered, or there is no space. Otherwise it is answered when the head of a response has arrived. Each
    /// successful open must be followed by one `close`.
    ///
    /// - Parameter kind: For a probe (a program that reads only headers and tags), the first request asks for the first
    ///   block only, and its bytes are stored without waiting for a read.
    package mutating func open(_ id: WaitID, as kind: ReaderKind = .player, now: Instant) -> [Action] {
        if isCached || isFinishing || pin != nil && failure == nil {
            readers.handles += 1
            return [.answerOpen(id, nil)]
        }
        if let failure = rememberedFailure(now) ?? storageFull { return [.answerOpen(id, failure)] }
        readers.add(id, nil, kind, since: now)
        shortenRetryDelay(now)
        return (kind == .player ? dropQueuedProbes() : []) + plan(now)
    }

    /// Requests `range` of `generation` for a reader. The read is answered when every byte of the range below the end
    /// of the file is present. It fails at once if the generation is an old one, or if bytes are missing while a
    /// failure is remembered or there is no space. A player's read starts a task for the whole file; a probe's read
    /// does not.
    package mutating func read(
        _ id: WaitID, _ range: Range<Int64>, generation: Int, as kind: ReaderKind = .player, now: Instant
    ) -> [Action] {
        guard generation == self.generation else { return [.answerRead(id, Self.changed)] }
        if isSatisfied(range) { return [.answerRead(id, nil)] + (kind == .player ? fill(now: now) : []) }
        if let failure = rememberedFailure(now) ?? storageFull { return [.answerRead(id, failure)] }
        var actions: [Action] = []
        if kind == .player {
            filling.start()
            actions = raise(to: .asked) + dropQueuedProbes()
        }
        readers.add(id, range, kind, since: now)
        shortenRetryDelay(now)
        return actions + plan(now)
    }

    /// Returns whether a read is unanswered.
    package func isWaiting(_ id: WaitID) -> Bool { readers.waits.contains { $0.id == id } }

    static let changed = TransferError(.changed, "the file changed on the server")

    /// Cancels a waiting open or read. If no open handle, no waiting reader and no task that may run remains, the
    /// connections end.
    package mutating func cancelWait(_ id: WaitID, now: Instant) -> [Action] {
        _ = readers.answer(nil) { $0.id == id }
        if readers.isEmpty, !filling.runsInBackground { return dropUnwanted() }
        return plan(now)
    }

    /// Closes one open handle. If it was the last one and there is no task that may run, connections that serve no
    /// blocked reader end, among them one whose response is paused until a first read.
    package mutating func close(now: Instant) -> [Action] {
        readers.handles = max(0, readers.handles - 1)
        guard readers.handles == 0, !filling.runsInBackground else { return [] }
        return dropUnwanted()
    }

    /// Requests the whole file, for a person, a reader, or automatically. A request can raise the priority of an
    /// existing task; it clears neither a remembered failure nor a suspension.
    package mutating func fill(_ priority: TransferPriority = .asked, now: Instant) -> [Action] {
        guard !isCached else { return [] }
        let changed = isFilling ? raise(to: priority) : setPriority(priority)
        if isFilling, changed.isEmpty { return [] }
        filling.start()
        return changed + plan(now)
    }

    /// Requests the whole file on behalf of a person. Clears a remembered failure and a suspension.
    package mutating func retry(now: Instant) -> [Action] {
        guard !isCached else { return [] }
        clearFailure()
        filling.goal = .whole
        return raise(to: .asked) + plan(now)
    }

    private mutating func raise(to priority: TransferPriority) -> [Action] {
        setPriority(max(filling.priority, priority))
    }

    private mutating func setPriority(_ priority: TransferPriority) -> [Action] {
        guard priority != filling.priority else { return [] }
        filling.priority = priority
        return [.prioritized(priority)]
    }

    /// Sets whether automatic tasks may run. Readers are served anyway, and a player's read raises an automatic task to
    /// the priority `asked`, so that it may run too.
    package mutating func setAllowsAutomatic(_ allowed: Bool, now: Instant) -> [Action] {
        guard allowed != filling.allowsAutomatic else { return [] }
        return changeFilling(now) { $0.allowsAutomatic = allowed }
    }

    /// Suspends or resumes the task; without a task, suspending creates a suspended one. Blocked readers are still
    /// served while it is suspended. Resuming clears a remembered failure.
    package mutating func setSuspended(_ suspended: Bool, now: Instant) -> [Action] {
        guard suspended != isSuspended, !isCached else { return [] }
        filling.goal = suspended ? .suspended : .whole
        if suspended { return dropUnwanted() + plan(now) }
        clearFailure()
        return plan(now)
    }

    /// Cancels the task, and clears a remembered failure. Present bytes stay, and a blocked reader still gets its
    /// bytes. If all bytes are present and the file is being finished, nothing is cancelled and the task completes.
    package mutating func cancel(now: Instant) -> [Action] {
        if isFinishing { return [] }
        filling.goal = .nothing
        clearFailure()
        return dropUnwanted() + plan(now)
    }

    /// Ends the download: answers all waits with the error and ends every connection.
    package mutating func shutDown(_ error: TransferError) -> [Action] { dropAll() + readers.answer(error) }

    func isSatisfied(_ range: Range<Int64>) -> Bool { isCached || isFinishing || rendition.satisfies(range) }

    private mutating func rememberedFailure(_ now: Instant) -> TransferError? {
        guard case .failed(let error, let until) = phase else { return nil }
        if let until, now < until { return error }
        clearFailure()
        return nil
    }

    /// Clears the failure and the retry delay, and resets the records of failed attempts and server faults.
    mutating func clearFailure() {
        switch phase {
        case .failed, .fetching: phase = .fetching()
        case .awaitingAddress, .finishing, .cached: break
        }
        attempts.reset()
        faults = ServerFaults()
    }

    /// Shortens the retry delay for a new reader: the retry may start one second after the last attempt. A delay that
    /// the server has set is not shortened.
    private mutating func shortenRetryDelay(_ now: Instant) {
        guard case .fetching(var retry?) = phase, !retry.isServers else { return }
        retry.at = min(retry.at, max(now, attempts.lastTry.map { $0 + .seconds(1) } ?? now))
        phase = .fetching(retry: retry)
    }

    /// Applies a change to the task's conditions, and starts or stops background filling accordingly.
    mutating func changeFilling(_ now: Instant, _ change: (inout Filling) -> Void) -> [Action] {
        let filled = filling.runsInBackground
        change(&filling)
        let fills = filling.runsInBackground
        if isCached || isFinishing || fills == filled { return [] }
        return (fills ? [] : dropUnwanted()) + plan(now)
    }

    /// Ends the connections that serve no blocked reader, except those that receive parts for probes: these are small,
    /// and an abort would close the TCP connection, which the request for another file can reuse.
    mutating func dropUnwanted() -> [Action] {
        if !isWanted, case .awaitingAddress = phase { phase = .fetching() }
        let serving = servingConnections()
        return connections.abort { [connections] id in
            serving.contains(id) || connections[id]?.isPartForProbe ?? false
        }
    }

    /// Ends every connection.
    mutating func dropAll() -> [Action] { connections.abort { _ in false } }
}

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
        return dropAll() + readers.answer(error)
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
