internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization

/// The thread pool that runs Swift concurrency instead of the runtime's global executor.
///
/// The global executor is libdispatch, which checks the threads of its global queues once a second from the first job
/// on for the life of the process. It would wake a processor for an idle daemon and an idle mount. The threads here
/// sleep until there is a job.
///
/// A task avoids the global executor if it is started with this pool as its executor preference: the functions it
/// calls, its child tasks and the default actors it enters then run on the pool as well. Unstructured tasks do not
/// inherit the preference, so use `Task(executorPreference: WorkerPool.shared)` or `Actor.startTask` instead of `Task
/// {}`, and `Timers.sleep` instead of `Task.sleep`. `.ci/executors` checks this.
package final class WorkerPool: TaskExecutor {
    /// The pool of the process.
    package static let shared = WorkerPool()

    private struct State {
        /// Waiting jobs, the oldest last. When empty it is replaced by `arrived`, reversed, so that each job is moved
        /// once.
        var waiting: [UnownedJob] = []
        var arrived: [UnownedJob] = []
        var threads = 0
        /// The number of sleeping threads that have not been woken.
        var idle = 0

        mutating func next() -> UnownedJob? {
            if waiting.isEmpty {
                waiting = arrived.reversed()
                arrived.removeAll(keepingCapacity: true)
            }
            return waiting.popLast()
        }
    }

    private enum Wanted { case nothing, wake, thread }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    /// Maximum number of threads. A job creates a thread if none is idle. At least four, because jobs that wait for the
    /// disk leave processors unused.
    private let limit = max(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    private init() {}

    /// Runs `body` on the pool and blocks the calling thread until it returns.
    package static func run(_ body: @escaping @Sendable () async -> Void) {
        let end = DispatchSemaphore(value: 0)
        Task(executorPreference: shared) {
            await body()
            end.signal()
        }
        end.wait()
    }

    /// Queues a job, and wakes or creates a thread for it.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let wanted = state.withLock { state -> Wanted in
            state.arrived.append(job)
            if state.idle > 0 {
                state.idle -= 1
                return .wake
            }
            guard state.threads < limit else { return .nothing }
            state.threads += 1
            return .thread
        }
        switch wanted {
        case .nothing: break
        case .wake: wake.signal()
        case .thread: startThread("podfs-worker") { [self] in work() }
        }
    }

    /// The body of a thread. Signals are blocked, as on libdispatch's threads.
    private func work() {
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
        while true {
            let job = state.withLock { state in
                let job = state.next()
                if job == nil { state.idle += 1 }
                return job
            }
            if let job { job.runSynchronously(on: asUnownedTaskExecutor()) } else { wake.wait() }
        }
    }
}

extension Actor {
    /// Starts a task on the pool, isolated to this actor.
    @discardableResult
    package nonisolated func startTask<Success: Sendable>(
        _ body: @escaping @Sendable (isolated Self) async -> Success
    ) -> Task<Success, Never> {
        Task(executorPreference: WorkerPool.shared) { await body(self) }
    }

    /// Starts a throwing task on the pool, isolated to this actor.
    @discardableResult
    package nonisolated func startTask<Success: Sendable>(
        _ body: @escaping @Sendable (isolated Self) async throws -> Success
    ) -> Task<Success, any Error> {
        Task(executorPreference: WorkerPool.shared) { try await body(self) }
    }
}
