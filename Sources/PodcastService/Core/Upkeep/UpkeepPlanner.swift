internal import Platform

/// The schedule of the daemon's own work and of its exit when idle, derived from its state after each batch of inputs.
struct UpkeepPlanner: Sendable {
    /// The part of the daemon's state that the schedule depends on.
    struct State {
        /// Whether no client is connected, nothing is running or waits to be written, and no task could proceed.
        var isIdle: Bool
        /// The time at which the network and power conditions have to be read again; `nil` if no work depends on them.
        var conditionsDue: Instant?
        /// Whether the network and power conditions permit discretionary work.
        var allowsDiscretionary = true

        /// Whether a chore waits for the network and power conditions.
        func delays(_ chore: Chore) -> Bool { chore == .fetchCovers && !allowsDiscretionary }
    }

    private let idleExit: Duration
    /// The due time of each chore.
    private(set) var due: [Chore: WallTime] = [:]
    /// Whether the due times may have changed since the daemon last read them (`readSchedule`).
    private var isStale = true
    /// The time at which the due times were last read, or a due chore was performed.
    private var readAt: Instant?
    /// The start of the daemon's idle time; `nil` while it is not idle.
    private var idleSince: Instant?
    /// Whether `plan` has returned `leave` since the daemon became idle.
    private(set) var isLeaving = false
    /// The time for which the next `tick` is scheduled.
    private var wakesAt: Instant?
    /// The time at which the last `tick` arrived.
    private var tickedAt: Instant?
    /// The times on both clocks when they were last compared.
    private var clock: Moment?

    /// The longest time without a tick. Due times refer to the wall clock, and a set clock wakes nothing. So the due
    /// times are compared with the clock at least this often, and a chore that was missed meanwhile is performed once.
    private static let longestSleep: Duration = .seconds(900)
    /// The minimum interval between two readings of the due times, since work may change them repeatedly, and between a
    /// chore and the next reading, to prevent a busy loop if the chore stays due.
    private static let readInterval: Duration = .seconds(1)
    /// The largest change of the wall clock that counts as a correction: beyond it, the clock was set.
    private static let clockTolerance: Duration = .seconds(60)
    /// The interval at which disk space is assessed again while the cache is full, since other programs may free space
    /// without notice.
    static let spaceInterval: Duration = .seconds(10)
    /// The time without changes after which the search index is updated. Each change postpones it, so that an import of
    /// many shows is over before they are indexed.
    static let indexDelay: Duration = .seconds(2)
    /// The interval at which engine events that could not be written are retried.
    static let writeInterval: Duration = .seconds(10)

    /// - Parameter idleExit: `daemon.idle_exit`.
    init(idleExit: Duration) { self.idleExit = idleExit }

    /// Marks the due times as possibly changed.
    mutating func reschedule() { isStale = true }

    /// Replaces the due times that the daemon computes from the library and its schedules. Those of other chores stay.
    mutating func schedule(_ moments: [Chore: WallTime]) {
        for chore in [Chore.backUp, .refresh, .synchronize, .upload, .fetchCovers, .archive, .updateViews] {
            due[chore] = moments[chore]
        }
    }

    mutating func set(_ chore: Chore, due moment: WallTime?) { due[chore] = moment }

    func isDue(_ chore: Chore, at now: Moment) -> Bool { due[chore].map { $0 <= now.wall } ?? false }

    mutating func tick(at now: Moment) {
        wakesAt = nil
        tickedAt = now.uptime
    }

