internal import Glibc

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
    private static var descriptors: [Int32] {
        guard let folder = opendir("/proc/self/fd") else { return [] }
        defer { closedir(folder) }
        var found: [Int32] = []
        while let entry = readdir(folder) {
            let number = withUnsafeBytes(of: entry.pointee.d_name) { name in
                Int32(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
            }
            if let number { found.append(number) }
        }
        return found
    }
}
