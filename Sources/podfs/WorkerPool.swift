import CConcurrency
import Dispatch
import Foundation
import Glibc
import Synchronization

/// The threads on which Swift's concurrency runs here what is not an actor's of its own, in place of libdispatch's.
///
/// libdispatch looks at the threads of its global queues once a second, from the first job on and for as long as the
/// process lives. A daemon and a mount that nobody uses would wake a processor two times a second for nothing. The threads
/// here sleep until there is a job. Its serial queues have no such timer; what runs for long uses no global and no concurrent
/// queue, and no `Task.sleep`, either of which would bring it back.
final class WorkerPool: Sendable {
    /// Where a job of the runtime is.
    private typealias JobAddress = UInt

    private struct State {
        /// The oldest last. When it is empty `arrived` takes its place, turned over: each job is moved once.
        var waiting: [JobAddress] = []
        var arrived: [JobAddress] = []
        var threads = 0
        /// Threads that sleep and that nobody has woken.
        var idle = 0

        mutating func next() -> JobAddress? {
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

    private static let shared = WorkerPool()

    /// Called before anything asynchronous, once.
    static func start() {
        cconcurrency_take_jobs { WorkerPool.shared.add($0) }
    }

    private func add(_ job: JobAddress) {
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
        case .thread:
            let thread = Thread { [self] in work() }
            thread.name = "podfs-worker"
            thread.start()
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
            if let job { cconcurrency_run(job) } else { wake.wait() }
        }
    }
}
