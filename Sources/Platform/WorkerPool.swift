internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization

/// The threads that run Swift's concurrency, in place of the runtime's global executor.
///
/// The global executor is libdispatch's: it looks at the threads of its global queues once a second, from the first job on
/// and for as long as the process lives. An idle daemon and an idle mount would wake a processor for nothing. The threads
/// here sleep until there is a job.
///
/// A task keeps off the global executor when it is started with this pool as its executor preference: what it calls, its
/// child tasks and the default actors that it enters run on the pool as well. An unstructured task does not inherit
/// the preference, hence `Task(executorPreference: WorkerPool.shared)` or `Actor.startTask`, never a bare `Task {}`; and
/// `Timers.sleep`, never `Task.sleep`. `.ci/executors` checks it.
package final class WorkerPool: TaskExecutor {
    package static let shared = WorkerPool()

    private struct State {
        /// The oldest last. When it is empty `arrived` takes its place, reversed: each job is moved once.
        var waiting: [UnownedJob] = []
        var arrived: [UnownedJob] = []
        var threads = 0
        /// Threads that sleep and that nobody has woken.
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
    /// A thread is made when a job comes and none is idle. Jobs that wait for the disk leave processors to others, hence four
    /// at least.
    private let limit = max(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    private init() {}

    /// Runs a program: blocks the calling thread until `body` has returned on the pool.
    package static func run(_ body: @escaping @Sendable () async -> Void) {
        let end = DispatchSemaphore(value: 0)
        Task(executorPreference: shared) {
            await body()
            end.signal()
        }
        end.wait()
    }

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

    /// One thread's life. As on libdispatch's threads signals are for others.
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
    /// Starts a task on the pool that runs isolated to this actor.
    @discardableResult
    package nonisolated func startTask<Success: Sendable>(
        _ body: @escaping @Sendable (isolated Self) async -> Success
    ) -> Task<Success, Never> {
        Task(executorPreference: WorkerPool.shared) { await body(self) }
    }

    /// As above, for a body that throws.
    @discardableResult
    package nonisolated func startTask<Success: Sendable>(
        _ body: @escaping @Sendable (isolated Self) async throws -> Success
    ) -> Task<Success, any Error> {
        Task(executorPreference: WorkerPool.shared) { try await body(self) }
    }
}
