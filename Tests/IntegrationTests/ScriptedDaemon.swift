import Foundation
import Glibc
import PodcastProtocol
import Synchronization
import TestSupport

/// A daemon with scripted responses. It serves one connection at a time, on a thread of its own.
final class ScriptedDaemon: Sendable {
    struct Response: Sendable {
        var frame: Frame
        /// Frames that the daemon sends immediately after this one.
        var following: [Frame] = []
        /// Whether the daemon closes the connection after these frames.
        var isLast = false
    }

    private let listener: UnixListener

    /// - Parameter respond: Returns the response to a frame. Connections are numbered from 1.
    init(path: String, respond: @escaping @Sendable (_ connection: Int, Frame) -> Response) throws {
        listener = try UnixListener(path: path)
        let connections = Mutex(0)
        listener.start { client in
            let number = connections.withLock { number in
                number += 1
                return number
            }
            Self.serve(client) { respond(number, $0) }
            close(client)
        }
    }

    private static func serve(_ client: Int32, _ respond: (Frame) -> Response) {
        var decoder = FrameDecoder()
        UnixListener.readAll(client) {
            decoder.append($0)
            while let frame = try decoder.next() {
                let response = respond(frame)
                UnixListener.sendAll(response.frame.bytes + response.following.flatMap(\.bytes), to: client)
                if response.isLast { throw CancellationError() }
            }
        }
    }
}
