internal import Platform

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
