internal import Platform
internal import Synchronization
internal import TransferCore

/// Progress of a feed download.
struct FeedProgress: Sendable, Equatable {
    /// Bytes received, after decompression.
    var received: Int64 = 0
    /// Expected bytes; `nil` if the server does not say, or gives the compressed size.
    var expected: Int64?
}

/// Reports the progress of a feed download at intervals while bytes arrive. The last report follows the last bytes
/// within one interval, unless the download ends before.
final class FeedMeter: Sendable {
    private struct State {
        var progress = FeedProgress()
        var told: Int64 = 0
        var hasTimer = false
        var hasEnded = false
    }

    private let tell: @Sendable (FeedProgress) -> Void
    private let state = Mutex(State())

    /// Interval of reports, as for downloads. Most feeds arrive before the first report.
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

    /// Stops reporting.
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
