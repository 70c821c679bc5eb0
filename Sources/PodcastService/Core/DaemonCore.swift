internal import Platform
internal import PodcastProtocol
internal import Transfers

/// The daemon's decisions, as a value without IO: the caller passes the time and performs the effects.
///
/// The driver processes inputs in batches. It calls `handle` for each input on a copy of the value, and writes the rows
/// among the effects in one transaction. If the transaction fails, it drops the copy, so that the batch has no effect.
/// Otherwise it adopts the copy and calls `finishBatch`, which returns the effects that depend on all inputs.
struct DaemonCore: Sendable {
    private(set) var tasks = TaskRegistry()
    private(set) var space: StoragePolicy
    private var upkeep: UpkeepPlanner
    private var clients: Set<ClientID> = []
    /// The number of commands, sync exchanges and other jobs that are running. While it is above 0, the daemon is not
    /// idle.
    private var underWay = 0
    /// Whether feeds are being fetched, or fetched feeds have not been processed yet.
    private var isFetching = false
    /// The number of engine events that could not be written to the library and will be retried.
    private var unwritten = 0
    private var conditions: ConditionGate
    /// Whether a new plan for the space is being computed, and files are being evicted for it.
    private var isPlanning = false
    /// The results of the current batch. `changesDemand` is set initially, so that the first batch applies the cache
    /// limits to the files of the previous daemon.
    private var outcome = Outcome(changesDemand: true)

    /// - Parameters:
    ///   - idleExit: the time for which the daemon must be idle before it exits; `daemon.idle_exit`.
    ///   - conditionLifetime: the age at which a reading of the network and power conditions is repeated.
    init(limits: StorageLimits, idleExit: Duration, conditionLifetime: Duration = .seconds(60)) {
        conditions = ConditionGate(lifetime: conditionLifetime)
        space = StoragePolicy(limits: limits)
        upkeep = UpkeepPlanner(idleExit: idleExit)
    }

    // MARK: Queries

    /// Whether discretionary work (work that nobody has requested) may run: while a client is connected, or if network
    /// and power conditions permit it.
    var mayRunByItself: Bool { conditions.allows || !clients.isEmpty }

    /// Whether network and power conditions permit discretionary work.
    var allowsDiscretionary: Bool { conditions.allows }

    /// Whether no client is connected, nothing is running or waits to be written, and no task could proceed.
    var isIdle: Bool {
        clients.isEmpty && underWay == 0 && !isFetching && unwritten == 0
            && !tasks.hasRunnable(waiting: space.waiting)
    }

    /// Returns all tasks, ordered by number.
    ///
    /// - Parameter others: further tasks: the core knows a feed's request only if it was reported.
    func list(_ others: [TaskInfo] = []) -> [TaskInfo] {
        let unknown = others.filter { tasks.others[$0.id] == nil }
        return (tasks.downloads.values.map(info(of:)) + tasks.others.values + unknown).sorted { $0.id < $1.id }
    }

    func info(of media: MediaID) -> TaskInfo? { tasks.downloads[media].map(info(of:)) }

    private func info(of task: RegisteredDownload) -> TaskInfo {
        var info = task.info
        info.waitsForSpace = space.waiting[task.media] != nil
        return info
    }

    // MARK: Inputs

    /// Adds event numbers that the caller has reserved in the library.
    mutating func reserve(_ numbers: Range<Int64>) { tasks.reserve(numbers) }

    /// Returns an event for a single client, with a number of its own.
    mutating func event(_ body: Event.Body, at now: Moment) -> Event { tasks.event(body, at: now) }

    /// Processes an input.
    ///
    /// - Returns: the effects of this input; `finishBatch` returns those of the batch.
    mutating func handle(_ input: Input, at now: Moment) -> [Effect] {
        apply(input, at: now)
        defer { outcome.effects = [] }
        return outcome.effects
    }

