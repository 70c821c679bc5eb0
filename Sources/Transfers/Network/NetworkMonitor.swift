internal import CCurl
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

/// The internet sockets of this process. Finding them costs two system calls for each descriptor, too much for every
/// iteration of a loop.
enum OpenSockets {
    /// Returns the descriptor of a connection from the port `local` to the port `remote`; `nil` if there is none.
    static func connected(from local: Int, to remote: Int) -> Int32? {
        descriptors.first { port($0, getsockname) == local && port($0, getpeername) == remote }
    }

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

    private static func port(_ socket: Int32, _ query: Query) -> Int? {
        var storage = sockaddr_storage()
        guard read(socket, query, into: &storage),
            [sa_family_t(AF_INET), sa_family_t(AF_INET6)].contains(storage.ss_family)
        else { return nil }
        // The port has the same offset in sockaddr_in and sockaddr_in6.
        return withUnsafeBytes(of: storage) { Int($0[2]) << 8 | Int($0[3]) }
    }

    /// All descriptors of the process (proc(5)).
    private static var descriptors: [Int32] { names(inFolder: "/proc/self/fd")?.compactMap { Int32($0) } ?? [] }
}
