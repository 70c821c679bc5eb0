internal import Platform
internal import Synchronization
internal import Transfers

/// Progress of a feed download.
struct FeedProgress: Sendable, Equatable {
    /// Bytes received, after decompression.
    var received: Int64 = 0
    /// Expected bytes; `nil` if the response has no Content-Length, or is compressed.
    var expected: Int64?
}

/// The progress reports of a feed download, sent at intervals while bytes arrive. Each received byte is included in a
/// report within one interval, unless the download ends first.
final class FeedMeter: Sendable {
    private struct State {
        var progress = FeedProgress()
        /// Bytes received when the last report was sent.
        var reported: Int64 = 0
        var hasTimer = false
        var hasEnded = false
    }

    private let onProgress: @Sendable (FeedProgress) -> Void
    private let state = Mutex(State())

    /// The interval of reports, the same as for downloads of episodes. Most feeds arrive before the first report.
    private static let interval = Duration.milliseconds(250)

    /// - Parameter onProgress: called on any thread.
    init(_ onProgress: @escaping @Sendable (FeedProgress) -> Void) { self.onProgress = onProgress }

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
    func finish() { state.withLock { $0.hasEnded = true } }

    private func startTimer() {
        Timers.after(Self.interval) { [self] in
            let news = state.withLock { state -> FeedProgress? in
                guard !state.hasEnded, state.progress.received > state.reported else {
                    state.hasTimer = false
                    return nil
                }
                state.reported = state.progress.received
                return state.progress
            }
            guard let news else { return }
            onProgress(news)
            startTimer()
        }
    }
}
