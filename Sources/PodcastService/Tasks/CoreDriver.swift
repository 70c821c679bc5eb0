internal import Foundation
internal import Glibc
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

/// The driver of `DaemonCore`: passes it inputs, writes the rows that it returns to the library, and performs its other
/// effects.
///
/// A batch of inputs is handled by a copy of the core. The batch's rows, and the library changes that go with them, are
/// written in one transaction. If it succeeds, the copy is adopted and the effects are performed, in order. If it
/// fails, the copy is dropped, and neither core nor library has changed.
@ServiceActor
final class CoreDriver: ServicePart {
    nonisolated let context: ServiceContext
    nonisolated var driver: CoreDriver { self }
    /// The queue of engine events and of the work that has to follow them.
    nonisolated let events: EventQueue
    /// The connected clients.
    nonisolated let clients = ClientTable()
    /// The downloads that clients have suspended, and those that wait for space in the cache, after the last batch.
    /// Read on the engine's thread by loaders, the closures with which the engine loads an episode's address, file and
    /// settings.
    nonisolated let view = Mutex<(held: Set<MediaID>, waiting: [MediaID: StorageShortage])>(([], [:]))
    private(set) var core: DaemonCore
    /// The other parts of the service.
    weak var service: PodcastService?
    /// The effects to perform, in order.
    private var effects: [Effect] = []
    /// Whether `perform()` runs; its loop also performs the effects that are added meanwhile.
    private var isPerforming = false
    /// Whether the core may start work by itself: only between `start` and `stop`.
    private(set) var isRunning = false
    private var timer: Task<Void, Never>?
    /// The number of running hooks, and the commands that wait, oldest first, with the variables that describe their
    /// episodes. A feed that changes the guids of all its episodes has thousands of new ones.
    var hooks: (running: Int, waiting: [(command: String, variables: [String: String])]) = (0, [])
    /// Whether files are being evicted for a plan, which takes several turns if there are many, and whether the demand
    /// for space has changed since the plan was computed.
    var isEvicting = false
    var isPlanOutdated = false
    /// The files that programs had open when they were to be evicted, until a plan is adopted.
    var leased: Set<String> = []
    /// The earliest time of the next assessment of the space, and whether one will begin then.
    var nextAssessment: (earliest: Instant, isScheduled: Bool) = (.start, false)
    /// Items that could not be written, in order.
    var unwritten: [UnwrittenItem] = []
    /// Number of processed engine events that are not yet acknowledged to the engine.
    var unacknowledged = 0
    /// The times at which an open of each episode was last recorded.
    var lastOpens: [EpisodeID: Instant] = [:]

    init(_ context: ServiceContext, events: EventQueue) {
        self.context = context
        self.events = events
        core = DaemonCore(
            limits: context.configuration.storage, idleExit: context.configuration.idleExit,
            conditionLifetime: context.configuration.conditionLifetime)
    }

    // MARK: Batches

    /// Inputs that are handled together, and the work to do once they are written.
    struct Batch {
        fileprivate var core: DaemonCore
        let moment: Moment
        fileprivate var effects: [Effect] = []
        fileprivate var afterwards: [@ServiceActor () -> Void] = []
        fileprivate let write: @ServiceActor (Effect.Row) throws -> Void

        var tasks: TaskRegistry { core.tasks }

        /// Handles an input: writes its rows, and collects its other effects.
        @ServiceActor mutating func handle(_ input: Input) throws {
            for effect in core.handle(input, at: moment) {
                if case .write(let row) = effect { try write(row) } else { effects.append(effect) }
            }
        }

        /// Schedules `body` to run after the transaction has succeeded. It is dropped if the transaction fails.
        mutating func whenWritten(_ body: @escaping @ServiceActor () -> Void) { afterwards.append(body) }
    }

    /// Writes the changes of `body` and the rows of its inputs, in one transaction.
    ///
    /// - Throws: the errors of `body`, and the library's if the transaction fails. Core and library are then unchanged.
    @discardableResult
    func change<Value>(_ body: (inout Batch) throws -> Value) throws -> Value {
        reserveSequences()
        var batch = Batch(core: core, moment: moment, write: { [self] in try write($0) })
        let value = try library.group { try body(&batch) }
        adopt(batch)
        return value
    }

