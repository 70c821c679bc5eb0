import Platform
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// A simulated driver of the core, with a model of the library, the engine, the disk and the clients. Checks invariants
/// after each step.
///
/// Works like the daemon's driver: a batch runs on a copy of the core, rows are written to the model's library together
/// or not at all, and engine events stay queued until they are written.
struct CoreSimulation {
    struct Violation: Error, CustomStringConvertible {
        var description: String
    }

    struct Rejected: Error {}

    /// A row of the library.
    struct Row {
        var media: MediaID
        var session: String
        var isSuspended = false
        var hasFailed = false
    }

    /// The engine's state of a download.
    struct Transfer {
        var received: Int64 = 0
        var isSuspended = false
        var hasFailed = false
        var awaitsSpace = false
    }

    /// An event of the engine that the core has not handled yet.
    enum Fact {
        case progress(DownloadSnapshot)
        case completed(MediaID)
        case failed(MediaID)

        func isCompletion(of media: MediaID) -> Bool {
            if case .completed(media) = self { true } else { false }
        }

        var media: MediaID {
            switch self {
            case .progress(let snapshot): snapshot.key
            case .completed(let media), .failed(let media): media
            }
        }
    }

    static let idleExit: Duration = .seconds(300)
    static let size: Int64 = 100
    static let capacity: Int64 = 450

