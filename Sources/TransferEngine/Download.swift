internal import ContentCache
internal import TransferCore

/// Performs the actions of one download's machine: connections, the cache file, answers, checkpoints.
///
/// Belongs to the engine's thread. What takes long (sync, hash, checkpoints) runs on the engine's storage queues and
/// comes back through its mailbox.
final class Download {
    private(set) var source: DownloadSource
    unowned let engine: EngineLoop
    var machine: DownloadMachine
    var file: CacheFile?
    /// Where the answer came from that the machine accepted last.
    var finalURL: String?
    /// The most private space that a request to `finalURL` may reach; unknown after a restart.
    var finalReach: AddressSpace?
    var connections: [DownloadMachine.ConnectionID: DownloadConnection] = [:]
    /// It is among the engine's downloads with work to do.
    var isDirty = false
    /// Connections with news that has to wait until curl is not at work.
    var dirty: [DownloadConnection] = []
    /// Actions that need curl, kept until `process`.
    var deferred: [DownloadMachine.Action] = []
    var checkpoints = CheckpointPace()
    var rate = RateMeter()
    private var openAnswers: [DownloadMachine.WaitID: TransferEngine.OpenAnswer] = [:]
    private var readAnswers: [DownloadMachine.WaitID: TransferEngine.ReadAnswer] = [:]
    /// The number of the last event of it.
    private var lastEvent = 0
    private var reported: DownloadSnapshot?
    private var reportDue: Int64 = 0
    /// The digest of a file that was whole when it was loaded, until the owner has been told of it again.
    private var untold: String?

    /// How often progress is reported while bytes come, in milliseconds: four times a second is smooth for a person.
    private static let reportInterval: Int64 = 250

    init(source: DownloadSource, engine: EngineLoop, limits: DownloadMachine.Limits) {
        self.source = source
        self.engine = engine
        var limits = limits
        limits.expects = source.expects
        var pin: Pin?
        var present: ByteRanges?
        var generation = source.generation
        var isCached = false
        if let name = source.file {
            if let found = engine.cache.reopen(name), found.checkpoint.generation == source.generation {
                file = found.file
                present = found.present
                finalURL = found.checkpoint.finalURL
                pin = Pin(
                    total: found.checkpoint.total, validator: found.checkpoint.validator.flatMap(Validator.init(text:)),
                    mediaType: found.checkpoint.contentType)
                isCached = found.checkpoint.complete && pin?.total.map { found.present.covers(0..<$0) } ?? false
                if isCached, !source.isComplete { untold = found.checkpoint.sha256 }
                checkpoints.synced = found.checkpoint.syncedRanges.intersection(found.present)
            } else {
                // Nothing of the file can be trusted: readers of that generation must not see another one's bytes.
                lastEvent = engine.emit(.abandoned(key: source.key, generation: generation, file: name))
                generation += 1
            }
        }
        if pin == nil, generation == source.generation, let size = source.confirmedSize {
            pin = Pin(total: size, validator: nil)
        }
        machine = DownloadMachine(
            generation: generation, pin: pin, present: present, isCached: isCached, knowsDirect: finalURL != nil,
            priority: source.priority, limits: limits)
        // Of a file with all its bytes this begins what is left to do.
        if source.isSuspended { apply(machine.setSuspended(true, now: engine.now)) }
        if !engine.allowsAutomatic { _ = machine.setAllowsAutomatic(false, now: engine.now) }
        if let full = engine.storageFull { _ = machine.storageIsFull(full, now: engine.now) }
        if let reason = source.awaitsSpace { _ = machine.setAwaitsSpace(reason, now: engine.now) }
    }

    /// How many opens and reads wait for an answer.
    var waits: Int { openAnswers.count + readAnswers.count }

    /// Whether it can be let go: nothing goes on and all that was received stands in a checkpoint.
    /// And the owner's loader knows of it.
    var isIdle: Bool {
        machine.isIdle && connections.isEmpty && !checkpoints.isBusy && !checkpoints.isBehind
            && engine.isTaken(lastEvent)
    }

    /// When `tick` is due, if ever, in the engine's milliseconds. After a `tick` it is later than that.
    var deadline: Int64? {
        var result = machine.deadline
        if let reported, reported.received != machine.present.byteCount { result = min(result ?? .max, reportDue) }
        if savesCheckpoints, checkpoints.isBehind, !checkpoints.isBusy { result = min(result ?? .max, checkpoints.due) }
        return result
    }

    // MARK: Requests

