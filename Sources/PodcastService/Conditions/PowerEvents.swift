internal import CLinux
internal import CSystemd
internal import Glibc
internal import Platform

/// The kernel's events about power supplies; sysfs itself cannot be watched with inotify(7).
///
/// A netlink socket in the group of the kernel's events (NETLINK_KOBJECT_UEVENT, group 1), which any user may join. An
/// event only triggers a new reading of sysfs, so its sender and lost events do not matter.
struct PowerEvents: ~Copyable {
    /// The socket, readable when an event is pending.
    let descriptor: Int32

    /// The kernel's multicast group; group 2 is udevd's, in a format of its own.
    private static let kernelGroup: UInt32 = 1

    /// Buffer size: an event has at most 2 KiB of variables (the kernel's UEVENT_BUFFER_SIZE) after its path.
    private static let bufferSize = 8 * 1024

    /// Takes ownership of a socket that delivers one event per datagram.
    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Returns `nil` if the kernel or a sandbox denies the socket.
    init?() {
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_NETLINK, type, NETLINK_KOBJECT_UEVENT)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_groups = Self.kernelGroup
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
            }
        }
        guard bound == 0 else {
            Glibc.close(descriptor)
            return nil
        }
        self.descriptor = descriptor
    }

    deinit { Glibc.close(descriptor) }

    enum Outcome: Sendable, Equatable {
        case nothing
        /// A power supply has changed, or events were lost that may have said so.
        case changed
        /// The socket delivers nothing any more.
        case ended
    }

    /// Reads all pending events.
    func drain() -> Outcome {
        withUnsafeTemporaryAllocation(byteCount: Self.bufferSize, alignment: 16) { buffer in
            var hasChanged = false
            while true {
                let count = retryingInterrupts {
                    recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                }
                if count > 0 {
                    let event = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                    hasChanged = Self.isOfPowerSupply(event) || hasChanged
                    continue
                }
                if count == 0 { return .ended }
                switch errno {
                case ENOBUFS: hasChanged = true
                case EAGAIN: return hasChanged ? .changed : .nothing
                default: return .ended
                }
            }
        }
    }

    /// Returns whether an event concerns a power supply. Format: `ACTION@PATH` and variables, each NUL-terminated.
    static func isOfPowerSupply(_ event: some Collection<UInt8>) -> Bool {
        event.split(separator: 0).contains { $0.elementsEqual("SUBSYSTEM=power_supply".utf8) }
    }
}
