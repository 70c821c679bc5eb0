internal import CLinux
internal import Glibc
internal import Platform

/// The kernel's reports about addresses, interfaces and routes (rtnetlink(7)), in the network namespace of the thread
/// that creates it.
///
/// Confined to the engine's thread.
final class NetworkMonitor {
    /// Readable when there are reports.
    let descriptor: Int32
    private var assigned: Set<NetworkAddress> = []
    private var reports = NetworkReports()

    /// The effect of reports on connections.
    struct Change {
        /// The addresses that are gone. Connections from such an address are dead.
        var lost: Set<NetworkAddress> = []
        /// Whether servers that were unreachable may be reachable now, because there is a new address, carrier or
        /// default route. Also `true` after lost reports, which may have contained one.
        var isBack = false

        var isNone: Bool { lost.isEmpty && !isBack }
    }

    /// The multicast groups: interfaces, and the addresses and routes of IPv4 and IPv6 (RTMGRP_… of
    /// <linux/rtnetlink.h>).
    private static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400

    /// - Returns: `nil` if no netlink socket can be opened, as in some sandboxes; changes are then noticed by timeouts
    ///   only.
    init?() {
        descriptor = socket(
            AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), Int32(NETLINK_ROUTE))
        guard descriptor >= 0 else { return nil }
        var own = sockaddr_nl()
        own.nl_family = sa_family_t(AF_NETLINK)
        own.nl_groups = Self.groups
        let isBound = withUnsafePointer(to: &own) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size)) == 0
            }
        }
        guard isBound else { return nil }
        // Read the addresses after `bind`, so that no change between the two calls is lost.
        assigned = Self.addresses() ?? []
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Reads all reports, and returns their combined effect.
    func read() -> Change {
        var change = Change()
        var isOutdated = false
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
            while true {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                if count <= 0, errno != ENOBUFS { return }
                let (changesAddresses, isBack) =
                    count > 0 ? reports.apply(UnsafeRawBufferPointer(rebasing: buffer[..<count])) : (true, true)
                isOutdated = isOutdated || changesAddresses
                change.isBack = change.isBack || isBack
            }
        }
        guard isOutdated, let addresses = Self.addresses() else { return change }
        change.lost = assigned.subtracting(addresses)
        change.isBack = change.isBack || !addresses.isSubset(of: assigned)
        assigned = addresses
        return change
    }

    /// Returns the addresses of all interfaces; `nil` if they cannot be read, for example without a free descriptor.
    /// The corresponding C function is `getifaddrs`.
    private static func addresses() -> Set<NetworkAddress>? {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var found: Set<NetworkAddress> = []
        var next = list
        while let entry = next {
            next = entry.pointee.ifa_next
            guard let address = entry.pointee.ifa_addr else { continue }
            let size =
                address.pointee.sa_family == sa_family_t(AF_INET6)
                ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
            if let address = NetworkAddress(socketAddress: UnsafeRawBufferPointer(start: address, count: size)) {
                found.insert(address)
            }
        }
        return found
    }
}

/// The internet sockets of this process. Finding them costs two system calls for each descriptor, too much for every
/// iteration of a loop.
enum OpenSockets {
    /// Shuts down the connections from these local addresses, so that libcurl ends their exchanges and reuses none of
    /// them. Otherwise the kernel would retransmit their packets for minutes.
    static func shutDown(from addresses: Set<NetworkAddress>) {
        for socket in descriptors {
            var storage = sockaddr_storage()
            // Skip sockets without a peer, which are not connected.
            guard read(socket, getpeername, into: &storage), read(socket, getsockname, into: &storage) else { continue }
            let address = withUnsafeBytes(of: storage) { NetworkAddress(socketAddress: $0) }
            if let address, addresses.contains(address) { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    private typealias Query = (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32

    private static func read(_ socket: Int32, _ query: Query, into storage: inout sockaddr_storage) -> Bool {
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { query(socket, $0, &length) == 0 }
        }
    }

    /// All descriptors of the process (proc(5)).
    private static var descriptors: [Int32] { names(inFolder: "/proc/self/fd")?.compactMap { Int32($0) } ?? [] }
}

/// The parser of the kernel's messages (rtnetlink(7)). Does no IO.
struct NetworkReports {
    /// Interfaces that were reported without a carrier.
    private var interfacesWithoutCarrier: Set<Int32> = []

    /// Reads messages, and returns whether addresses have changed, and whether there is a new carrier or default route.
    mutating func apply(_ bytes: UnsafeRawBufferPointer) -> (changesAddresses: Bool, isBack: Bool) {
        var found = (changesAddresses: false, isBack: false)
        var rest = bytes[...]
        // struct nlmsghdr: length, type, flags, sequence number, port.
        while rest.count >= 16 {
            let message = UnsafeRawBufferPointer(rebasing: rest)
            let length = Int(message.loadUnaligned(as: UInt32.self))
            guard (16...message.count).contains(length) else { break }
            let body = UnsafeRawBufferPointer(rebasing: message[16..<length])
            switch Int(message.loadUnaligned(fromByteOffset: 4, as: UInt16.self)) {
            case RTM_NEWADDR where body.count >= 8:
                // struct ifaddrmsg: family, length of the prefix, flags. A tentative address cannot be used yet.
                if body[2] & UInt8(IFA_F_TENTATIVE) == 0 { found.changesAddresses = true }
            case RTM_DELADDR: found.changesAddresses = true
            case RTM_NEWLINK where body.count >= 16:
                // struct ifinfomsg: family, type, index, flags, change.
                let index = body.loadUnaligned(fromByteOffset: 4, as: Int32.self)
                if body.loadUnaligned(fromByteOffset: 8, as: UInt32.self) & Self.isRunning == 0 {
                    interfacesWithoutCarrier.insert(index)
                } else if interfacesWithoutCarrier.remove(index) != nil {
                    found.isBack = true
                }
            case RTM_DELLINK where body.count >= 16:
                interfacesWithoutCarrier.remove(body.loadUnaligned(fromByteOffset: 4, as: Int32.self))
            case RTM_NEWROUTE where body.count >= 12:
                // struct rtmsg: family, length of the destination's prefix, …, type.
                if body[1] == 0, body[7] == UInt8(RTN_UNICAST) { found.isBack = true }
            default: break
            }
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return found
    }

    /// IFF_RUNNING of <net/if.h>: the interface is up and has a carrier.
    private static let isRunning: UInt32 = 0x40
}
