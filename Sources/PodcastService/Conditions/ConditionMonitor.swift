internal import CLinux
internal import Foundation
internal import Glibc
internal import Platform

/// Watches power and link on a thread of its own, which sleeps in poll(2) until the kernel or NetworkManager reports a
/// change.
///
/// Conditions that cannot be read (no bus, no NetworkManager, no sysfs) are unknown, which is not logged: it is normal
/// on servers and in containers. Releasing the monitor stops the thread without waiting for it.
package final class ConditionMonitor: Sendable {
    /// Options that replace system interfaces, mainly for tests.
    package struct Options: Sendable {
        /// The sysfs directory of the power supplies.
        package var powerSupplies = PowerSupplies.standardDirectory
        /// The address of NetworkManager's bus; `nil` means `DBUS_SYSTEM_BUS_ADDRESS`, or the standard socket.
        package var busAddress: String?
        /// A socket that replaces the kernel's power events; the monitor closes it.
        var powerEvents: Int32?
        /// The maximum time that the first reading waits for a bus that accepts connections and does not answer, so
        /// that it cannot block discretionary tasks for ever. NetworkManager gets half of it to answer.
        var patience = Duration.seconds(10)

        package init() {}
    }

    private let board = ConditionBoard()
    private let stopper: StopSignal?

    package init(_ options: Options) {
        guard let stopper = StopSignal() else {
            // Out of descriptors. The conditions stay unknown.
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

    /// Returns the conditions once they are known, and again after each change.
    package func changes() -> AsyncStream<LinkConditions> { board.changes() }
}

/// The signal that stops the thread. The corresponding C function is `eventfd`.
///
/// Owned by both the monitor and its thread, so that the descriptor stays open as long as either may use it.
final class StopSignal: Sendable {
    let descriptor: Int32

    init?() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    func send() { eventfd_write(descriptor, 1) }
}