    var core = DaemonCore(limits: StorageLimits(capacity: capacity, keepFree: 0), idleExit: idleExit)
    var random: SeededGenerator
    var uptime: Instant = .seconds(1_000)
    var wall: WallTime = .seconds(1_700_000_000)
    // The library.
    var rows: [TaskID: Row] = [:]
    var cached: Set<MediaID> = []
    var lastTask: Int64 = 0
    var lastSequence: Int64 = 0
    /// The percentage of transactions that fail.
    var failureRate = 0
    // The engine.
    var transfers: [MediaID: Transfer] = [:]
    var hasStopped = false
    var facts: [Fact] = []
    /// Whether the last `takeFacts` left events in `facts` because their transactions failed.
    var hasFailedFacts = false
    var diskFree: Int64 = 1_000
    // Clients, and the number of commands without a response so far.
    var clients: Set<ClientID> = []
    var lastClient: Int64 = 0
    var commands = 0
    // The core's effects, and the state derived from them.
    var effects: [Effect] = []
    var abandoned: [MediaID] = []
    var wakesAt: Instant?
    /// The sequence number of the last broadcast event.
    var told: Int64 = 0
    /// The number of final events broadcast for each task.
    var ends: [TaskID: Int] = [:]
    var isFetching = false
    var isReadingConditions = false
    var hasLeft = false
    var log: [String] = []

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        try settle()
        try perform()
    }

    func check(_ holds: Bool, _ message: @autoclosure () -> String) throws {
        if !holds { throw Violation(description: message() + "\n" + log.suffix(40).joined(separator: "\n")) }
    }

    var now: Moment { Moment(wall: wall, uptime: uptime) }

    // MARK: The driver

    mutating func handle(_ inputs: Input...) throws { try handle(inputs) }

    /// Handles inputs that cause no rows to be written, so that no transaction can fail.
    mutating func handle(_ inputs: [Input]) throws {
        do {
            try change { _, _ in inputs }
        } catch is Rejected {
            try check(false, "an input without rows was rejected")
        }
    }

    /// Handles inputs and writes their rows in one transaction, which may fail.
    mutating func change(
        _ body: (inout [TaskID: Row], inout Int64) throws -> [Input]
    ) throws {
        if core.tasks.lacksSequences {
            core.reserve(lastSequence + 1..<lastSequence + 10_001)
            lastSequence += 10_000
        }
        var copy = core
        var newRows = rows
        var newTask = lastTask
        var newCached = cached
        var hasRows = false
        var wanted: [Effect] = []
        for input in try body(&newRows, &newTask) {
            log.append("\(input)")
            if case .registered = input { hasRows = true }
            if case .completed(let media, _, _) = input {
                newCached.insert(media)
                hasRows = true
            }
            for effect in copy.handle(input, at: now) {
                guard case .write(let row) = effect else {
                    wanted.append(effect)
                    continue
                }
                hasRows = true
                switch row {
                case .received, .event, .uploadFailed, .uploadRemoved: break
                case .removed(let id): newRows[id] = nil
                case .failed(let id, _): newRows[id]?.hasFailed = true
                case .suspended(let id, let suspended): newRows[id]?.isSuspended = suspended
                }
            }
        }
        if hasRows, random.chance(failureRate) {
            log.append("- the transaction fails")
            throw Rejected()
        }
        core = copy
        rows = newRows
        // The library removes the rows of completed downloads.
        for media in newCached.subtracting(cached) { rows = rows.filter { $0.value.media != media } }
        cached = newCached
        lastTask = newTask
        effects += wanted
        try settle()
    }

    mutating func settle() throws {
        effects += core.handle(.fetching(isFetching), at: now)
        let wanted = core.finishBatch(at: now)
        if wanted.contains(.runIdleHook) { try check(!hasActive, "an idle event although something goes on") }
        effects += wanted
        if core.isIdle { try checkThatNothingIsLeft() }
    }

    /// Performs all effects in order, then the cancellations that they have caused. Effects caused by an effect are
    /// performed after those already queued.
    mutating func perform() throws {
        while !effects.isEmpty {
            let effect = effects.removeFirst()
            log.append("→ \(effect)")
            try perform(effect)
        }
        // In the daemon a cancellation takes a while, so the other effects of the same batch are performed first.
        guard !abandoned.isEmpty else { return }
        let media = abandoned
        abandoned = []
        for media in media { try end(media) }
        try perform()
    }

    mutating func perform(_ effect: Effect) throws {
        switch effect {
        case .write: try check(false, "a row came after its transaction")
        case .run(let media, let isSuspended, _):
            // If the engine has already completed this download, ignore `run`: the core may not have received the event
            // of the completion yet.
            guard !cached.contains(media), !facts.contains(where: { $0.isCompletion(of: media) }) else { return }
            var transfer = transfers[media] ?? Transfer(awaitsSpace: core.space.waiting[media] != nil)
            transfer.isSuspended = isSuspended
            if !isSuspended { transfer.hasFailed = false }
            transfers[media] = transfer
            report(media)
        case .awaitSpace(let media, let reason):
            transfers[media]?.awaitsSpace = reason != nil
            report(media)
        case .exceedsSpace: try check(false, "a file smaller than the cache was refused for its size")
        case .stopWriting(let reason):
            hasStopped = reason != nil
            for media in transfers.keys.sorted() { report(media) }
        case .allowDiscretionary, .clearFutureSchedules, .moveUnsent, .workEnded, .runDownloadHook, .runIdleHook,
            .perform:
            break
        case .abandon(let media, _):
            if core.tasks.downloads[media]?.session == ClientSession.clientBound { abandoned.append(media) }
        case .assessSpace:
            var evicted: [Input] = []
            let plan = plan(&evicted)
            try handle(evicted + [.planned(plan)])
        case .readSchedule:
            var due: [Chore: WallTime] = [:]
            for chore in [Chore.backUp, .refresh, .synchronize] where random.chance(50) {
                due[chore] = .seconds(now.seconds + Int64.random(in: -10...2_000, using: &random))
            }
            try handle(.scheduled(due))
        case .readConditions:
            try check(!isReadingConditions, "the conditions are read twice at a time")
            isReadingConditions = true
        case .broadcast(let event): try hear(event)
        case .wake(let deadline): wakesAt = deadline
        case .leave:
            try checkThatNothingIsLeft()
            hasLeft = true
        }
    }

    mutating func hear(_ event: Event) throws {
        try check(event.sequence > told, "event \(event.sequence) comes after \(told)")
        told = event.sequence
        guard let report = event.task, report.id != 0, report.kind == .download else { return }
        let task = report.id
        if event.kind == .completed || report.state == .remote {
            ends[task, default: 0] += 1
            try check(ends[task] == 1, "task \(task) ends for the second time")
        }
    }

    var hasActive: Bool {
        core.tasks.downloads.values.contains { $0.isUnderWay && core.space.waiting[$0.media] == nil }
    }

    // MARK: Checks

    /// Checks that no work is left, mainly against the model's state, so that an error in the core's state is found.
    func checkThatNothingIsLeft() throws {
        try check(clients.isEmpty, "it leaves although a client is connected")
        try check(commands == 0 && !isFetching, "it leaves although something is under way")
        try check(facts.isEmpty || !hasFailedFacts, "it leaves although something is not written")
        for (id, row) in rows where !row.isSuspended && !row.hasFailed {
            let isHeld = core.tasks.held.contains(row.media)
            let waits = core.space.waiting[row.media] != nil
            let state = core.tasks.downloads[row.media]?.snapshot.state
            try check(
                waits || isHeld || state == .suspended || state == .failed, "it leaves although \(id) could go on")
        }
    }

    /// Checks that the core's tasks are exactly the library's rows.
    func checkTasks() throws {
        let known = Set(core.tasks.downloads.values.map(\.id))
        try check(known == Set(rows.keys), "tasks \(known.sorted()), rows \(rows.keys.sorted())")
        for task in core.tasks.downloads.values {
            try check(rows[task.id]?.isSuspended == task.isSuspended, "\(task.id) is suspended here and not there")
        }
    }

    // MARK: The end

    /// Disconnects all clients and lets all work finish. Checks that the daemon then exits, and that no task was lost.
    mutating func finish() throws {
        failureRate = 0
        diskFree = 10_000
        isFetching = false
        while !clients.isEmpty {
            try disconnect()
            try perform()
        }
        while commands > 0 {
            try answerCommand()
            try perform()
        }
        try handle(.fetching(false))
        for _ in 0..<200 where !hasLeft {
            for media in transfers.keys.sorted() { try move(media) }
            try perform()
            try takeFacts()
            try perform()
            try pass(.seconds(20))
        }
        try checkTasks()
        try check(hasLeft, "it does not leave: \(core.list())")
        for row in rows.values {
            let isHalted = row.isSuspended || row.hasFailed
            if isHalted || core.space.waiting[row.media] != nil { continue }
            log = log.filter { $0.contains("\(row.media)") }
            try check(false, "a task was lost: \(row)")
        }
    }
}
