import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport

extension FrameServer {
    /// Starts a daemon in place of that of `home`. It answers greetings; `respond` answers commands.
    static func daemon(
        of home: PodfsHome, respond: @escaping @Sendable (Peer, Command?, Frame) -> Void
    ) throws -> FrameServer {
        try FileManager.default.createDirectory(
            at: URL(fileURLWithPath: home.socket).deletingLastPathComponent(), withIntermediateDirectories: true)
        let welcome = Welcome(
            protocolVersion: protocolVersion, schema: Library.schemaVersion, library: home.library,
            cache: home.cacheDirectory, version: "1", pid: getpid())
        return try FrameServer(path: home.socket) { peer, frame in
            if frame.kind == .hello { return peer.answer(frame, welcome) }
            respond(peer, WireJSON.decode(Command.self, frame.payload), frame)
        }
    }
}
