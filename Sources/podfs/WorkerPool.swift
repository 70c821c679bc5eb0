import CConcurrency
import Dispatch
import Foundation
import Glibc
import Synchronization

/// The threads that run Swift's global executor in this program, in place of libdispatch's.
///
/// libdispatch checks the threads of its global queues once a second, from the first job on and for as long as the
/// process lives. An idle daemon and mount would wake a processor two times a second. The threads here sleep until
/// there is a job. Serial queues of libdispatch have no such timer; long-running processes must use no global or
/// concurrent queue and no `Task.sleep`, which would start it.
final class WorkerPool: Sendable {
    /// The address of a job of the runtime.
    private typealias JobAddress = UInt

    private struct State {
        /// The waiting jobs, oldest last. When it is empty `arrived` is reversed into it: each job is moved once.
        var waiting: [JobAddress] = []
        var arrived: [JobAddress] = []
        var threads = 0
        /// The number of sleeping threads that have not been woken.
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
    /// The maximum number of threads. A thread is created when a job arrives and none is idle. At least four, since
    /// jobs that wait for the disk leave processors idle.
    private let limit = max(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    private static let shared = WorkerPool()

    /// Installs the pool. Call it once, before any asynchronous work.
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

    /// Runs a thread. As on libdispatch's threads all signals are blocked.
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
