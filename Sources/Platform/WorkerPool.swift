internal import CLinux
internal import Foundation
internal import Synchronization

/// The thread pool that runs Swift concurrency instead of the runtime's global executor.
///
/// The global executor is libdispatch. From its first job on, libdispatch checks the threads of its global queues once
/// a second for the life of the process, so that an idle daemon or mount would wake a processor every second. The
/// threads of this pool sleep until there is a job.
///
/// A task avoids the global executor if it is started with this pool as its executor preference: the functions it
/// calls, its child tasks and the default actors it enters then run on the pool as well. Unstructured tasks do not
/// inherit the preference, so use `Task(executorPreference: WorkerPool.shared)` or `Actor.startTask` instead of `Task
/// {}`, and `Timers.sleep` instead of `Task.sleep`. `.ci/executors` checks this.
package final class WorkerPool: TaskExecutor {
    /// The pool of the process.
    package static let shared = WorkerPool()

    private struct State {
        /// The front of the queue, oldest job last. When empty it is replaced by `back`, reversed, so that each job is
        /// moved once.
        var front: [UnownedJob] = []
        /// The back of the queue, newest job last.
        var back: [UnownedJob] = []
        var threads = 0
        /// The number of sleeping threads that have not been signaled.
        var idle = 0

        mutating func next() -> UnownedJob? {
            if front.isEmpty {
                front = back.reversed()
                back.removeAll(keepingCapacity: true)
            }
            return front.popLast()
        }
    }

    private enum EnqueueAction { case none, wakeThread, createThread }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    /// The maximum number of threads. A job creates a thread if none is idle. At least four, because a job that waits
    /// for the disk leaves its processor unused.
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
        let action = state.withLock { state -> EnqueueAction in
            state.back.append(job)
            if state.idle > 0 {
                state.idle -= 1
                return .wakeThread
            }
            guard state.threads < limit else { return .none }
            state.threads += 1
            return .createThread
        }
        switch action {
        case .none: break
        case .wakeThread: wake.signal()
        case .createThread: startThread("podfs-worker") { [self] in work() }
        }
    }

    /// Runs jobs forever, in a thread of the pool. Signals are blocked, as on libdispatch's threads.
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

/// Starts a thread that ends when `body` returns. The kernel stores the first 15 bytes of `name`.
package func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
    Thread {
        // A name set before the thread runs does not reach the kernel.
        _ = clinux_set_thread_name(name)
        body()
    }.start()
}