    func open(_ id: DownloadMachine.WaitID, answer: @escaping TransferEngine.OpenAnswer) {
        openAnswers[id] = answer
        apply(machine.open(id, now: engine.now))
    }

    func read(
        _ id: DownloadMachine.WaitID, _ range: Range<Int64>, generation: Int, takesHead: Bool,
        answer: @escaping TransferEngine.ReadAnswer
    ) {
        tellIfWhole()
        readAnswers[id] = answer
        let actions = machine.read(id, range, generation: generation, now: engine.now)
        if takesHead, machine.isWaiting(id) { answerWithHead(id, range) }
        apply(actions)
    }

    /// The first read of a file of which the server has sent the beginning along with its size is answered before the file
    /// is made, which takes longer than to answer it.
    private func answerWithHead(_ id: DownloadMachine.WaitID, _ range: Range<Int64>) {
        guard file == nil else { return }
        let grant = grantWithHead()
        guard !grant.head.isEmpty, min(range.upperBound, grant.total ?? .max) <= Int64(grant.head.count) else { return }
        readAnswers.removeValue(forKey: id)?(.success(grant))
    }

    func fill(_ priority: TransferPriority) {
        tellIfWhole()
        if priority == .automatic {
            apply(machine.fill(priority, now: engine.now))
        } else {
            apply(machine.retry(now: engine.now))
        }
        report(force: true)
    }

    func setAllowsAutomatic(_ allowed: Bool) {
        apply { machine, now in machine.setAllowsAutomatic(allowed, now: now) }
        report(force: false)
    }

    /// - Returns: whether the task has ended; if not, it completes.
    @discardableResult
    func cancel() -> Bool {
        if machine.isFinishing { return false }
        apply { machine, now in machine.cancel(now: now) }
        report(force: true)
        return true
    }

    /// The owner has looked for a newer address.
    func renew(_ url: String?) {
        let isNew = url.map { $0 != source.url } ?? false
        if let url { source.url = url }
        apply { machine, now in machine.addressRenewed(isNew, now: now) }
        report(force: false)
    }

    /// The owner has another address now.
    func setSource(_ url: String) {
        guard url != source.url else { return }
        source.url = url
        apply { machine, now in machine.addressChanged(now: now) }
        report(force: false)
    }

    func storageIsFull(_ error: TransferError) {
        apply { machine, now in machine.storageIsFull(error, now: now) }
        report(force: false)
    }

    func storageAvailable() {
        checkpoints.hurry(at: engine.now)
        apply { machine, now in machine.storageAvailable(now: now) }
        report(force: false)
    }

    func setAwaitsSpace(_ reason: TransferError?) {
        apply { machine, now in machine.setAwaitsSpace(reason, now: now) }
        report(force: false)
    }

    func exceedsSpace(_ error: TransferError) {
        apply { machine, now in machine.exceedsSpace(error, now: now) }
        report(force: false)
    }

    func cancelWait(_ id: DownloadMachine.WaitID) {
        guard readAnswers.removeValue(forKey: id) != nil || openAnswers.removeValue(forKey: id) != nil else { return }
        apply(machine.cancelWait(id, now: engine.now))
    }

    func apply(_ change: (inout DownloadMachine, Int64) -> [DownloadMachine.Action]) {
        apply(change(&machine, engine.now))
    }

    /// Ends everything; what is present goes into a checkpoint before this returns.
    func shutDown(_ error: TransferError) {
        apply(machine.shutDown(error))
        process()
        saveCheckpoint(synchronously: true)
    }

    /// Ends everything about a file that goes away.
    func forget() {
        apply(machine.shutDown(TransferError(.cancelled, "the file was removed from the cache")))
        process()
    }

    /// The owner wants a file that it does not know to be whole: the news was lost when an earlier process ended.
    private func tellIfWhole() {
        guard let sha256 = untold, let size = machine.pin?.total else { return }
        untold = nil
        emit(.completed(key: source.key, generation: machine.generation, size: size, sha256: sha256))
    }

    // MARK: Actions

    func apply(_ actions: [DownloadMachine.Action]) {
        for action in actions { perform(action) }
        if !actions.isEmpty { report(force: false) }
    }

