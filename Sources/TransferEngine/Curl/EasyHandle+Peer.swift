internal import CCurl
internal import Glibc

// The state of a running transfer's connection.
extension EasyHandle {
    /// Whether the server has closed its side of the connection. Bytes that it sent before can still be read. curl
    /// nevertheless continues to send while the server's kernel keeps its receive window closed.
    var peerHasClosed: Bool {
        guard let socket = connectedSocket else { return false }
        var entry = pollfd(fd: socket, events: Self.readSideClosed, revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & Self.readSideClosed != 0
    }

    /// POLLRDHUP of <bits/poll.h>, which Glibc's module omits.
    private static let readSideClosed: Int16 = 0x2000

    /// The descriptor of the connection, found by its two ports, since CURLINFO_ACTIVESOCKET returns it only after the
    /// end of a transfer. Costs two system calls for each descriptor of the process, too much for every iteration of
    /// the loop.
    private var connectedSocket: Int32? {
        var (local, remote) = (0, 0)
        guard ccurl_get_long(pointer, CURLINFO_LOCAL_PORT, &local) == CURLE_OK, local > 0,
            ccurl_get_long(pointer, CURLINFO_PRIMARY_PORT, &remote) == CURLE_OK, remote > 0
        else { return nil }
        return Self.descriptors.first {
            Self.port(of: $0, getsockname) == local && Self.port(of: $0, getpeername) == remote
        }
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

    private static func port(
        of socket: Int32,
        _ ask: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
    ) -> Int? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isSocket = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { ask(socket, $0, &length) == 0 }
        }
        guard isSocket, [sa_family_t(AF_INET), sa_family_t(AF_INET6)].contains(storage.ss_family) else { return nil }
        // The port has the same offset in both.
        return withUnsafeBytes(of: storage) { Int($0[2]) << 8 | Int($0[3]) }
    }
}
