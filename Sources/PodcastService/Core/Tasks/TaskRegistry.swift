internal import Platform
internal import PodcastProtocol
internal import Transfers

/// The active tasks of every kind, the clients' suspensions, and the clients' sessions.
struct TaskRegistry: Sendable {
    /// Downloads that clients can see.
    private(set) var downloads = DownloadTable()
    /// Uploads, and running fetches of feeds, searches and assets.
    var others: [TaskID: TaskInfo] = [:]
    /// The last report, with an error, of each episode whose open(2) still waits for the server. An opened episode has
    /// no task before its first read.
    private(set) var openings: [MediaID: TaskInfo] = [:]
    private(set) var sessions: [ClientID: ClientSession] = [:]
    /// Downloads to start or suspend in the engine once it is known which of them have space, with their place in the
    /// order of arrival.
    private var orders: [MediaID: (place: Int, priority: TransferPriority)] = [:]
    /// Event numbers reserved in the library and not yet used. The lower bound is above all numbers that this run has
    /// used, reserved or not.
    private var sequences: Range<Int64> = 0..<0

    /// The minimum interval between two writes of a download's received bytes to the library, where other processes and
    /// the next daemon read them.
    private static let recordInterval: Duration = .seconds(2)

    // MARK: Queries

    /// Returns whether any task could proceed without a command.
    func hasRunnable(waiting: [MediaID: StorageShortage]) -> Bool {
        downloads.proceeding > 0 && downloads.values.contains { $0.canProceed && waiting[$0.media] == nil }
            || others.values.contains { $0.state != .suspended && $0.state != .failed }
    }

    /// Returns whether no upload is running or queued, and every running or queued download waits for space.
    func isAtRest(waiting: [MediaID: StorageShortage]) -> Bool {
        !(downloads.underWay > 0 && downloads.values.contains { $0.isUnderWay && waiting[$0.media] == nil })
            && !others.values.contains { $0.kind == .upload && $0.state.isActive }
    }

    /// The downloads that clients have suspended.
    var held: Set<MediaID> { sessions.values.reduce(into: []) { $0.formUnion($1.held.keys) } }

    /// Returns whether a person or a client has suspended a task.
    func isSuspended(_ media: MediaID) -> Bool { downloads[media]?.isSuspended ?? false || isHeld(media) }

    private func isHeld(_ media: MediaID) -> Bool { sessions.values.contains { $0.held[media] != nil } }

    /// Returns the downloads as input for `StoragePolicy`.
    ///
    /// - Parameter open: the episodes that programs have open.
    func storageTransfers(open: Set<MediaID>) -> [StorageTransfer] {
        downloads.values.compactMap { task -> StorageTransfer? in
            let snapshot = task.snapshot
            guard snapshot.state != .failed else { return nil }
            return StorageTransfer(
                id: task.media, number: task.id, asked: task.asked, received: snapshot.received,
                expected: snapshot.total ?? task.guess, isConfirmed: snapshot.total != nil,
                isAutomatic: task.isAutomatic && snapshot.priority == .automatic, isRead: open.contains(task.media),
                isWanted: !isSuspended(task.media) && !snapshot.isWaitingForConditions,
                isRetrying: snapshot.isRetrying)
        }
    }

    // MARK: Sequence numbers

    /// Whether more numbers have to be reserved before the driver handles its next batch of inputs.
    var lacksSequences: Bool { sequences.count < 5_000 }

    /// Adds event numbers that the library has reserved for this run of the daemon, except those that were used while
    /// it could not be written. If they do not directly follow the numbers in reserve, the numbers in reserve are
    /// dropped.
    mutating func reserve(_ numbers: Range<Int64>) {
        let next = sequences.lowerBound
        let start = sequences.upperBound == numbers.lowerBound ? next : max(next, numbers.lowerBound)
        sequences = start..<max(start, numbers.upperBound)
    }

    /// Returns an event with the next number.
    mutating func event(_ body: Event.Body, at now: Moment) -> Event {
        // If the library cannot be written, continue with unreserved numbers: watching clients still get events.
        if sequences.isEmpty { sequences = sequences.upperBound..<(sequences.upperBound + 1) }
        defer { sequences = (sequences.lowerBound + 1)..<sequences.upperBound }
        return Event(sequence: sequences.lowerBound, time: now.seconds, body)
    }