    /// Handles inputs and writes their rows, without other library changes: in one transaction, or in none if there are
    /// no rows; see `change`.
    func handle(_ inputs: [Input]) throws {
        reserveSequences()
        var batch = Batch(core: core, moment: moment, write: { [self] in try write($0) })
        for input in inputs { batch.effects += batch.core.handle(input, at: batch.moment) }
        let rows = batch.effects.compactMap { if case .write(let row) = $0 { row } else { nil } }
        if !rows.isEmpty { try library.group { for row in rows { try write(row) } } }
        adopt(batch)
    }

    /// Handles inputs that report past events. An error is logged; if there are several inputs, each is then handled by
    /// itself.
    func report(_ inputs: [Input]) {
        if !attempt({ try handle(inputs) }), inputs.count > 1 { for input in inputs { report(input) } }
    }

    func report(_ inputs: Input...) { report(inputs) }

    /// Returns the current time in seconds since 1970, after the core has adjusted stored times if the clock was set.
    func adjustedNow() -> Int64 {
        report([])
        return now()
    }

    private func reserveSequences() {
        // Each event needs a sequence number. Reserve many at a time, because progress is broadcast four times a second
        // and each reservation is a transaction.
        guard core.tasks.lacksSequences else { return }
        attempt { core.reserve(try library.reserveSequences(10_000)) }
    }

    private func adopt(_ batch: Batch) {
        core = batch.core
        let present = (core.tasks.held, core.space.waiting)
        view.withLock { $0 = present }
        effects += batch.effects
        for body in batch.afterwards { body() }
        finishBatch()
    }

    /// Collects the effects that the core derives from all inputs so far, such as starts of downloads. Performs them.
    private func finishBatch() {
        if isRunning {
            let moment = moment
            effects += core.handle(.fetching(service?.refresher.isFetching ?? false), at: moment)
            effects += core.finishBatch(at: moment)
        }
        perform()
    }

    /// Starts processing events and scheduled work. Call after loading the state of the previous daemon.
    func start() {
        isRunning = true
        startTask { [weak self, wakes = events.wakes] in for await _ in wakes { self?.drainEvents() } }
        finishBatch()
    }

    /// Stops scheduled work.
    func stop() {
        isRunning = false
        timer?.cancel()
        if !hooks.waiting.isEmpty { log.warning("\(hooks.waiting.count) hooks did not run, because the daemon exits") }
        hooks.waiting = []
    }

    private func write(_ row: Effect.Row) throws {
        switch row {
        case .received(let media, let generation, let bytes):
            try library.recordReceived(episode: media.episode, generation: generation, bytes: bytes)
        case .removed(let task): try library.removeDownload(id: task)
        case .failed(let task, let error):
            try library.fail(download: task, error: error.message, errorNumber: Int(error.errorNumber))
        case .suspended(let task, let suspended): try library.setSuspended(download: task, suspended)
        case .event(let event): try library.store(event)
        case .uploadFailed(let task, let error, let event):
            try library.update(upload: task, keeping: event) { $0.error = error.message }
        case .uploadRemoved(let task, let event):
            try library.removeUpload(id: task, keeping: event)
        }
    }

    // MARK: Effects

    /// Performs the pending effects, then those that they cause.
    private func perform() {
        if isPerforming { return }
        isPerforming = true
        defer { isPerforming = false }
        while !effects.isEmpty {
            let batch = effects
            effects = []
            for effect in batch { perform(effect) }
        }
    }

