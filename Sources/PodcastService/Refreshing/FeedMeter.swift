internal import Platform
internal import Synchronization
internal import TransferCore

/// How far the answer to a request for a feed is.
struct FeedProgress: Sendable, Equatable {
    /// Bytes, as they were before the server compressed them.
    var received: Int64 = 0
    /// `nil` when the server does not say, or says it of the compressed bytes.
    var expected: Int64?
}

/// Tells how far an answer is: now and then while bytes come, and once more when no more have come for a while.
final class FeedMeter: Sendable {
    private struct State {
        var progress = FeedProgress()
        var told: Int64 = 0
        var hasTimer = false
        var hasEnded = false
    }

    private let tell: @Sendable (FeedProgress) -> Void
    private let state = Mutex(State())

    /// As often as the progress of downloads is told, in milliseconds. The beginning is no news: most feeds are here before
    /// there is any.
    private static let interval = Duration.milliseconds(250)

    /// - Parameter tell: called on any thread.
    init(_ tell: @escaping @Sendable (FeedProgress) -> Void) { self.tell = tell }

    func begin(_ head: ResponseHead) {
        let isCompressed = head["content-encoding"].map { $0.lowercased() != "identity" } ?? false
        let expected = isCompressed ? nil : head.contentLength
        state.withLock { $0.progress.expected = expected }
    }

    func advance(by count: Int) {
        let needsTimer = state.withLock { state in
            state.progress.received += Int64(count)
            defer { state.hasTimer = true }
            return !state.hasTimer
        }
        if needsTimer { startTimer() }
    }

    /// Nothing is told from here on.
    func end() { state.withLock { $0.hasEnded = true } }

    private func startTimer() {
        Timers.after(Self.interval) { [self] in
            let news = state.withLock { state -> FeedProgress? in
                guard !state.hasEnded, state.progress.received > state.told else {
                    state.hasTimer = false
                    return nil
                }
                state.told = state.progress.received
                return state.progress
            }
            guard let news else { return }
            tell(news)
            startTimer()
        }
    }
}
