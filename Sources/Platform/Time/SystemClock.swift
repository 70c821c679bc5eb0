internal import Glibc

/// The kernel's clocks. The corresponding C function is `clock_gettime`.
package enum SystemClock {
    /// CLOCK_MONOTONIC: stops while the machine is suspended. The clock of poll(2), of sd_bus_get_timeout(3) and of the
    /// kernel's timeouts of FUSE entries and attributes.
    case monotonic
    /// CLOCK_BOOTTIME: continues while the machine is suspended.
    case boottime

    /// The clock's reading in whole seconds. It was 0 at boot, and setting the wall clock does not change it.
    package var seconds: Int64 { Int64(time.tv_sec) }
    /// The clock's reading in whole milliseconds.
    package var milliseconds: Int64 { Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000 }
    /// The clock's reading in whole microseconds.
    package var microseconds: Int64 { Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000 }

    private var time: timespec {
        var time = timespec()
        clock_gettime(self == .monotonic ? CLOCK_MONOTONIC : CLOCK_BOOTTIME, &time)
        return time
    }
}
