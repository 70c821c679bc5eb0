internal import CLinux

/// The addresses of this computer's interfaces, updated by the kernel's messages (rtnetlink(7)). Does no
/// IO: `NetworkMonitor` reads the messages.
struct NetworkAddresses {
    /// The effect of a batch of messages on connections.
    struct Change: Equatable {
        /// The addresses that were removed. Connections from such an address are dead, even if the address is assigned
        /// again.
        var lost: Set<NetworkAddress> = []
        /// Whether servers that were unreachable may be reachable now, because there is a new address, carrier or
        /// default route. Also `true` after lost messages, which may have reported one.
        var isBack = false

        var isNone: Bool { lost.isEmpty && !isBack }
    }

    /// The current addresses.
    private(set) var assigned: Set<NetworkAddress>
    /// Interfaces that were reported without a carrier.
    private var interfacesWithoutCarrier: Set<Int32> = []

    init(assigned: Set<NetworkAddress>) { self.assigned = assigned }

    /// Applies messages of the kernel.
    mutating func apply(_ bytes: UnsafeRawBufferPointer) -> Change {
        var change = Change()
        var rest = bytes[...]
        // struct nlmsghdr: length, type, flags, sequence number, port.
        while rest.count >= 16 {
            let message = UnsafeRawBufferPointer(rebasing: rest)
            let length = Int(message.loadUnaligned(as: UInt32.self))
            guard (16...message.count).contains(length) else { break }
            let body = UnsafeRawBufferPointer(rebasing: message[16..<length])
            apply(message.loadUnaligned(fromByteOffset: 4, as: UInt16.self), body, to: &change)
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return change
    }

    /// Replaces all addresses by newly read ones. Call after the kernel has dropped messages (ENOBUFS).
    mutating func replace(_ addresses: Set<NetworkAddress>) -> Change {
        defer { assigned = addresses }
        return Change(lost: assigned.subtracting(addresses), isBack: true)
    }

    private mutating func apply(_ type: UInt16, _ body: UnsafeRawBufferPointer, to change: inout Change) {
        switch Int(type) {
        case RTM_NEWADDR:
            // The kernel reports a known address again when a router's advertisement renews it, and a tentative address
            // when it can be used.
            guard let (address, flags) = Self.address(body), flags & UInt8(IFA_F_TENTATIVE) == 0 else { return }
            if assigned.insert(address).inserted { change.isBack = true }
        case RTM_DELADDR:
            guard let (address, _) = Self.address(body) else { return }
            assigned.remove(address)
            change.lost.insert(address)
        case RTM_NEWLINK where body.count >= 16:
            // struct ifinfomsg: family, type, index, flags, change.
            let index = body.loadUnaligned(fromByteOffset: 4, as: Int32.self)
            if body.loadUnaligned(fromByteOffset: 8, as: UInt32.self) & Self.isRunning == 0 {
                interfacesWithoutCarrier.insert(index)
            } else if interfacesWithoutCarrier.remove(index) != nil {
                change.isBack = true
            }
        case RTM_DELLINK where body.count >= 16:
            interfacesWithoutCarrier.remove(body.loadUnaligned(fromByteOffset: 4, as: Int32.self))
        case RTM_NEWROUTE where body.count >= 12:
            // struct rtmsg: family, length of the destination's prefix, …, type.
            if body[1] == 0, body[7] == UInt8(RTN_UNICAST) { change.isBack = true }
        default: break
        }
    }

    /// IFF_RUNNING of <net/if.h>: the interface is up and has a carrier.
    private static let isRunning: UInt32 = 0x40

    /// Reads a `struct ifaddrmsg` and its attributes.
    private static func address(_ body: UnsafeRawBufferPointer) -> (NetworkAddress, flags: UInt8)? {
        guard body.count >= 8 else { return nil }
        var found: NetworkAddress?
        var rest = body.dropFirst(8)
        // struct rtattr: length, type.
        while rest.count >= 4 {
            let attribute = UnsafeRawBufferPointer(rebasing: rest)
            let length = Int(attribute.loadUnaligned(as: UInt16.self))
            guard (4...attribute.count).contains(length) else { break }
            let value = UnsafeRawBufferPointer(rebasing: attribute[4..<length])
            switch Int(attribute.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) {
            // The local address. On a point-to-point link IFA_ADDRESS is the peer's.
            case IFA_LOCAL: found = NetworkAddress(networkBytes: value) ?? found
            case IFA_ADDRESS: found = found ?? NetworkAddress(networkBytes: value)
            default: break
            }
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return found.map { ($0, body[2]) }
    }
}
