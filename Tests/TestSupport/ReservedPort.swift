import CLinux
import Glibc

/// A TCP port of one address of this computer, bound until the object is released.
///
/// A server may listen on it, stop, and listen on it again; in between no other socket gets the port. If no socket were
/// bound to the port, the kernel could choose it for any socket that binds port 0 or connects. The server's listener
/// can bind the same port, since the kernel permits that if all sockets bound to the port have SO_REUSEADDR and none of
/// them listens (socket(7)).
package final class ReservedPort: Sendable {
    package let number: UInt16
    private let address: String
    private let descriptor: Int32

    /// - Parameters:
    ///   - number: A port known to be free at this address; 0 lets the kernel choose.
    ///   - address: An address of this computer, IPv4 or IPv6.
    package init(_ number: UInt16 = 0, at address: String = "127.0.0.1") throws {
        self.address = address
        (descriptor, self.number) = try Self.bind(number, at: address)
    }

    deinit { Glibc.close(descriptor) }

    /// Returns a socket that listens on the port, close-on-exec. The caller closes it with `stopListening`.
    package func listen(isBlocking: Bool) throws -> Int32 {
        let (listener, _) = try Self.bind(number, at: address)
        if !isBlocking { _ = fcntl(listener, F_SETFL, O_NONBLOCK) }
        guard Glibc.listen(listener, SOMAXCONN) == 0 else {
            let error = SystemCallError("listen")
            Glibc.close(listener)
            throw error
        }
        return listener
    }

    /// Stops listening, and closes the socket. Closing alone would not be enough: a process that is being started may
    /// have a copy of the descriptor, which keeps the socket listening.
    package static func stopListening(_ listener: Int32) {
        shutdown(listener, Int32(SHUT_RDWR))
        Glibc.close(listener)
    }

    private static func bind(_ port: UInt16, at host: String) throws -> (descriptor: Int32, port: UInt16) {
        let isIPv6 = host.contains(":")
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, type, 0)
        guard descriptor >= 0 else { throw SystemCallError("socket") }
        do {
            var on: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
            var address = sockaddr_in6()
            // The family and the port have the same offsets in a sockaddr_in.
            address.sin6_family = sa_family_t(isIPv6 ? AF_INET6 : AF_INET)
            address.sin6_port = port.bigEndian
            let isParsed = withUnsafeMutableBytes(of: &address) { bytes in
                inet_pton(isIPv6 ? AF_INET6 : AF_INET, host, bytes.baseAddress?.advanced(by: isIPv6 ? 8 : 4)) == 1
            }
            guard isParsed else { throw SystemCallError("inet_pton") }
            var length = socklen_t(isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
            try withUnsafeMutablePointer(to: &address) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    guard Glibc.bind(descriptor, address, length) == 0 else { throw SystemCallError("bind") }
                    guard getsockname(descriptor, address, &length) == 0 else { throw SystemCallError("getsockname") }
                }
            }
            return (descriptor, UInt16(bigEndian: address.sin6_port))
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }
}