    private func perform(_ effect: Effect) {
        switch effect {
        // The transaction has already written it.
        case .write: break
        case .run(let media, let isSuspended, let priority):
            let load = loader(media.episode)
            engine.setSuspended(media, isSuspended, load: load)
            if !isSuspended { engine.fill(media, priority: priority, load: load) }
        case .awaitSpace(let media, let reason):
            engine.setAwaitsSpace(media, reason.map(Self.error))
            if let reason, let path = core.tasks.downloads[media]?.path {
                log.info("\(path) waits: \(Self.error(reason).message)")
            }
        case .exceedsSpace(let media, let reason): engine.exceedsSpace(media, Self.error(reason))
        case .stopWriting(let reason):
            if let reason { log.warning("\(Self.error(reason).message)") }
            if reason == nil { log.info("there is space in the cache again: transfers continue") }
            engine.setStorageFull(reason.map(Self.error), allowsRetry: reason?.limit == .write)
        case .allowDiscretionary(let allowed): engine.setDiscretionary(allowed: allowed)
        case .abandon(let media, let isEphemeral): service?.tasks.abandon(media.episode, isEphemeral: isEphemeral)
        case .assessSpace(let isProgress): assessSpace(isProgress: isProgress)
        case .readSchedule: if let schedule = service?.schedule { report(.scheduled(schedule)) }
        case .readConditions: readConditions()
        case .broadcast(let event): broadcast(event)
        case .runDownloadHook(let media): runHook(configuration.onDownload, episode: media.episode)
        case .runIdleHook: runHook(configuration.onIdle, episode: nil)
        case .perform(.writeAgain): writeAgain()
        case .perform(let chore): service?.perform(chore)
        case .clearFutureSchedules:
            let (refresh, sync) = (configuration.schedule.longestDelay, configuration.sync.longestWait)
            attempt { try library.clearFutureSchedules(now: now(), longestRefresh: refresh, longestSync: sync) }
        case .moveUnsent(let jump): attempt { try library.moveUnsent(by: jump.seconds) }
        case .wake(let deadline): wake(at: deadline)
        case .workEnded: configuration.onWork()
        case .leave:
            if core.isIdle { log.info("idle for \(configuration.idleExit.seconds) s: exiting") }
            service?.onIdle()
        }
    }

    /// Reads the network and power conditions on a thread that may block.
    private func readConditions() {
        let read = configuration.conditions
        startTask { [self] in
            let conditions = await withCheckedContinuation { continuation in
                DispatchQueue(label: "podfs.conditions").async { continuation.resume(returning: read()) }
            }
            report(
                .conditions(
                    allowDiscretionary: conditions.allowsDiscretionary(
                        allowMetered: configuration.allowsMetered, allowBattery: configuration.allowsBattery)))
        }
    }

    private func broadcast(_ event: Event) {
        var event = event
        // A waiting open has no task, and so no path; clients display it by the path of its episode.
        if case .state(var info) = event.body, info.path.isEmpty, info.error != nil,
            let facts = info.episode.flatMap(facts(of:))
        {
            (info.path, info.estimate) = facts
            event.body = .state(info)
        }
        clients.broadcast(event)
        let name = event.path ?? event.episode.map { "episode \($0)" } ?? ""
        switch event.body {
        case .completed(let task):
            log.info("\(task.kind == .upload ? "published" : "complete"): \(name), \(task.expected ?? 0) bytes")
        case .failed(let task): log.warning("failed: \(name): \(task.error ?? "")")
        case .progress, .state, .episode, .show, .view, .listening, .idle: break
        }
    }

    private func wake(at deadline: Instant) {
        timer?.cancel()
        let pause = max(.zero, deadline - moment.uptime)
        timer = startTask { [weak self] in
            await Timers.sleep(for: pause)
            guard !Task.isCancelled else { return }
            self?.report(.tick)
        }
    }

    // MARK: Work

    /// Runs `body`; the daemon does not exit before it has finished.
    func underWay<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        report(.began)
        defer { report(.finished) }
        return try await body()
    }

    /// Starts work in the background, and logs the error that it throws. The daemon does not exit before it has
    /// finished.
    func startWork(_ body: @escaping @ServiceActor () async throws -> Void) {
        startTask { [self] in _ = await underWay { await attemptAsync(body) } }
    }

    /// Registers a fetch as a task until `finishFetch`.
    func beginFetch(path: String, kind: TaskInfo.Kind = .refresh) -> TaskID {
        let task = TaskInfo(
            id: context.newTask(), kind: kind, path: path, state: .running, started: now())
        report(.updated(task))
        return task.id
    }

    func finishFetch(_ task: TaskID) { report(.taskEnded(task, .remote)) }

    /// Returns an event for a single client.
    func event(_ body: Event.Body) -> Event {
        reserveSequences()
        return core.event(body, at: moment)
    }

    /// Broadcasts that a visible episode has changed in the library.
    func changed(episode: EpisodeID, formerName: String? = nil) {
        report(.changedEpisode(episode, formerName: formerName))
    }

    /// Broadcasts that a show or its list of episodes has changed.
    func changed(podcast: ShowID, name: String, formerName: String? = nil) {
        report(.changedShow(podcast, name: name, formerName: formerName))
    }
}