    private mutating func apply(_ input: Input, at now: Moment) {
        switch input {
        case .connected(let client):
            clients.insert(client)
            upkeep.reschedule()
        case .disconnected(let client):
            clients.remove(client)
            tasks.disconnect(client, &outcome)
            // Files that the client had open may now be evicted.
            reassessSpace()
            upkeep.reschedule()
            outcome.effects.append(.workEnded)
        case .openedSession(let client, let configuration): tasks.open(client, configuration)
        case .created(let media, let client): tasks.create(media, by: client)
        case .begun(let media, let client): tasks.begin(media, by: client)
        case .cancelled(let media, let client): tasks.forget(media, by: client)
        case .held(let media, let client): tasks.hold(media, by: client)
        case .released(let media, let client): tasks.release(media, by: client)
        case .registered(let task, let asked): tasks.register(task, asked: asked, &outcome)
        case .wanted(let media, let priority): tasks.order(media, priority)
        case .suspended(let media, let suspended): tasks.suspend(media, suspended, &outcome)
        case .reported(let snapshot): tasks.report(snapshot, at: now, &outcome)
        case .completed(let media, let generation, let size):
            space.completed(media, at: now)
            tasks.complete(media, generation: generation, size: size, at: now, &outcome)
        case .failed(let media, let error): tasks.fail(media, error, at: now, &outcome)
        case .cancelling(let media, let isCancelling): tasks.setCancelling(media, isCancelling)
        case .ended(let media): tasks.remove(media, at: now, &outcome)
        case .cleared(let media): tasks.clear(media, at: now, &outcome)
        case .renamed(let media, let path): tasks.rename(media, to: path, at: now, &outcome)
        case .updated(let task): tasks.update(task, at: now, &outcome)
        case .taskEnded(let id, let state): tasks.end(id, state, at: now, &outcome)
        case .uploadFailed(let id, let error): tasks.fail(id, error, at: now, &outcome)
        case .opened(let media):
            // A reader's download must not wait for space.
            if tasks.downloads[media] != nil { reassessSpace() }
        case .closed(let media):
            // Its download may now have to wait for space, or its file may be evicted.
            guard tasks.downloads[media] != nil || space.isBlocked || space.adopted.exceedsLimits else { return }
            outcome.changesDemand = true
            // Assess again later: when the close is reported, the reader's lease (its lock on the cache file) may still
            // protect the file from eviction.
            upkeep.set(.assessSpace, due: now.wall + UpkeepPlanner.spaceInterval)
        case .evicted(let media):
            space.evicted(media)
            tasks.restart(media)
            change(media.episode, nil, at: now)
        case .writeFailed(let free):
            space.writeFailed(free: free)
            outcome.changesDemand = true
        case .planned(let plan):
            isPlanning = false
            if let plan { outcome.effects += space.adopt(plan) }
            if space.isBlocked { upkeep.set(.assessSpace, due: now.wall + UpkeepPlanner.spaceInterval) }
        case .changedEpisode(let id, let formerName): change(id, formerName, at: now)
        case .listened(let id, let path, let listening):
            outcome.effects.append(.broadcast(tasks.event(.listening(id, path: path, listening), at: now)))
        case .changedShow(let id, let name, let formerName):
            outcome.effects.append(.broadcast(tasks.event(.show(id, name: name, formerName: formerName), at: now)))
            upkeep.reschedule()
            upkeep.set(.updateIndex, due: now.wall + UpkeepPlanner.indexDelay)
        case .changedText: upkeep.set(.updateIndex, due: now.wall + UpkeepPlanner.indexDelay)
        case .changedView(let name, let isRemoved):
            outcome.effects.append(.broadcast(tasks.event(.view(name: name, isRemoved: isRemoved), at: now)))
            upkeep.reschedule()
        case .began: underWay += 1
        case .finished:
            underWay -= 1
            // The command may have freed space, or removed a download that waited for it.
            reassessSpace()
            upkeep.reschedule()
            outcome.effects.append(.workEnded)
        case .fetching(let isFetching):
            guard isFetching != self.isFetching else { return }
            self.isFetching = isFetching
            if isFetching { return }
            upkeep.reschedule()
            outcome.effects.append(.workEnded)
        case .unwritten(let count):
            unwritten = count
            upkeep.set(.writeAgain, due: count > 0 ? now.wall + UpkeepPlanner.writeInterval : nil)
        case .scheduled(let moments): upkeep.schedule(moments)
        case .rescheduled: upkeep.reschedule()
        case .conditions(let allowed):
            outcome.effects += conditions.record(allowed, at: now)
            upkeep.reschedule()
        case .tick: upkeep.tick(at: now)
        case .exitRequested: outcome.effects.append(.leave)
        }
    }

    /// Broadcasts that a visible episode has changed: once per batch, and in addition for each new name.
    private mutating func change(_ episode: EpisodeID, _ formerName: String?, at now: Moment) {
        if formerName == nil, !outcome.changed.insert(episode).inserted { return }
        outcome.effects.append(.broadcast(tasks.event(.episode(episode, formerName: formerName), at: now)))
        upkeep.reschedule()
    }

    /// Finishes a batch: returns the effects that depend on all inputs since the last call.
    mutating func finishBatch(at now: Moment) -> [Effect] {
        let batch = outcome
        outcome = Outcome()
        var effects: [Effect] = []
        if batch.hasEndedTask, tasks.isAtRest(waiting: space.waiting) {
            effects += [.broadcast(tasks.event(.idle, at: now)), .runIdleHook]
        }
        let dependsOnConditions =
            clients.isEmpty || tasks.downloads.discretionary > 0 || upkeep.isDue(.fetchCovers, at: now)
        if dependsOnConditions { effects += conditions.demand(at: now) }
        let isShort = space.isBlocked || space.adopted.exceedsLimits
        space.arrived(batch.newBytes)
        if batch.changesDemand || batch.changesShares && isShort {
            isPlanning = true
            effects.append(.assessSpace(isProgress: false))
        } else if batch.newBytes > 0, !isPlanning {
            effects.append(.assessSpace(isProgress: true))
        }
        // Downloads are started when it is known which of them have space.
        if !isPlanning { effects += tasks.drainOrders(rejected: space.adopted.failures) }
        let state = UpkeepPlanner.State(
            isIdle: isIdle, conditionsDue: dependsOnConditions ? conditions.deadline : nil,
            allowsDiscretionary: conditions.allows)
        for effect in upkeep.plan(state, at: now) {
            if effect == .perform(.assessSpace) {
                isPlanning = true
                effects.append(.assessSpace(isProgress: false))
            } else {
                effects.append(effect)
            }
        }
        return effects
    }

    /// Requests a new assessment of the space if a download waits for space, or all writes are stopped.
    private mutating func reassessSpace() { if space.isBlocked { outcome.changesDemand = true } }
}

/// A moment on both of the daemon's clocks.
struct Moment: Sendable, Equatable {
    /// The time of the wall clock, used for schedules and events.
    var wall: WallTime
    /// The time of a clock that continues while the machine is suspended; used for intervals.
    var uptime: Instant

    /// Whole seconds since 1970.
    var seconds: Int64 { wall.seconds }
}
