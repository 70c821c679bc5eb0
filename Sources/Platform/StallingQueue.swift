internal import CLinux
internal import Dispatch
internal import Synchronization

/// A thread for calls that may never return, such as those on the files of a dead network file system. Other threads
/// never wait for it longer than the deadline.
///
/// The deadline counts from the start of a job, and again from each of its signs of life. When it passes, the job and
/// all queued ones fail with `Stalled`, and so do new ones until the call returns. The thread starts with the first
/// job. Thread-safe.
package final class StallingQueue: Sendable {
    /// The failure of a job whose call, or that of an earlier job, has not returned in time.
    package struct Stalled: Error, CustomStringConvertible {
        package init() {}
        package var description: String { "the file system does not respond" }
    }

    private struct Job {
        var body: @Sendable () -> Void
        /// Fails the job; `nil` for one that waits until the thread is free.
        var fail: (@Sendable () -> Void)?
        var deadline: Duration
    }

    /// The completion of a job, of which only the first call has an effect.
    private final class Completion<Value: Sendable>: Sendable {
        private let body: Mutex<(@Sendable (Result<Value, any Error>) -> Void)?>

        init(_ body: @escaping @Sendable (Result<Value, any Error>) -> Void) { self.body = Mutex(body) }

        func callAsFunction(_ result: Result<Value, any Error>) { body.withLock { $0.take() }?(result) }
    }

    private struct State {
        var jobs: [Job] = []
        var running: Job?
        /// The last sign of life of the running job.
        var aliveAt = Instant.start
        var isStalled = false
        var recovered: (@Sendable () -> Void)?
        var hasThread = false
        var hasTimer = false
    }

    private let name: String
    private let deadline: Duration
    private let hasLowPriority: Bool
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - name: The thread's name, of at most 15 bytes.
    ///   - hasLowPriority: Whether disk and processors serve other threads first.
    package init(name: String, deadline: Duration, hasLowPriority: Bool = false) {
        self.name = name
        self.deadline = deadline
        self.hasLowPriority = hasLowPriority
    }

    /// Whether a call has not returned within the deadline.
    package var isStalled: Bool { state.withLock { $0.isStalled } }

    /// Sets an action for the moment when a call returns after the deadline. It runs on the thread.
    package func onRecovery(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.recovered = action } }

    /// Extends the deadline of the running job. Call it on the thread, after each call that may block.
    package func beat() {
        let now = SystemClock.monotonic.now
        state.withLock { $0.aliveAt = now }
    }

    /// Runs `body` on the thread.
    ///
    /// - Parameters:
    ///   - deadline: The job's own deadline; `nil` for the queue's.
    ///   - completion: Called once: on the thread with the result, or on another one with `Stalled`. The result of a
    ///     call that returns after the deadline is dropped.
    package func run<Value: Sendable>(
        deadline: Duration? = nil, _ body: @escaping @Sendable () throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        let complete = Completion(completion)
        if isStalled { return complete(.failure(Stalled())) }
        append(
            Job(
                body: { complete(Result { try body() }) }, fail: { complete(.failure(Stalled())) },
                deadline: deadline ?? self.deadline))
    }

    /// Runs `body` on the thread, and waits for the result at most until the deadline.
    package func run<Value: Sendable>(
        deadline: Duration? = nil, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            run(deadline: deadline, body) { continuation.resume(with: $0) }
        }
    }

    /// Runs `body` on the thread whenever it is free, even if it is stalled now. Nobody waits for it.
    package func post(_ body: @escaping @Sendable () -> Void) { append(Job(body: body, fail: nil, deadline: deadline)) }

    private func append(_ job: Job) {
        let startsThread = state.withLock { state in
            state.jobs.append(job)
            defer { state.hasThread = true }
            return !state.hasThread
        }
        if startsThread { startThread(name) { [self] in work() } }
        wake.signal()
    }

    private func work() {
        if hasLowPriority { clinux_set_low_priority() }
        while true {
            wake.wait()
            let now = SystemClock.monotonic.now
            let (job, startsTimer) = state.withLock { state -> (Job?, Bool) in
                // Failed jobs have left the queue.
                guard !state.jobs.isEmpty else { return (nil, false) }
                let job = state.jobs.removeFirst()
                (state.running, state.aliveAt) = (job, now)
                defer { state.hasTimer = true }
                return (job, !state.hasTimer)
            }
            guard let job else { continue }
            if startsTimer { watch(for: job.deadline) }
            job.body()
            let recovered = state.withLock { state -> (@Sendable () -> Void)? in
                defer { state.isStalled = false }
                state.running = nil
                return state.isStalled ? state.recovered : nil
            }
            recovered?()
        }
    }

    /// Checks after `delay` whether the running job is alive. There is no timer while no job runs.
    private func watch(for delay: Duration) {
        Timers.after(delay) { [weak self] in
            guard let self else { return }
            let now = SystemClock.monotonic.now
            var failed: [Job] = []
            let next = state.withLock { state -> Duration? in
                let silence = now - state.aliveAt
                if let running = state.running, silence < running.deadline { return running.deadline - silence }
                state.hasTimer = false
                guard let running = state.running else { return nil }
                state.isStalled = true
                failed = [running] + state.jobs.filter { $0.fail != nil }
                state.jobs.removeAll { $0.fail != nil }
                return nil
            }
            for job in failed { job.fail?() }
            if let next { watch(for: next) }
        }
    }
}
