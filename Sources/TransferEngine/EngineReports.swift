internal import Platform

/// The events sent to the owner, and the number that it has processed.
///
/// Confined to the engine's thread.
struct EngineReports {
    private let events: @Sendable (TransferEvent) -> Void
    private let turnEnded: @Sendable (Instant) -> Duration?
    private var told = 0
    private var taken = 0

    init(
        events: @escaping @Sendable (TransferEvent) -> Void, turnEnded: @escaping @Sendable (Instant) -> Duration?
    ) {
        self.events = events
        self.turnEnded = turnEnded
    }

    /// Sends an event.
    ///
    /// - Returns: Its number, for `isTaken`.
    mutating func emit(_ event: TransferEvent) -> Int {
        told += 1
        events(event)
        return told
    }

    mutating func take(_ count: Int) { taken += count }

    /// Whether the owner has processed the event with this number, so that its loaders reflect it.
    func isTaken(_ event: Int) -> Bool { event <= taken }

    /// Notifies the owner that all pending events and answers have been delivered.
    ///
    /// - Returns: The maximum delay until the next call, if any.
    func endTurn(now: Instant) -> Duration? { turnEnded(now) }
}
