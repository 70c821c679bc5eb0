internal import CLinux
internal import Dispatch
internal import Glibc

/// What is due after a while. All of it is on one serial queue: the threads of a global one, which `Task.sleep` uses, are
/// looked at once a second for as long as the daemon lives.
package enum Timers {
    private static let queue = DispatchQueue(label: "podfs.timers")

    /// - Parameter body: must not wait for anything.
    package static func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + delay / .seconds(1), execute: body)
    }

    /// Suspends the task; time in which the machine is suspended counts. Ends at once when the task is cancelled.
    ///
    /// The corresponding C function is `timerfd_create` with `CLOCK_BOOTTIME`. Without a descriptor for it the
    /// machine's suspension is not counted.
    package static func sleep(for duration: Duration) async {
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        let descriptor = timerfd_create(CLOCK_BOOTTIME, Int32(TFD_CLOEXEC))
        // A value of zero would disarm it.
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
        // It comes to its end also when the task is cancelled.
        for await _ in ends {}
    }
}
