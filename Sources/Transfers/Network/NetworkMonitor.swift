internal import CCurl
internal import CLinux
internal import Glibc

/// The kernel's reports about addresses, interfaces and routes (rtnetlink(7)), in the network namespace of the thread
/// that creates it.
///
/// Confined to the engine's thread.
final class NetworkMonitor {
    /// Readable when there are reports.
    let descriptor: Int32
    private var addresses: NetworkAddresses

    /// The multicast groups: interfaces, and the addresses and routes of IPv4 and IPv6 (RTMGRP_… of
    /// <linux/rtnetlink.h>).
    private static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400

    /// - Returns: `nil` if no netlink socket can be opened, as in some sandboxes; changes are then noticed by timeouts
    ///   only.
    init?() {
        descriptor = socket(
            AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), Int32(NETLINK_ROUTE))
        guard descriptor >= 0 else { return nil }
        addresses = NetworkAddresses(assigned: [])
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
        addresses = NetworkAddresses(assigned: Self.assigned() ?? [])
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Reads all reports, and returns their combined effect.
    func read() -> NetworkAddresses.Change {
        var change = NetworkAddresses.Change()
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
            while true {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                let news: NetworkAddresses.Change
                if count > 0 {
                    news = addresses.apply(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                } else if count < 0, errno == ENOBUFS {
                    guard let assigned = Self.assigned() else { continue }
                    news = addresses.replace(assigned)
                } else {
                    return
                }
                change.lost.formUnion(news.lost)
                change.isBack = change.isBack || news.isBack
            }
        }
        return change
    }

    /// Returns the addresses of all interfaces; `nil` if they cannot be read, for example without a free descriptor.
    /// The corresponding C function is `getifaddrs`.
    private static func assigned() -> Set<NetworkAddress>? {
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
