internal import Platform

/// A gate for discretionary work, set by the last reading of the network and power conditions.
///
/// The conditions are read only while work depends on them.
struct ConditionGate: Sendable {
    /// The age from which a reading is repeated. If a reading has at least twice this age when the next one begins,
    /// nothing is permitted until the next one arrives.
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

    /// The time of the next reading, if work depends on it then; `nil` before the first and while one is running.
    var deadline: Instant? { isReading ? nil : readAt.map { $0 + lifetime } }
}