    /// Returns the time of the next attempt, in whole seconds, rounded up.
    private static func nextTry(_ snapshot: DownloadSnapshot, at now: Moment) -> WallTime? {
        snapshot.retryIn.map { .seconds(now.seconds + ($0 + .milliseconds(999)).seconds) }
    }

    /// Returns the description of a download at a snapshot that its task, if it has one, does not contain.
    private func info(_ snapshot: DownloadSnapshot, _ task: RegisteredDownload?, at now: Moment) -> TaskInfo {
        let nextTry = Self.nextTry(snapshot, at: now)
        guard var task else { return TaskInfo(snapshot, nextTry: nextTry) }
        (task.snapshot, task.nextTry) = (snapshot, nextTry)
        return task.info
    }

    /// Returns the snapshot of a file of which no bytes are known.
    private static func unknown(_ media: MediaID) -> DownloadSnapshot {
        DownloadSnapshot(task: media, generation: 0, state: .remote, received: 0, total: nil)
    }

    // MARK: Downloads

    mutating func register(_ row: RegisteredDownload, asked: WallTime?, _ outcome: inout Outcome) {
        var task = row
        if let known = downloads[row.media] {
            task.snapshot = known.snapshot
            task.asked = known.asked
            task.isCancelling = known.isCancelling && asked == nil
            task.nextTry = known.nextTry
            task.recordedAt = known.recordedAt
            task.recordedBytes = known.recordedBytes
        }
        if let asked {
            task.asked = asked
            if task.snapshot.state == .failed {
                task.snapshot.state = .queued
                task.snapshot.error = nil
            }
        }
        downloads[row.media] = task
        outcome.changesDemand = true
        guard row.session != ClientSession.clientBound else { return }
        // From now on, the task survives the client that has begun it.
        for client in sessions.keys { sessions[client]?.begun.remove(row.media) }
    }

    /// Sets or ends a person's suspension.
    mutating func suspend(_ media: MediaID, _ suspended: Bool, _ outcome: inout Outcome) {
        guard let task = downloads[media] else { return }
        outcome.effects.append(.write(.suspended(task.id, suspended)))
        downloads[media]?.isSuspended = suspended
        guard suspended else { return }
        // Clients see this state until the engine reports one.
        downloads[media]?.snapshot.state = .suspended
        orderWithOwnPriority(media)
    }

    mutating func report(_ snapshot: DownloadSnapshot, at now: Moment, _ outcome: inout Outcome) {
        let media = snapshot.key
        guard snapshot.state != .remote, snapshot.state != .cached else {
            return removeTask(snapshot, downloads.remove(media), at: now, &outcome)
        }
        openings[media] = nil
        guard var task = downloads[media] else {
            outcome.effects.append(.broadcast(event(.state(TaskInfo(snapshot)), at: now)))
            return
        }
        // `fail` has set the task's state to failed before this snapshot arrives. Any other state means that the task
        // has been requested again since then, and the snapshot is outdated.
        if snapshot.state == .failed, task.snapshot.state != .failed { return }
        let isRecorded = task.recordedAt.map { now.uptime - $0 < Self.recordInterval } ?? false
        if !isRecorded {
            task.recordedAt = now.uptime
            task.recordedBytes = snapshot.received
            outcome.effects.append(
                .write(.received(media, generation: snapshot.generation, bytes: snapshot.received)))
        }
        let old = task.snapshot
        outcome.addDemand(of: task, reportedAs: snapshot)
        task.snapshot = snapshot
        task.nextTry = Self.nextTry(snapshot, at: now)
        downloads[media] = task
        // The failure has already been broadcast as the task's last event.
        if snapshot.state == .failed { return }
        let info = task.info
        outcome.effects.append(
            .broadcast(event(old.state != snapshot.state ? .state(info) : .progress(info), at: now)))
    }

