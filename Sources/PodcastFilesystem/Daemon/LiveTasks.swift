internal import Platform
internal import PodcastLibrary
package import PodcastProtocol
internal import Synchronization
internal import Transfers

/// The daemon's tasks as last reported by its events, so that a FUSE request that shows their state need not wait for
/// the daemon.
package final class LiveTasks: Sendable {
    /// The key of a task: its episode, or the task's own id if it has no episode.
    private enum Key: Hashable {
        case episode(EpisodeID)
        case task(TaskID)
    }

    /// The error of the last open of an episode, or of a failed task.
    package struct RetryError: Sendable, Equatable {
        package var error: String
        /// Whether the open or task has failed with this error. If not, the open waits while the daemon tries again.
        package var isFinal: Bool
        /// The waiting open as a queued task; `nil` if the error is final or that of a task, or the path is unknown.
        var info: TaskInfo?
    }

    private struct State {
        private(set) var tasks: [Key: TaskInfo] = [:]
        /// The rates of the running tasks in bytes per second. Only these count: a suspended task's last rate no longer
        /// applies.
        private var running: [Key: Double] = [:]
        var retryErrors: [Key: RetryError] = [:]
        /// The received ranges of the previous generation, for episodes whose rendition was replaced.
        var past: [Key: (generation: Int, ranges: String)] = [:]
        var rates = RateHistory()

        mutating func set(_ key: Key, _ task: TaskInfo?) {
            tasks[key] = task.map { task in
                var task = task
                task.received = LiveTasks.bytes(task.received)
                task.expected = task.expected.map(LiveTasks.bytes)
                return task
            }
            running[key] = task?.state == .running ? task?.rate : nil
        }

        mutating func removeTasks() { (tasks, running) = ([:], [:]) }

        mutating func recordRate(_ second: Int64) { rates.record(running.values.reduce(0, +), at: second) }
    }

    private let state = Mutex(State())

    package init() {}

    /// Replaces all tasks and waiting opens with those of a newly connected daemon, or with none after the connection
    /// was lost. Errors other than those of waiting opens stay.
    package func replace(with tasks: [TaskInfo]) {
        state.withLock { state in
            state.removeTasks()
            state.retryErrors = state.retryErrors.filter { $0.value.info == nil }
            for info in tasks {
                if info.id == 0, let error = info.error {
                    state.retryErrors[Self.key(info)] = RetryError(error: error, isFinal: false, info: info)
                    continue
                }
                state.set(Self.key(info), info)
            }
            state.recordRate(SystemClock.monotonic.seconds)
        }
    }

    /// Clamps a byte count in a message of the daemon, so that the sum over all tasks does not overflow.
    package static func bytes(_ number: Int64) -> Int64 { min(max(number, 0), EpisodeSize.greatest) }

    private static func key(_ info: TaskInfo) -> Key { info.episode.map { .episode($0) } ?? .task(info.id) }

    /// Applies an event of the daemon.
    package func apply(_ event: Event) {
        guard let info = event.task, info.id != 0 || info.episode != nil else { return }
        let key = Self.key(info)
        let hasFailed = event.kind == .failed
        let now = SystemClock.monotonic.seconds
        state.withLock { state in
            defer { state.recordRate(now) }
            if hasFailed || info.state == .remote {
                state.retryErrors[key] = info.error.map { error in
                    var waiting = info
                    (waiting.state, waiting.started) = (.queued, event.time)
                    let isWaiting = !hasFailed && info.id == 0 && !info.path.isEmpty
                    return RetryError(error: error, isFinal: hasFailed, info: isWaiting ? waiting : nil)
                }
            } else if info.state != .failed {
                state.retryErrors[key] = nil
            }
            if let known = state.tasks[key], let old = known.generation, let new = info.generation, new > old,
                let ranges = known.ranges
            {
                state.past[key] = (old, ranges)
            }
            let hasEnded = event.endsTask && !hasFailed || info.state == .remote || info.state == .cached
            state.set(key, hasEnded || info.id == 0 ? nil : info)
        }
    }

    /// Returns the task of an episode; `nil` if it has none.
    package func task(of episode: EpisodeID) -> TaskInfo? { state.withLock { $0.tasks[.episode(episode)] } }

    /// Returns the last known cached ranges of a generation that was just replaced.
    func past(of episode: EpisodeID, generation: Int) -> ByteRanges? {
        state.withLock { state in
            guard let past = state.past[.episode(episode)], past.generation == generation else { return nil }
            return ByteRanges(text: past.ranges)
        }
    }

    package func retryError(of episode: EpisodeID) -> RetryError? {
        state.withLock { $0.retryErrors[.episode(episode)] }
    }

    /// The total rate of the running tasks in bytes per second, for each of the last `RateHistory.length` seconds,
    /// newest last.
    package var rates: [Double] {
        let now = SystemClock.monotonic.seconds
        return state.withLock { $0.rates.values(until: now) }
    }

    /// The tasks, and the opens that wait for failing servers.
    package var all: [TaskInfo] {
        state.withLock { state in
            state.tasks.values
                + state.retryErrors.filter { state.tasks[$0.key] == nil }.compactMap(\.value.info)
        }
    }
}

/// The total rate of all transfers for each of the last `length` seconds.
///
/// A rate applies until the next one is recorded. Times are seconds of a monotonic clock.
package struct RateHistory: Sendable {
    /// The number of seconds recorded.
    package static let length = 120

    /// The rate in each second, newest last.
    private var rates = [Double](repeating: 0, count: length)
    /// The last of these seconds.
    private var last: Int64 = 0

    package init() {}

    /// Records the current rate in bytes per second.
    package mutating func record(_ rate: Double, at second: Int64) {
        rates = values(until: second)
        rates[Self.length - 1] = rate
        last = max(last, second)
    }

    /// Returns one value for each of the last `length` seconds up to and including `second`, newest last.
    package func values(until second: Int64) -> [Double] {
        let passed = Int(min(max(second - last, 0), Int64(Self.length)))
        return rates.suffix(Self.length - passed) + Array(repeating: rates[Self.length - 1], count: passed)
    }
}
