internal import CLinux
internal import Glibc
internal import Platform

/// The listening socket that a service manager passes when it starts the daemon for the first client, as described in
/// sd_listen_fds(3).
enum SocketActivation {
    /// SD_LISTEN_FDS_START of sd-daemon.h.
    private static let firstDescriptor: Int32 = 3

    /// Returns the passed socket, which the caller then owns. Child processes do not inherit the socket.
    ///
    /// Removes the environment variables that announce the socket, so that a second call returns `nil`.
    ///
    /// - Parameter path: the path to which clients in this environment connect.
    /// - Returns: `nil` if no socket was passed to this process.
    /// - Throws: `SocketServer.Problem` if more than one socket was passed, or the socket does not listen at `path`.
    static func inheritedListener(at path: String) throws -> Int32? {
        guard let pid = variable("LISTEN_PID"), pid == getpid(), let count = variable("LISTEN_FDS"), count > 0 else {
            return nil
        }
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
        guard count == 1 else {
            throw SocketServer.Problem(description: "the service manager passed \(count) sockets: podfs needs one")
        }
        return try adopt(firstDescriptor, path: path)
    }

    /// Checks that a descriptor is a listening socket at `path`, and sets close-on-exec and non-blocking mode.
    static func adopt(_ descriptor: Int32, path: String) throws -> Int32 {
        var isListening: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening != 0 else {
            throw SocketServer.Problem(description: "the service manager passed a descriptor that does not listen")
        }
        let bound = boundPath(descriptor)
        guard bound == path else {
            throw SocketServer.Problem(
                description: "the service manager listens at \(bound ?? "another kind of address"), clients of this "
                    + "environment connect to \(path): correct ListenStream= of the socket unit")
        }
        let flags = fcntl(descriptor, F_GETFL)
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 else {
            throw SocketServer.Problem(description: "fcntl: \(errnoText())")
        }
        return descriptor
    }

    /// Returns the path of a Unix socket; `nil` for other families and unnamed sockets.
    private static func boundPath(_ descriptor: Int32) -> String? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        let offset = MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2
        let bytes = withUnsafeBytes(of: address) { $0[offset..<min(Int(length), $0.count)].prefix { $0 != 0 } }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    private static func variable(_ name: String) -> Int32? { getenv(name).flatMap { Int32(String(cString: $0)) } }
}