    /// Records and broadcasts that the engine has completed or dropped a download. `task` is its removed task, if it
    /// had one.
    private mutating func removeTask(
        _ snapshot: DownloadSnapshot, _ task: RegisteredDownload?, at now: Moment, _ outcome: inout Outcome
    ) {
        openings[snapshot.key] = snapshot.error.map { _ in info(snapshot, nil, at: now) }
        if task == nil, snapshot.state == .remote {
            // A probe (a read by a program that only reads tags) has fetched a part of the file.
            outcome.newBytes += max(0, snapshot.received)
        } else {
            outcome.changesShares = true
        }
        // The completion has already been broadcast as the task's last event.
        if snapshot.state == .cached { return }
        if task?.isUnderWay ?? false { outcome.hasEndedTask = true }
        // A download was cancelled, or a probe has ended. The bytes received so far stay in the cache.
        if let task { outcome.effects.append(.write(.removed(task.id))) }
        let row = Effect.Row.received(
            snapshot.key, generation: snapshot.generation, bytes: snapshot.received)
        outcome.effects += [.write(row), .broadcast(event(.state(info(snapshot, task, at: now)), at: now))]
    }

    mutating func complete(
        _ media: MediaID, generation: Int, size: Int64, at now: Moment, _ outcome: inout Outcome
    ) {
        let task = downloads.remove(media)
        for client in sessions.keys { sessions[client]?.held[media] = nil }
        let snapshot = DownloadSnapshot(
            task: media, generation: generation, state: .cached, received: size, total: size)
        let event = event(.completed(info(snapshot, task, at: now)), at: now)
        outcome.effects += [.write(.event(event)), .broadcast(event), .runDownloadHook(media)]
        outcome.changesShares = true
        outcome.hasEndedTask = true
    }

    mutating func fail(_ media: MediaID, _ error: TransferError, at now: Moment, _ outcome: inout Outcome) {
        openings[media] = nil
        let task = downloads[media]
        var snapshot = task?.snapshot ?? Self.unknown(media)
        (snapshot.state, snapshot.error, snapshot.rate, snapshot.retryIn) = (.failed, error, nil, nil)
        downloads[media]?.snapshot = snapshot
        let event = event(.failed(info(snapshot, task, at: now)), at: now)
        // If there is no task, only an open has failed, and no task has ended.
        if let task {
            if task.isUnderWay { outcome.hasEndedTask = true }
            outcome.effects += [.write(.failed(task.id, error)), .write(.event(event))]
            outcome.changesShares = true
        }
        outcome.effects.append(.broadcast(event))
    }

    /// Removes a task and broadcasts its end, unless `report` has already done so.
    mutating func remove(_ media: MediaID, at now: Moment, _ outcome: inout Outcome) {
        for client in sessions.keys { sessions[client]?.held[media] = nil }
        guard let task = downloads.remove(media) else { return }
        if task.isUnderWay { outcome.hasEndedTask = true }
        outcome.changesShares = true
        outcome.effects.append(.broadcast(event(.state(info(Self.unknown(media), task, at: now)), at: now)))
    }

    mutating func clear(_ media: MediaID, at now: Moment, _ outcome: inout Outcome) {
        openings[media] = nil
        outcome.effects.append(.broadcast(event(.state(TaskInfo(Self.unknown(media))), at: now)))
    }

    mutating func rename(_ media: MediaID, to path: String, at now: Moment, _ outcome: inout Outcome) {
        guard var task = downloads[media], task.path != path else { return }
        task.path = path
        downloads[media] = task
        outcome.effects.append(.broadcast(event(.state(task.info), at: now)))
    }

    /// Resets a download whose partial file was evicted, and orders its start again.
    mutating func restart(_ media: MediaID) {
        downloads[media]?.snapshot.received = 0
        downloads[media]?.recordedBytes = 0
        orderWithOwnPriority(media)
    }

    // MARK: Orders

    /// Collects an order to start, resume or suspend a task; `drainOrders` returns it.
    mutating func order(_ media: MediaID, _ priority: TransferPriority) {
        let order = orders[media] ?? (orders.count, priority)
        orders[media] = (order.place, max(order.priority, priority))
    }

    mutating func setCancelling(_ media: MediaID, _ isCancelling: Bool) {
        downloads[media]?.isCancelling = isCancelling
    }