    /// Returns the effects that are due. Adds a `wake` effect if no tick is scheduled, or the next one has to arrive
    /// earlier than scheduled.
    mutating func plan(_ state: State, at now: Moment) -> [Effect] {
        var effects = compareClocks(at: now)
        let chores = Chore.allCases.filter { isDue($0, at: now) && !state.delays($0) }
        for chore in chores { due[chore] = nil }
        if !chores.isEmpty {
            isStale = true
            readAt = now.uptime
        }
        effects += chores.map { .perform($0) }
        if due[.tidyUp] == nil { due[.tidyUp] = now.wall + Self.longestSleep }
        let readsAt = readAt.map { $0 + Self.readInterval } ?? now.uptime
        if isStale, readsAt <= now.uptime {
            isStale = false
            readAt = now.uptime
            effects.append(.readSchedule)
        }
        if !state.isIdle {
            (idleSince, isLeaving) = (nil, false)
        } else if !isLeaving {
            let since = idleSince ?? now.uptime
            idleSince = since
            isLeaving = now.uptime - since >= idleExit
            if isLeaving { effects.append(.leave) }
        }
        return effects + wake(readingAt: readsAt, state, at: now)
    }

    /// Detects that the wall clock was set, by comparing it with the uptime. If it was set back, shifts the due times.
    /// The first call has no earlier times to compare with. It returns `clearFutureSchedules`, since the clock may have
    /// been set back before the daemon started.
    private mutating func compareClocks(at now: Moment) -> [Effect] {
        defer { clock = now }
        guard let clock else { return [.clearFutureSchedules] }
        let jump = (now.wall - clock.wall) - (now.uptime - clock.uptime)
        guard jump > Self.clockTolerance || jump < .zero - Self.clockTolerance else { return [] }
        isStale = true
        let moves = Effect.moveUnsent(by: jump)
        guard jump < .zero else { return [moves] }
        due = due.mapValues { $0 + jump }
        return [moves, .clearFutureSchedules]
    }

    private mutating func wake(readingAt readsAt: Instant, _ state: State, at now: Moment) -> [Effect] {
        var deadline = (tickedAt ?? now.uptime) + Self.longestSleep
        // The margin covers the different resolutions of the two clocks.
        for (chore, moment) in due where moment < now.wall + Self.longestSleep && !state.delays(chore) {
            deadline = min(deadline, now.uptime + (moment - now.wall) + .milliseconds(10))
        }
        if isStale { deadline = min(deadline, readsAt) }
        if let due = state.conditionsDue { deadline = min(deadline, due) }
        if let idleSince, !isLeaving { deadline = min(deadline, idleSince + idleExit) }
        // An earlier wake is already scheduled, and does no harm.
        if let wakesAt, wakesAt <= deadline { return [] }
        wakesAt = deadline
        return [.wake(at: deadline)]
    }
}

/// A gate for discretionary work: tasks that the daemon starts by itself, and that may have to wait for an unmetered
/// network or for mains power. The last reading of these conditions opens or closes the gate.
///
/// The conditions are read only while work depends on them.
struct ConditionGate: Sendable {
    /// The age at which a reading is repeated. If the last reading is at least twice as old when the next one begins,
    /// no discretionary work is permitted until the result arrives.
    private let lifetime: Duration
    /// Whether discretionary work may run.
    private(set) var allows = true
    /// The time of the last reading.
    private var readAt: Instant?
    private var isReading = false

    init(lifetime: Duration) { self.lifetime = lifetime }

    /// Records a reading.
    mutating func record(_ allowed: Bool, at now: Moment) -> [Effect] {
        allows = allowed
        readAt = now.uptime
        isReading = false
        return [.allowDiscretionary(allowed)]
    }

    /// Requests a reading if the last one is at least `lifetime` old, or if there was none yet. Does nothing while a
    /// reading is running. If the last one is at least twice `lifetime` old, or if there was none yet, also withdraws
    /// the permission until the next `record`. Call while work depends on the conditions.
    mutating func demand(at now: Moment) -> [Effect] {
        let age = readAt.map { now.uptime - $0 }
        if isReading || age.map({ $0 < lifetime }) ?? false { return [] }
        isReading = true
        if !allows || age.map({ $0 < lifetime * 2 }) ?? false { return [.readConditions] }
        allows = false
        return [.allowDiscretionary(false), .readConditions]
    }

    /// The time of the next reading, which is due only if work depends on the conditions then. `nil` before the first
    /// reading has arrived, and while one is running.
    var deadline: Instant? { isReading ? nil : readAt.map { $0 + lifetime } }
}
