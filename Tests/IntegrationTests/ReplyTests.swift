import Foundation
import Glibc
import PodcastLibrary
import PodcastProtocol
import Synchronization
import TestSupport
import Testing

@testable import podfs

/// Commands whose daemon sends replies that they do not expect, or none.
struct ReplyTests {
    private let show: MountedShow

    init() async throws {
        show = try await MountedShow(isMounted: false)
        show.home.killDaemon()
        try? FileManager.default.removeItem(atPath: show.home.socket)
    }

    /// Starts a daemon that answers each command with one reply; for `nil`, it closes the connection.
    private func daemon(_ reply: @escaping @Sendable (Command) -> Reply?) throws -> FrameServer {
        try .daemon(of: show.home) { peer, command, frame in
            if let reply = command.flatMap(reply) { peer.answer(frame, reply) } else { peer.end() }
        }
    }

    @Test func aReplyOfAnotherKindFailsEveryCommand() async throws {
        let daemon = try daemon { _ in .counters(probed: 0) }
        for command in [
            ["sync"], ["sync", "status"], ["refresh"], ["rename", "--template"],
            ["evict", "Example Show/2026-01-01 Episode 1.mp3"],
            ["rename", "Example Show/2026-01-01 Episode 1.mp3", "x"], ["set", "Example Show", "played=all"],
            ["set", "Example Show", "keep=all"], ["download", "Example Show"], ["list", "Example Show"], ["status"],
            ["status", "--watch"],
            ["events", "--since", "0", "--once"], ["inspect", "https://example.com/feed"], ["search", "tides"],
            ["subscribe", "https://example.com/feed"],
        ] {
            let result = try await show.home.run(command)
            #expect(result.exitCode == 69, "\(command)")
            #expect(result.error == "podfs: the daemon sent an unexpected reply; see podfs doctor\n", "\(command)")
        }
        withExtendedLifetime(daemon) {}
    }

    /// Without pauses, and without an end, this would start one daemon after the other.
    @Test func eventsEndsIfEveryDaemonExits() async throws {
        let connections = Mutex(0)
        let daemon = try daemon { _ in
            connections.withLock { $0 += 1 }
            return nil
        }
        let result = try await show.home.run("events").failed(69)
        #expect(result.error == "podfs: the connection to the daemon has ended\n")
        #expect(connections.withLock { $0 } == 7)
        withExtendedLifetime(daemon) {}
    }
}
