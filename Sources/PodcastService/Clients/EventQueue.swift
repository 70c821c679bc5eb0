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
        case connected(ClientID)
        /// A client disconnected, with these episodes still open.
        case disconnected(ClientID, opens: Set<EpisodeID>)
        /// A program has opened an episode.
        case opened(EpisodeID)
        /// A program has closed an episode; the open may have been granted by an earlier daemon.
        case closed(EpisodeID)
        /// Work to run after the preceding items.
        case marker(@Sendable () -> Void)
    }

    private struct State {
        var items: [Item] = []
        var hasTimer = false
        /// The time at which the engine's thread began to time the delay; `nil` if no delay is being timed there.
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
    /// delivered after the delay that `scheduleDelivery` starts.
    func enqueue(_ item: Item) {
        let isUrgent = item.isUrgent
        let wakes = state.withLock { state in
            state.items.append(item)
            guard isUrgent, !state.isWoken else { return false }
            state.isWoken = true
            return true
        }
        if wakes { wake.yield() }
    }

    /// Schedules delivery of the queued items. Call it after more urgent work, because setting a timer wakes another
    /// thread.
    func scheduleDelivery() {
        let needsTimer = state.withLock { state in
            guard !state.items.isEmpty, !state.isWoken, !state.hasTimer, state.delayStart == nil else { return false }
            state.hasTimer = true
            return true
        }
        if needsTimer { startTimer() }
    }

    /// Schedules delivery from the engine's thread, which times the delay itself: waking another thread would delay the
    /// reader to which it has just replied.
    ///
    /// - Parameter now: the engine's time.
    /// - Returns: the time until the next call is due; `nil` if nothing is delayed.
    func scheduleDelivery(now: Instant) -> Duration? {
        let (pause, wakes) = state.withLock { state -> (Duration?, Bool) in
            guard !state.items.isEmpty, !state.isWoken, !state.hasTimer else {
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

    private func startTimer() {
        Timers.after(Self.deliveryDelay) { [self] in
            let wakes = state.withLock { state in
                state.hasTimer = false
                guard !state.items.isEmpty, !state.isWoken else { return false }
                state.isWoken = true
                return true
            }
            if wakes { wake.yield() }
        }
    }
}

extension EventQueue.Item {
    /// Whether a client waits for the event, or the event affects more than the library.
    var isUrgent: Bool { !isRecord }

    /// Whether the event is only recorded in the library and broadcast.
    var isRecord: Bool {
        switch self {
        case .opened: true
        case .marker, .connected, .disconnected, .closed: false
        case .transfer(let event):
            switch event {
            case .confirmed, .fileCreated, .progress, .completed: true
            case .abandoned, .failed, .storageFull, .addressRefused, .upload: false
            }
        }
    }

    /// Whether the write of this item is retried after a failure. The progress of an upload, or of a running or queued
    /// download, is not retried: the next report supersedes it. Opens, and items that write no row, are not retried.
    var isRetried: Bool {
        switch self {
        case .transfer(.progress(let snapshot)): snapshot.state != .running && snapshot.state != .queued
        case .transfer(.upload(.progress)), .transfer(.storageFull), .transfer(.addressRefused): false
        case .transfer: true
        case .opened, .closed, .marker, .connected, .disconnected: false
        }
    }

    /// The download or upload that an engine event concerns; `nil` for other items.
    var subject: Subject? {
        guard case .transfer(let event) = self else { return nil }
        switch event {
        case .confirmed(let key, _, _), .fileCreated(let key, _, _, _, _), .abandoned(let key, _, _),
            .completed(let key, _, _), .failed(let key, _):
            return .medium(key)
        case .progress(let snapshot): return .medium(snapshot.key)
        case .upload(.record(let key, _, _)), .upload(.doubtful(let key, _)), .upload(.completed(let key, _)),
            .upload(.failed(let key, _)):
            return .upload(key)
        case .upload(.progress(let snapshot)): return .upload(snapshot.key)
        case .storageFull, .addressRefused: return nil
        }
    }

    enum Subject: Equatable {
        case medium(MediaID)
        case upload(TaskID)
    }
}