    /// Orders a task with the priority of its origin (automatic, or requested), unless it has failed.
    private mutating func orderWithOwnPriority(_ media: MediaID) {
        guard let task = downloads[media], task.snapshot.state != .failed else { return }
        order(media, task.isAutomatic ? .automatic : .asked)
    }

    /// Removes and returns the collected orders, in order of arrival. Those of tasks that were cancelled
    /// meanwhile, before it was known whether they have space, are dropped.
    ///
    /// - Parameter rejected: downloads that can never fit into the cache; they have failed already and are not started.
    mutating func drainOrders(rejected: [MediaID: StorageShortage]) -> [Effect] {
        defer { orders = [:] }
        return orders.filter { rejected[$0.key] == nil && downloads[$0.key]?.isCancelling == false }
            .sorted { $0.value.place < $1.value.place }
            .map { .run($0.key, isSuspended: isSuspended($0.key), $0.value.priority) }
    }

    // MARK: Clients

    mutating func open(_ client: ClientID, _ configuration: SessionConfiguration) {
        sessions[client] = ClientSession(configuration: configuration)
    }

    mutating func create(_ media: MediaID, by client: ClientID) { sessions[client]?.created.insert(media) }

    mutating func begin(_ media: MediaID, by client: ClientID) {
        sessions[client]?.created.remove(media)
        if downloads[media]?.session == ClientSession.clientBound { sessions[client]?.begun.insert(media) }
    }

    mutating func forget(_ media: MediaID, by client: ClientID) {
        sessions[client]?.created.remove(media)
        sessions[client]?.begun.remove(media)
    }

    mutating func hold(_ media: MediaID, by client: ClientID) {
        sessions[client]?.held[media, default: 0] += 1
        orderWithOwnPriority(media)
    }

    mutating func release(_ media: MediaID, by client: ClientID) {
        guard let count = sessions[client]?.held[media] else { return }
        sessions[client]?.held[media] = count > 1 ? count - 1 : nil
        orderWithOwnPriority(media)
    }

    mutating func disconnect(_ client: ClientID, _ outcome: inout Outcome) {
        guard let session = sessions.removeValue(forKey: client) else { return }
        for media in session.held.keys.sorted() where !isHeld(media) { orderWithOwnPriority(media) }
        for media in session.begun.sorted() where !sessions.values.contains(where: { $0.begun.contains(media) }) {
            outcome.effects.append(.abandon(media, isEphemeral: session.configuration == .ephemeral))
        }
    }
}

// Tasks other than downloads.
extension TaskRegistry {
    /// Adds or updates a task, and broadcasts its new state or progress.
    mutating func update(_ task: TaskInfo, at now: Moment, _ outcome: inout Outcome) {
        let old = others.updateValue(task, forKey: task.id)
        // A failure has already been broadcast as the task's last event.
        if old == task || task.state == .failed && old?.state == .failed { return }
        outcome.effects.append(
            .broadcast(event(old?.state == task.state ? .progress(task) : .state(task), at: now)))
    }

    /// Removes a task that has ended in this state, and broadcasts its end.
    mutating func end(_ id: TaskID, _ state: TaskState, at now: Moment, _ outcome: inout Outcome) {
        guard var task = others.removeValue(forKey: id) else { return }
        if task.kind == .upload, task.state.isActive { outcome.hasEndedTask = true }
        task.state = state
        let isComplete = state == .completed
        if isComplete { (task.received, task.error) = (task.expected ?? 0, nil) }
        let event = event(isComplete ? .completed(task) : .state(task), at: now)
        if task.kind == .upload { outcome.effects.append(.write(.uploadRemoved(id, isComplete ? event : nil))) }
        outcome.effects.append(.broadcast(event))
    }

    mutating func fail(_ id: TaskID, _ error: TransferError, at now: Moment, _ outcome: inout Outcome) {
        guard var upload = others[id] else { return }
        (upload.state, upload.error, upload.rate) = (.failed, error.message, nil)
        others[id] = upload
        let event = event(.failed(upload), at: now)
        outcome.effects += [.write(.uploadFailed(id, error, event)), .broadcast(event)]
        outcome.hasEndedTask = true
    }
}
