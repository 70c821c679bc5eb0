internal import Platform

/// The delivery of events to the owner, and the number of events that it has processed.
///
/// Confined to the engine's thread.
struct EngineReports {
    private let events: @Sendable (TransferEvent) -> Void
    private let iterationEnded: @Sendable (Instant) -> Duration?
    /// The number of events sent so far.
    private var emitted = 0
    /// The number of events that the owner has processed.
    private var acknowledged = 0

    init(
        events: @escaping @Sendable (TransferEvent) -> Void, iterationEnded: @escaping @Sendable (Instant) -> Duration?
    ) {
        self.events = events
        self.iterationEnded = iterationEnded
    }

    /// Sends an event.
    ///
    /// - Returns: Its number, for `isAcknowledged`.
    mutating func emit(_ event: TransferEvent) -> Int {
        emitted += 1
        events(event)
        return emitted
    }

    mutating func acknowledge(_ count: Int) { acknowledged += count }

    /// Whether the owner has processed the event with this number. The sources that the owner's loaders return then
    /// reflect the event.
    func isAcknowledged(_ event: Int) -> Bool { event <= acknowledged }

    /// Notifies the owner that all pending events and answers have been delivered.
    ///
    /// - Returns: The maximum delay until the next call, if any.
    func finishIteration(now: Instant) -> Duration? { iterationEnded(now) }
}
