internal import CLinux
internal import Dispatch

/// Timers on one serial queue, and a replacement for `Task.sleep`.
///
/// `Task.sleep` uses a global queue of libdispatch. From then on libdispatch wakes a processor once a second for the
/// life of the process; see `WorkerPool`.
package enum Timers {
    private static let queue = DispatchQueue(label: "podfs.timers")

    /// Runs `body` once after a delay, which does not include time during which the machine is suspended. `body` must
    /// not block, because all timers share the queue.
    package static func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + delay / .seconds(1), execute: body)
    }

    /// Suspends the task for `duration`, which includes time during which the machine is suspended. Returns at once on
    /// cancellation.
    ///
    /// Uses timerfd_create(2) with `CLOCK_BOOTTIME`. If that timer cannot be created or armed, `after` is used instead,
    /// and `duration` does not include time during which the machine is suspended.
    package static func sleep(for duration: Duration) async {
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        let descriptor = timerfd_create(CLOCK_BOOTTIME, Int32(TFD_CLOEXEC))
        // A value of zero would disarm the timer.
        let time = max(duration, .microseconds(1)).components
        var value = itimerspec(
            it_interval: timespec(),
            it_value: timespec(tv_sec: Int(time.seconds), tv_nsec: Int(time.attoseconds / 1_000_000_000)))
        guard descriptor >= 0, timerfd_settime(descriptor, 0, &value, nil) == 0 else {
            if descriptor >= 0 { close(descriptor) }
            after(duration) { end.finish() }
            for await _ in ends {}
            return
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { end.finish() }
        source.setCancelHandler { close(descriptor) }
        source.activate()
        defer { source.cancel() }
        // The stream also finishes on cancellation.
        for await _ in ends {}
    }
}
