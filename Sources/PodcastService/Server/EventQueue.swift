internal import DaemonCore
internal import Platform
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// What the engine reports, and what has to come after it, in order, until it is taken.
///
/// News that nobody waits for is handed on after a moment, with what else has come by then: to write down a small episode
/// that is opened, received and complete takes six transactions when each report is written by itself, and these would
/// run while its first reader waits for bytes. Thread-safe.
final class EventQueue: Sendable {
    enum Item: Sendable {
        case transfer(TransferEvent)
        case connected(ClientID)
        /// A client has gone, with these episodes open until then.
        case left(ClientID, opens: Set<EpisodeID>)
        /// A program has opened an episode.
        case opened(EpisodeID)
        /// A program has closed an episode, also one that an earlier daemon has opened for it.
        case closed(EpisodeID)
        /// Work that is done after what stands before it.
        case marker(@Sendable () -> Void)
    }

    private struct State {
        var items: [Item] = []
        var hasTimer = false
        /// Since when there is something for which the engine keeps the time, in its milliseconds.
        var restsSince: Int64?
        /// Somebody has been told of what is there.
        var isAwaited = false
    }

    private let state = Mutex(State())
    private let wake: AsyncStream<Void>.Continuation
    /// Gives a value when there is something to be taken.
    let wakes: AsyncStream<Void>

    /// How long news rests, in milliseconds: longer than a reader waits for the first bytes of a near server (1.5 ms), and
    /// nothing to a person.
    private static let patience = 10

    init() { (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    /// What is not urgent is handed on some time after `settle`.
    func put(_ item: Item) {
        let isUrgent = item.isUrgent
        let wakes = state.withLock { state in
            state.items.append(item)
            guard isUrgent, !state.isAwaited else { return false }
            state.isAwaited = true
            return true
        }
        if wakes { wake.yield() }
    }

    /// Whoever has put something has done what is more urgent: to set a timer wakes up another thread.
    func settle() {
        let needsTimer = state.withLock { state in
            guard !state.items.isEmpty, !state.isAwaited, !state.hasTimer, state.restsSince == nil else { return false }
            state.hasTimer = true
            return true
        }
        if needsTimer { startTimer() }
    }

    /// As `settle()`, of the engine's thread, which keeps the time itself: to wake up another one then would take a processor
    /// from the reader who has just been answered.
    ///
    /// - Parameter now: in milliseconds.
    /// - Returns: after how many this is to be called again at the latest; `nil` when nothing rests.
    func settle(now: Int64) -> Int64? {
        let (pause, wakes) = state.withLock { state -> (Int64?, Bool) in
            guard !state.items.isEmpty, !state.isAwaited, !state.hasTimer else {
                state.restsSince = nil
                return (nil, false)
            }
            let rested = now - (state.restsSince ?? now)
            guard rested >= Self.patience else {
                state.restsSince = now - rested
                return (Int64(Self.patience) - rested, false)
            }
            state.restsSince = nil
            state.isAwaited = true
            return (nil, true)
        }
        if wakes { wake.yield() }
        return pause
    }

    /// Takes all that is there, the oldest first.
    func take() -> [Item] {
        state.withLock { state in
            state.isAwaited = false
            state.restsSince = nil
            defer { state.items = [] }
            return state.items
        }
    }

    private func startTimer() {
        Timers.after(.milliseconds(Self.patience)) { [self] in
            let wakes = state.withLock { state in
                state.hasTimer = false
                guard !state.items.isEmpty, !state.isAwaited else { return false }
                state.isAwaited = true
                return true
            }
            if wakes { wake.yield() }
        }
    }
}

extension EventQueue.Item {
    /// Somebody waits for it, or what it leads to is not for the library alone.
    var isUrgent: Bool { !isRecord }

    /// It is written to the library, and told to those who watch; nothing else depends on it.
    var isRecord: Bool {
        switch self {
        case .opened: true
        case .marker, .connected, .left, .closed: false
        case .transfer(let event):
            switch event {
            case .confirmed, .fileCreated, .progress, .completed: true
            case .abandoned, .failed, .storageFull, .addressRefused, .upload: false
            }
        }
    }

    /// What has happened whether or not it can be written: it is tried again. Of progress the next report says more.
    var isFact: Bool {
        switch self {
        case .transfer(.progress(let snapshot)): snapshot.state != .running && snapshot.state != .queued
        case .transfer(.upload(.progress)), .transfer(.storageFull), .transfer(.addressRefused): false
        case .transfer: true
        case .opened, .closed, .marker, .connected, .left: false
        }
    }

    /// What an event of the engine is about.
    var subject: Subject? {
        guard case .transfer(let event) = self else { return nil }
        switch event {
        case .confirmed(let key, _, _), .fileCreated(let key, _, _, _, _), .abandoned(let key, _, _),
            .completed(let key, _, _, _), .failed(let key, _):
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
