internal import Platform

/// The driver of one download's `DownloadMachine`. The machine decides what to do; the driver performs these actions on
/// connections, the cache file and checkpoints, and answers the waiting readers.
///
/// Confined to the engine's thread. Slow operations (sync, hash, checkpoints) run on the engine's storage queues, which
/// return the results through its mailbox.
final class Download {
    private(set) var source: DownloadSource
    /// The loop, which owns all downloads and their connections.
    unowned let engine: EngineLoop
    var machine: DownloadMachine { didSet { markChanged() } }
    /// The cache file of the machine's generation; `nil` until bytes are stored.
    var file: CacheFile?
    /// The URL of the last response that the machine accepted.
    var origin: Origin?
    var connections: [DownloadMachine.ConnectionID: DownloadConnection] = [:] { didSet { markChanged() } }
    /// Whether the download is in the engine's list of downloads with pending work.
    var isDirty = false
    /// Whether the download is in the engine's list of downloads whose `deadline` or `isIdle` may have changed.
    var isChanged = false
    var pending = Pending()
    var checkpoints = CheckpointPace() { didSet { markChanged() } }
    var rate = RateMeter()
    /// The closures that answer the waiting opens and reads.
    private var answers: [DownloadMachine.WaitID: TransferEngine.Answer] = [:]
    private var reports = Reports() { didSet { markChanged() } }

    /// The URL that a response came from.
    struct Origin {
        var url: String
        /// The most private address space that a request to `url` may reach; `nil` after a restart, when it is unknown.
        var reach: AddressSpace?
    }

    /// Work deferred while curl is active.
    struct Pending {
        /// Connections with events that are still to be processed.
        var connections: [DownloadConnection] = []
        /// Actions that need curl.
        var actions: [DownloadMachine.Action] = []

        var isEmpty: Bool { connections.isEmpty && actions.isEmpty }
    }

    /// The last reports to the owner (the receiver of `TransferEvent`s), and those that are due.
    private struct Reports {
        /// The number of the download's last event, for `isAcknowledged`.
        var lastEvent = 0
        /// The last reported state; `nil` before the first report.
        var last: DownloadSnapshot?
        /// The time of the next attempt, as last reported.
        var nextTry: Instant?
        /// The time of the next progress report.
        var due = Instant.start
        /// The facts of a file that was complete when it was loaded, although its owner does not know that; `nil` once
        /// the owner is notified.
        var unreportedFacts: FileFacts?
    }

    /// The interval of progress reports: four times a second looks smooth.
    private static let reportInterval = Duration.milliseconds(250)

    /// - Throws: An error if the file of the source cannot be opened now, but may be intact.
    init(source: DownloadSource, engine: EngineLoop, limits: DownloadMachine.Limits) throws(TransferError) {
        self.source = source
        self.engine = engine
        var limits = limits
        limits.expects = source.expects
        limits.statedSize = source.statedSize
        var pin: Pin?
        var present: ByteRanges?
        var generation = source.generation
        var isCached = false
        if let name = source.file {
            let found: (file: CacheFile, checkpoint: Checkpoint, present: ByteRanges)?
            do throws(CacheFileDefect) {
                found = try engine.cache.reopen(name)
            } catch {
                throw TransferError(unopened: error)
            }
            if let found, found.checkpoint.generation == source.generation {
                file = found.file
                present = found.present
                origin = found.checkpoint.finalURL.map { Origin(url: $0) }
                pin = Pin(
                    total: found.checkpoint.total, validator: found.checkpoint.validator.flatMap(Validator.init(text:)))
                isCached = found.checkpoint.complete && pin?.total.map { found.present.covers(0..<$0) } ?? false
                if isCached, !source.isComplete { reports.unreportedFacts = found.checkpoint.facts }
                checkpoints.synced = found.checkpoint.syncedRanges.intersection(found.present)
            } else {
                // The file cannot be trusted: readers of that generation must not see bytes of another.
                reports.lastEvent = engine.emit(.abandoned(key: source.key, generation: generation, file: name))
                generation += 1
            }
        }
        if pin == nil, generation == source.generation, let size = source.confirmedSize {
            pin = Pin(total: size, validator: nil)
        }
        machine = DownloadMachine(
            generation: generation, pin: pin, present: present, isCached: isCached, knowsDirect: origin != nil,
            sources: source.locations.count, priority: source.priority, limits: limits)
        // These actions must be performed: if all bytes of the file are present, they include `finish`, even though the
        // task is suspended.
        if source.isSuspended { apply(machine.setSuspended(true, now: engine.now)) }
        // The following changes cause no actions, since the download has no connection and no reader yet.
        if !engine.downloads.allowsAutomatic { _ = machine.setAllowsAutomatic(false, now: engine.now) }
        if let full = engine.downloads.storageFull { _ = machine.storageIsFull(full, now: engine.now) }
        if let reason = source.awaitsSpace { _ = machine.setAwaitsSpace(reason, now: engine.now) }
    }

    /// The number of unanswered opens and reads.
    var waits: Int { answers.count }

