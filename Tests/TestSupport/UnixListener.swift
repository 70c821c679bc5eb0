import CLinux
import Foundation
import Glibc
import Platform
import Synchronization

/// A listening Unix socket of a scripted daemon. One thread accepts.
package final class UnixListener: Sendable {
    private let listener: Int32
    private let path: String
    private let isStopped = Mutex(false)

    /// Binds a socket at `path` and listens. Connections wait in the backlog until `start` is called.
    package init(path: String) throws {
        self.path = path
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        var length: socklen_t = 0
        guard clinux_unix_address(path, &address, &length) == 0 else { throw POSIXError(.ENAMETOOLONG) }
        let listener = listener
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, length) }
        }
        guard bound == 0, listen(listener, 64) == 0 else { throw POSIXError(.EADDRINUSE) }
    }

    deinit { stop() }

    /// Starts the accepting thread. Called once.
    ///
    /// - Parameter serve: Called on that thread with the descriptor of each connection; `serve` has to close it.
    package func start(serve: @escaping @Sendable (_ connection: Int32) -> Void) {
        let listener = listener
        Thread.detachNewThread {
            while true {
                let connection = clinux_accept(listener, Int32(SOCK_CLOEXEC.rawValue))
                guard connection >= 0 else { break }
                serve(connection)
            }
            close(listener)
        }
    }

    /// Removes the socket from the file system and stops accepting.
    package func stop() {
        isStopped.withLock { isStopped in
            // Unlink only once: at a second call, another daemon's socket may have the same path.
            if isStopped { return }
            isStopped = true
            unlink(path)
            shutdown(listener, Int32(SHUT_RDWR))
        }
    }

    /// Passes the bytes received on a connection to `receive`, until the peer closes it or `receive` throws.
    package static func readAll(_ connection: Int32, _ receive: (UnsafeRawBufferPointer) throws -> Void) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0, (try? buffer[..<count].withUnsafeBytes(receive)) != nil else { return }
        }
    }

    /// Sends all bytes, or fewer if the peer has closed the connection.
    package static func sendAll(_ bytes: [UInt8], to connection: Int32) {
        _ = bytes.withUnsafeBytes { Platform.sendAll($0, to: connection) }
    }
}
