internal import CSystemd
internal import Glibc
internal import Platform

/// The listening socket that a service manager passes when it starts the daemon for the first client.
enum SocketActivation {
    /// Returns the passed socket, which the caller then owns. Child processes do not inherit the socket.
    ///
    /// Removes the environment variables that announce the socket, so that a second call returns `nil`.
    ///
    /// - Parameter path: the path to which clients in this environment connect.
    /// - Returns: `nil` if no socket was passed to this process.
    /// - Throws: `SocketServer.Problem` if more than one socket was passed, or the socket does not listen at `path`.
    static func inheritedListener(at path: String) throws -> Int32? {
        let count = sd_listen_fds(1)
        guard count > 0 else { return nil }
        guard count == 1 else {
            throw SocketServer.Problem(description: "the service manager passed \(count) sockets: podfs needs one")
        }
        let descriptor = SD_LISTEN_FDS_START
        guard sd_is_socket_unix(descriptor, Int32(SOCK_STREAM.rawValue), 1, path, 0) > 0 else {
            throw SocketServer.Problem(
                description: "the service manager listens elsewhere, clients of this environment connect to \(path): "
                    + "correct ListenStream= of the socket unit")
        }
        guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0 else {
            throw SocketServer.Problem(description: "fcntl: \(errnoText())")
        }
        return descriptor
    }
}
