internal import Platform
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

/// A queue of the engine's and the clients' events, and of work that has to follow them. Preserves the order.
///
/// Events that nobody waits for are delivered in batches, after a short delay. If each event were recorded by itself, a
/// small episode that is opened, received and completed would take six transactions, which would run while the first
/// reader waits for bytes. Thread-safe.
final class EventQueue: Sendable {
    enum Item: Sendable {
        case transfer(TransferEvent)
        /// A program has opened an episode.
        case opened(EpisodeID)
        /// Work to run after the preceding items.
        case marker(@Sendable @ServiceActor () -> Void)
    }

    private struct State {
        var items: [Item] = []
        /// The time at which the engine's thread began to time the delay; `nil` if no delay is being timed.
        var delayStart: Instant?
        /// Whether the consumer has been woken for the queued items.
        var isWoken = false
    }

    private let state = Mutex(State())
    private let wake: AsyncStream<Void>.Continuation
    /// Yields a value when items are ready.
    let wakes: AsyncStream<Void>

    /// Delay of non-urgent items: longer than a reader waits for the first bytes from a nearby server (1.5 ms), and not
    /// noticeable to a person.
    private static let deliveryDelay = Duration.milliseconds(10)

    init() { (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    deinit { wake.finish() }

    /// Queues an item. An urgent item is delivered at once, together with the items before it. Any other item is
    /// delivered after the delay, which the engine's thread times.
    ///
    /// - Parameter isUrgent: `nil` if the item determines it: items that are not only recorded are urgent.
    func enqueue(_ item: Item, isUrgent: Bool? = nil) {
        let wakes = state.withLock { state in
            state.items.append(item)
            guard isUrgent ?? !item.isRecord, !state.isWoken else { return false }
            state.isWoken = true
            return true
        }
        if wakes { wake.yield() }
    }

    /// Schedules delivery of the queued items. Called on the engine's thread, which times the delay itself: waking
    /// another thread would delay the reader to which it has just replied.
    ///
    /// - Parameter now: the engine's time.
    /// - Returns: the time until the next call is due; `nil` if nothing is delayed.
    func scheduleDelivery(now: Instant) -> Duration? {
        let (pause, wakes) = state.withLock { state -> (Duration?, Bool) in
            guard !state.items.isEmpty, !state.isWoken else {
                state.delayStart = nil
                return (nil, false)
            }
            let since = state.delayStart ?? now
            guard now - since >= Self.deliveryDelay else {
                state.delayStart = since
                return (Self.deliveryDelay - (now - since), false)
            }
            state.delayStart = nil
            state.isWoken = true
            return (nil, true)
        }
        if wakes { wake.yield() }
        return pause
    }

    /// Removes and returns all items, oldest first.
    func drain() -> [Item] {
        state.withLock { state in
            state.isWoken = false
            state.delayStart = nil
            defer { state.items = [] }
            return state.items
        }
    }
}

extension EventQueue.Item {
    /// Whether the event is only recorded in the library and broadcast. Otherwise a client waits for it, or it affects
    /// more than the library.
    var isRecord: Bool {
        switch self {
        case .opened, .transfer(.confirmed), .transfer(.fileCreated), .transfer(.progress), .transfer(.completed): true
        case .transfer, .marker: false
        }
    }

    /// Whether the write of this item is retried after a failure. The progress of an upload, or of a running or queued
    /// download, is not retried: the next report supersedes it. Neither are opens.
    var isRetried: Bool {
        switch self {
        case .transfer(.progress(let snapshot)): !snapshot.state.isActive
        case .transfer(.upload(.progress)), .opened, .marker: false
        case .transfer: true
        }
    }

    /// The `MediaID` or `TaskID` of the download or upload that an engine event concerns; `nil` for other items.
    var subject: AnyHashable? {
        guard case .transfer(let event) = self else { return nil }
        switch event {
        case .confirmed(let key, _, _), .fileCreated(let key, _, _, _, _), .abandoned(let key, _, _),
            .completed(let key, _, _), .failed(let key, _):
            return key
        case .progress(let snapshot): return snapshot.key
        case .upload(.record(let key, _, _)), .upload(.doubtful(let key, _)), .upload(.completed(let key, _)),
            .upload(.failed(let key, _)):
            return key
        case .upload(.progress(let snapshot)): return snapshot.key
        case .storageFull, .addressRefused: return nil
        }
    }
}
