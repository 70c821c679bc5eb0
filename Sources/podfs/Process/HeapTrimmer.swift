import CLinux
import Dispatch
import Glibc
import Synchronization

/// A scheduler of malloc_trim(3), which returns freed memory to the system once the process is idle after work.
///
/// malloc retains freed memory: after a feed of 100,000 items the daemon had 480 MB, of which 6 MB were in use; after
/// large pages a mount had 180 MB. Two measures fix that. First, all threads share one arena (`begin`), because
/// `malloc_trim` shrinks only the heap of the first arena. Second, `malloc_trim` runs once, some time after the last
/// work. After that no timer runs until there is work again. Thread-safe.
final class HeapTrimmer: Sendable {
    private struct State {
        /// Whether a check is scheduled.
        var isScheduled = false
        /// Whether work was done since the last check.
        var isBusy = false
    }

    private let state = Mutex(State())
    private let pause: DispatchTimeInterval
    private let trim: @Sendable () -> Void
    private let queue = DispatchQueue(label: "podfs.heap", qos: .utility)

    /// - Parameters:
    ///   - pause: The idle time after which memory is returned.
    ///   - trim: The function that returns memory.
    init(pause: DispatchTimeInterval = .seconds(10), trim: @escaping @Sendable () -> Void = { malloc_trim(0) }) {
        self.pause = pause
        self.trim = trim
    }

    /// Records work that may use memory. Costs an uncontended lock, and at most one wake-up per pause.
    func recordWork() {
        let isFirst = state.withLock { state in
            state.isBusy = true
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { scheduleCheck() }
    }

    private func scheduleCheck() { queue.asyncAfter(deadline: .now() + pause) { [self] in trimIfIdle() } }

    private func trimIfIdle() {
        let isIdle = state.withLock { state in
            defer { state.isBusy = false }
            state.isScheduled = state.isBusy
            return !state.isBusy
        }
        // If work was done since the last check, check again after another pause. Trim after a pause without work.
        if isIdle { trim() } else { scheduleCheck() }
    }

    /// Configures malloc for a long-running process; call it before the first thread starts. By default malloc raises
    /// the trim and mmap thresholds when a large block is freed. It does not raise a threshold that was set explicitly.
    /// The corresponding C function is `mallopt`.
    static func begin() {
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_TRIM_THRESHOLD, 256 << 10)
        mallopt(M_MMAP_THRESHOLD, 256 << 10)
    }
}
