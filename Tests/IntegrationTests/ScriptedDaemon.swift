import CLinux
import Foundation
import Glibc
import PodcastProtocol

/// A daemon with scripted responses. It serves one connection at a time, on a thread of its own.
final class ScriptedDaemon: Sendable {
    struct Response: Sendable {
        var frame: Frame
        /// Whether the daemon closes the connection after it.
        var isLast = false
    }

    private let listener: Int32

    /// - Parameter respond: Returns the response to a frame of a connection, of which the first has the number 1.
    init(path: String, respond: @escaping @Sendable (_ connection: Int, Frame) -> Response) throws {
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        var length: socklen_t = 0
        guard clinux_unix_address(path, &address, &length) == 0 else { throw POSIXError(.ENAMETOOLONG) }
        let listener = listener
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, length) }
        }
        guard bound == 0, listen(listener, 16) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread {
            var number = 0
            while true {
                let client = clinux_accept(listener, Int32(SOCK_CLOEXEC.rawValue))
                guard client >= 0 else { break }
                number += 1
                Self.serve(client) { respond(number, $0) }
                close(client)
            }
            close(listener)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func serve(_ client: Int32, _ respond: (Frame) -> Response) {
        var decoder = FrameDecoder()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            buffer[..<count].withUnsafeBytes { decoder.append($0) }
            while let frame = try? decoder.next() {
                let response = respond(frame)
                let bytes = response.frame.bytes
                guard send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count, !response.isLast else {
                    return
                }
            }
        }
    }
}
