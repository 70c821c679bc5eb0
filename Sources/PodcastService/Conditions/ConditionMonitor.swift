internal import CLinux
internal import Foundation
internal import Glibc
internal import Platform

/// Watches this machine's conditions on a thread of its own, which sleeps in poll(2) until the kernel or
/// NetworkManager has something to tell.
///
/// What cannot be had (no bus, no NetworkManager, no sysfs) is unknown, without a word in the log: it is the normal
/// state of a server or a container. The thread ends with the value, which does not wait for it.
package final class ConditionMonitor: Sendable {
    package struct Options: Sendable {
        /// Where the kernel shows its power supplies.
        package var powerSupplies = PowerSupplies.standardDirectory
        /// The address of the bus that NetworkManager is on; `nil` takes `DBUS_SYSTEM_BUS_ADDRESS`, or the standard
        /// socket.
        package var busAddress: String?
        /// A socket to take power events from instead of the kernel's; the monitor closes it.
        var powerEvents: Int32?
        /// How long the first reading waits for a bus that takes connections and says nothing, so that it does not hold
        /// up the daemon's discretionary tasks for good. NetworkManager itself has half of it for its answer.
        var patience = Duration.seconds(10)

        package init() {}
    }

    private let board = ConditionBoard()
    private let stopper: StopSignal?

    package init(_ options: Options) {
        guard let stopper = StopSignal() else {
            // Out of descriptors. What is known stays what it is: nothing.
            self.stopper = nil
            board.post(.unknown)
            return
        }
        self.stopper = stopper
        startThread("podfs-link") { [board] in
            let watch = ConditionWatch(options, board: board, stopper: stopper)
            watch.run()
            board.close()
        }
    }

    deinit { stopper?.send() }

    package var current: LinkConditions? { board.current }

    package func changes() -> AsyncStream<LinkConditions> { board.changes() }
}

/// Tells the thread to end. The corresponding C function is `eventfd`.
///
/// Owned by the monitor and its thread both, so that the descriptor is open for as long as one of them may use it.
final class StopSignal: Sendable {
    let descriptor: Int32

    init?() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    func send() { eventfd_write(descriptor, 1) }
}