    private func perform(_ action: DownloadMachine.Action) {
        switch action {
        case .connect, .abort, .hold, .resume, .serving, .prioritized:
            // Not now: this may come from one of curl's callbacks, or from the middle of a buffer; and what is done here
            // may move other connections on, which may bring bytes at once.
            deferred.append(action)
            engine.markDirty(self)
        case .pause:
            break  // The buffer fills, then curl is told to pause.
        case .release(let id):
            connections[id]?.isReleased = true
        case .confirmed(let generation, let pin):
            confirmed(generation: generation, pin)
        case .createFile(let generation, let pin):
            createFile(generation: generation, pin: pin)
        case .abandonFile(let generation):
            abandonFile(generation: generation)
        case .answerOpen(let id, let error):
            // Before the answer: who is refused looks for the reason.
            if error != nil { report(force: false) }
            // An open alone makes no task, so that nothing else would tell the reason.
            if let error, machine.failure == nil, !machine.isFilling, [.unreachable, .timedOut].contains(error.code) {
                emit(.failed(key: source.key, error))
            }
            openAnswers.removeValue(forKey: id)?(error.map { .failure($0) } ?? .success(grantWithHead()))
        case .answerRead(let id, let error):
            if error != nil { report(force: false) }
            readAnswers.removeValue(forKey: id)?(error.map { .failure($0) } ?? .success(grant()))
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

    func emit(_ event: TransferEvent) { lastEvent = engine.emit(event) }

    private func grant() -> ReadGrant {
        ReadGrant(
            generation: machine.generation, isNewGeneration: machine.generation != source.generation,
            total: machine.pin?.total, file: file?.name, present: machine.present)
    }

    /// With what has come of the file's beginning: most who open a file read that next. Nothing is stored for an open alone.
    private func grantWithHead() -> ReadGrant {
        var grant = grant()
        if let connection = connections.values.first(where: { $0.startsFile }) { grant.head = connection.firstBytes }
        return grant
    }

    private func confirmed(generation: Int, _ pin: Pin) {
        // A file that was begun before its size was known gets it now.
        if let file, let total = pin.total {
            do {
                try file.extend(to: total)
            } catch {
                apply(machine.storageFailed(StorageFailure.describe(error), now: engine.now))
            }
        }
        emit(.confirmed(key: source.key, generation: generation, pin))
    }

    private func createFile(generation: Int, pin: Pin) {
        var made: CacheFile?
        do {
            let created = try engine.cache.create(size: pin.total)
            made = created
            checkpoints = CheckpointPace()
            // Before anybody hears of the file: readers keep it open, and a daemon that comes after this one must go on
            // with it, or begin another generation.
            try engine.cache.save(checkpoint(), of: created, isFirst: true)
            file = created
            emit(
                .fileCreated(
                    key: source.key, generation: generation, file: created.name, pin, finalURL: finalURL))
        } catch {
            if let made { engine.cache.remove(made.name) }
            apply(machine.fileMissing(StorageFailure.describe(error), now: engine.now))
        }
    }

    private func abandonFile(generation: Int) {
        guard let old = file else { return }
        file = nil
        checkpoints = CheckpointPace()
        emit(.abandoned(key: source.key, generation: generation, file: old.name))
    }

    // MARK: Time

    func tick() {
        let now = engine.now
        if let due = machine.deadline, due <= now {
            apply(machine.tick(now: now, random: Double.random(in: 0..<1)))
        }
        report(force: false)
        if checkpoints.isBehind, checkpoints.due <= now { saveCheckpoint(synchronously: false) }
    }

    /// Tells the owner how far it is: at once when the state has changed, else a few times a second.
    func report(force: Bool) {
        let now = engine.now
        let state = machine.state
        let isNews =
            force || reported?.state != state || reported?.generation != machine.generation
            || reported?.error != machine.error || reported?.priority != machine.priority
            || reported?.isWaitingForConditions != machine.isWaitingForConditions
            || reported?.isRetrying != machine.isRetrying
        guard isNews || now >= reportDue && reported?.received != machine.present.byteCount else { return }
        let snapshot = self.snapshot
        // A machine that was only loaded is no news.
        let isNewsToOwner = force || reported != nil || state != .remote
        reported = snapshot
        reportDue = now + Self.reportInterval
        if isNewsToOwner { emit(.progress(snapshot)) }
    }

    var snapshot: DownloadSnapshot {
        DownloadSnapshot(
            key: source.key, generation: machine.generation, state: machine.state,
            received: machine.present.byteCount, total: machine.pin?.total,
            rate: machine.state == .running ? rate.bytesPerSecond(at: engine.now) : nil, error: machine.error,
            present: machine.present, isTask: machine.isFilling, priority: machine.priority,
            isWaitingForConditions: machine.isWaitingForConditions, isWaitingForSpace: machine.isWaitingForSpace,
            isRetrying: machine.isRetrying)
    }
}
