import CLinux
import Dispatch
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

/// The memory pages of the program itself and of its libraries.
enum ProgramPages {
    /// Releases pages of code and constants that were touched only during the start.
    ///
    /// Relocating the libraries, scanning the protocol conformances and parsing a command touch most of the program,
    /// and the kernel maps the pages around each touched one as well: 36 MB, of which a long-running process needs a
    /// third. The saving matters because two processes of podfs run all the time, also on machines with little memory.
    /// Pages that are touched again are mapped from the page cache, without a disk read. Only segments that were never
    /// writable are released, so no data is lost. The corresponding C function is `madvise` with `MADV_DONTNEED`.
    static func releaseStart() {
        clinux_each_segment { name, address, size, flags in
            // The vDSO is not mapped from a file.
            guard flags & UInt32(PF_W) == 0, name.map({ !String(cString: $0).hasPrefix("linux-vdso") }) ?? true else {
                return
            }
            let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
            let start = (UInt(address) + page - 1) / page * page
            let end = (UInt(address) + UInt(size)) / page * page
            guard start < end, let pages = UnsafeMutableRawPointer(bitPattern: start) else { return }
            // A failure leaves the pages mapped.
            _ = madvise(pages, Int(end - start), MADV_DONTNEED)
        }
    }
}