    /// Whether the engine can release the download: nothing is in progress, a checkpoint contains all received bytes,
    /// and the owner has processed all events.
    var isIdle: Bool {
        awaitsNothing && reports.last?.isOutdated(by: machine) != true && engine.isAcknowledged(reports.lastEvent)
    }

    /// As `isIdle`, except that events may not be processed yet.
    var awaitsNothing: Bool { machine.isIdle && connections.isEmpty && !checkpoints.isBusy && !checkpoints.isBehind }

    private func markChanged() { engine.downloads.markChanged(self) }

    /// The time of the next `tick`, if any. After a `tick` it is later than that tick.
    var deadline: Instant? {
        let report = reports.last.flatMap { $0.isOutdated(by: machine) ? reports.due : nil }
        let checkpoint = savesCheckpoints && checkpoints.isBehind && !checkpoints.isBusy ? checkpoints.due : nil
        return [machine.deadline, report, checkpoint].compactMap(\.self).min()
    }

    // MARK: Requests

    func open(_ id: DownloadMachine.WaitID, as kind: ReaderKind, answer: @escaping TransferEngine.Answer) {
        answers[id] = answer
        apply(machine.open(id, as: kind, now: engine.now))
    }

    func read(
        _ id: DownloadMachine.WaitID, _ range: Range<Int64>, generation: Int, as kind: ReaderKind, takesHead: Bool,
        answer: @escaping TransferEngine.Answer
    ) {
        notifyIfComplete()
        answers[id] = answer
        let actions = machine.read(id, range, generation: generation, as: kind, now: engine.now)
        if takesHead, machine.isWaiting(id) { answerWithHead(id, range) }
        apply(actions)
    }

    /// Answers the first read of a rendition from the bytes that arrived with the response head. Called before the
    /// cache file is created, because the creation takes longer than the answer.
    private func answerWithHead(_ id: DownloadMachine.WaitID, _ range: Range<Int64>) {
        guard file == nil else { return }
        let grant = grantWithHead()
        guard !grant.head.isEmpty, min(range.upperBound, grant.total ?? .max) <= Int64(grant.head.count) else { return }
        answers.removeValue(forKey: id)?(.success(grant))
    }

    func fill(_ priority: TransferPriority) {
        notifyIfComplete()
        if priority == .automatic {
            apply(machine.fill(priority, now: engine.now))
        } else {
            apply(machine.retry(now: engine.now))
        }
        report(force: true)
    }

    /// Cancels the task.
    ///
    /// - Returns: Whether the task has ended; `false` if all its bytes are present, so that it completes instead.
    @discardableResult
    func cancel() -> Bool {
        if machine.isFinishing { return false }
        change(force: true) { $0.cancel(now: $1) }
        return true
    }

    /// Handles the owner's response to `addressRefused`: the addresses that are current now.
    func renew(_ locations: [DownloadSource.Location]) {
        let isNew = replaceLocations(locations)
        change { $0.addressRenewed(isNew, now: $1) }
    }

    /// Replaces the addresses from which the file is fetched.
    func setLocations(_ locations: [DownloadSource.Location]) {
        guard replaceLocations(locations) else { return }
        change { $0.addressChanged(now: $1) }
    }

    /// - Returns: Whether the addresses differ.
    private func replaceLocations(_ locations: [DownloadSource.Location]) -> Bool {
        guard !locations.isEmpty else { return false }
        let isNew = locations.map(\.url) != source.locations.map(\.url)
        source.setLocations(locations)
        if isNew { machine.setSources(locations.count) }
        return isNew
    }

    func cancelWait(_ id: DownloadMachine.WaitID) {
        guard answers.removeValue(forKey: id) != nil else { return }
        apply(machine.cancelWait(id, now: engine.now))
    }

    func change(force: Bool = false, _ change: (inout DownloadMachine, Instant) -> [DownloadMachine.Action]) {
        apply(change)
        report(force: force)
    }

    /// Changes the machine, and performs the actions that it returns.
    func apply(_ change: (inout DownloadMachine, Instant) -> [DownloadMachine.Action]) {
        apply(change(&machine, engine.now))
    }

    /// Ends all connections and fails waiting readers; the present ranges are in a checkpoint when this returns.
    func shutDown(_ error: TransferError) {
        end(error)
        saveCheckpoint(synchronously: true)
    }

    /// Ends the connections of a removed file, and fails its waiting readers.
    func discard() { end(TransferError(.removed, "the file was removed from the cache")) }

    private func end(_ error: TransferError) {
        apply(machine.shutDown(error))
        process()
        // The machine no longer has the connections that it has released.
        for connection in connections.values { remove(connection) }
    }

    /// Emits `completed` again for a complete file whose owner does not know that it is complete: the first event was
    /// lost when an earlier process ended.
    private func notifyIfComplete() {
        guard let facts = reports.unreportedFacts else { return }
        reports.unreportedFacts = nil
        emit(.completed(key: source.key, generation: machine.generation, facts))
    }

    // MARK: Actions

    func apply(_ actions: [DownloadMachine.Action]) {
        for action in actions { perform(action) }
        if !actions.isEmpty { report(force: false) }
    }

    private func perform(_ action: DownloadMachine.Action) {
        switch action {
        case .connect, .abort, .hold, .resume, .serving, .prioritized:
            // Defer these actions. `perform` may run in a callback of curl, or while a buffer is processed, but the
            // actions call curl or may resume other connections, which may deliver bytes at once.
            pending.actions.append(action)
            engine.downloads.markDirty(self)
        case .pause:
            break  // The buffer fills, then curl pauses the transfer.
        case .release(let id):
            connections[id]?.isReleased = true
        case .confirmed(let generation, let pin):
            confirmed(generation: generation, pin)
        case .createFile(let generation, let pin):
            createFile(generation: generation, pin: pin)
        case .abandonFile(let generation):
            abandonFile(generation: generation)
        case .answerOpen(let id, let error):
            // Report before answering, since a reader whose request fails queries the reported error.
            if error != nil { report(force: false) }
            // An open does not create a task, so nothing else would report the error.
            if let error, machine.failure == nil, !machine.isFilling,
                [.unreachable, .timedOut, .unusable].contains(error.code)
            {
                emit(.failed(key: source.key, error))
            }
            answers.removeValue(forKey: id)?(error.map { .failure($0) } ?? .success(grantWithHead()))
        case .answerRead(let id, let error):
            if error != nil { report(force: false) }
            answers.removeValue(forKey: id)?(error.map { .failure($0) } ?? .success(grant()))
        case .finish:
            finish()
        case .failed(let error):
            emit(.failed(key: source.key, error))
        case .renewAddress(let error):
            emit(.addressRefused(key: source.key, error))
        case .storageFull(let error):
            engine.storageFailed(error, of: source.key)
        }
    }

    func emit(_ event: TransferEvent) { reports.lastEvent = engine.emit(event) }

    private func grant() -> ReadGrant {
        ReadGrant(
            generation: machine.generation, isNewGeneration: machine.generation != source.generation,
            total: machine.pin?.total, file: file?.name, present: machine.present)
    }

    /// Returns a grant with the first bytes of the rendition, which most programs read next. An open does not store
    /// these bytes, so they are still in the connection's buffer.
    private func grantWithHead() -> ReadGrant {
        var grant = grant()
        if let connection = connections.values.first(where: { $0.startsFile }) { grant.head = connection.firstBytes }
        return grant
    }

    // MARK: Time

    func tick() {
        let now = engine.now
        for connection in connections.values where connection.isRestrained {
            machine.restrained(connection.id, now: now)
        }
        if let due = machine.deadline, due <= now { apply(machine.tick(now: now, random: Double.random(in: 0..<1))) }
        report(force: false)
        if checkpoints.isBehind, let due = checkpoints.due, due <= now { saveCheckpoint(synchronously: false) }
    }

    /// Reports the progress to the owner: at once with `force` or if the state has changed, otherwise a few times a
    /// second.
    func report(force: Bool) {
        let now = engine.now
        let state = machine.state
        let reported = reports.last
        let (error, nextTry) = delay
        let hasChanged =
            force || reported?.state != state || reported?.generation != machine.generation
            || reported?.error != error || reported?.priority != machine.priority
            || reported?.isWaitingForConditions != machine.isWaitingForConditions
            || reported?.isWaitingForSpace != machine.isWaitingForSpace || reported?.isTask != machine.isFilling
            || reported?.isRetrying != machine.isRetrying || reports.nextTry != nextTry
        guard hasChanged || now >= reports.due && reports.last?.isOutdated(by: machine) != false else { return }
        let snapshot = self.snapshot
        // A download that was only loaded is not reported.
        let emitsEvent = force || reported != nil || state != .remote
        reports.last = snapshot
        reports.nextTry = nextTry
        reports.due = now + Self.reportInterval
        if emitsEvent { emit(.progress(snapshot)) }
    }

    /// The failure after which the download tries again, or for which its host is not asked now, and the time of the
    /// next attempt.
    private var delay: (error: TransferError?, nextTry: Instant?) {
        if machine.error == nil, let closure = connections.values.lazy.compactMap(engine.slots.closure).first {
            return (closure.error, closure.until)
        }
        return (machine.error, machine.nextTry)
    }

    var snapshot: DownloadSnapshot {
        let (error, nextTry) = delay
        return DownloadSnapshot(
            key: source.key, generation: machine.generation, state: machine.state,
            received: machine.present.byteCount, total: machine.pin?.total,
            rate: machine.state == .running ? rate.bytesPerSecond(at: engine.now) : nil, error: error,
            present: machine.present, isTask: machine.isFilling, priority: machine.priority,
            isWaitingForConditions: machine.isWaitingForConditions, isWaitingForSpace: machine.isWaitingForSpace,
            isRetrying: machine.isRetrying, retryIn: nextTry.map { max(.zero, $0 - engine.now) })
    }
}
