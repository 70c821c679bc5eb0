import Foundation
import Glibc
import TestSupport
import Testing

/// Uploads while processes are killed repeatedly. Each upload must arrive exactly once and completely.
///
/// The environment variable `PODFS_PUBLISH_BYTES` sets the size of an upload (default 20 MB), and `PODFS_SEED` the seed
/// (default 1) of the victims and the times. The results are printed in one line.
@Suite(.timeLimit(.minutes(15))) final class PublishKillTests {
    private enum Victim: CaseIterable { case command, daemon, both }

    /// The server's upload protocol, and whether the server recognizes a repeated POST by its Idempotency-Key.
    enum Server: CaseIterable {
        case tus, put, putWithoutKeys
    }

    private static let kills = 5
    private static let bytes = environmentNumber("PODFS_PUBLISH_BYTES", otherwise: 20_000_000)
    private static let seed = environmentNumber("PODFS_SEED", otherwise: 1)

    private let home: PodfsHome
    private let server: VideoServer
    private let file: String

    init() throws {
        home = try PodfsHome()
        server = try VideoServer()
        file = home.directory.file("talk.mp4")
        let content = TestContent(seed: 11, size: Self.bytes)
        try Data().write(to: URL(fileURLWithPath: file))
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        defer { try? handle.close() }
        for start in stride(from: 0, to: Self.bytes, by: 1 << 22) {
            try handle.write(contentsOf: content.bytes(in: start..<min(start + 1 << 22, Self.bytes)))
        }
    }

    private func start() throws -> ChildProcess {
        try home.start("publish", file, "--to", server.url(), "--title", "My talk", "--wait")
    }

    /// Starts a daemon if none runs. Uses `podfs events`, since `podfs daemon` would race with another command that
    /// starts one.
    private func wakeDaemon() async throws {
        if home.daemonProcessIdentifier == nil {
            _ = try await home.run("events", "--since", "\(Int64.max)", "--once")
        }
    }

    private func isOutstanding() async throws -> Bool {
        try await home.run("status", "--json").output.contains("\"kind\": \"upload\"")
    }

    private func wait(_ description: String, _ condition: () async throws -> Bool) async throws {
        try await waitUntil(deadline: .seconds(120), description: description, condition)
    }

    private var received: Int { server.calls.reduce(0) { $0 + $1.received } }

    @Test(arguments: Server.allCases) func anUploadArrivesOnceAndCompleteDespiteKills(_ kind: Server) async throws {
        var generator = SeededGenerator(seed: UInt64(bitPattern: Int64(Self.seed)))
        server.change {
            $0.speaksTus = kind == .tus
            $0.heedsKeys = kind != .putWithoutKeys
            $0.namesKeys = kind != .putWithoutKeys
            // So slow that the kills happen during the upload.
            $0.bytesPerSecond = Self.bytes / 3
        }
        let began = ContinuousClock.now
        var command: ChildProcess? = try start()
        var killed: [String] = []
        // A kill may hit the daemon while it starts. The command that started it then fails before it has handed the
        // file to a daemon.
        func startAgainIfDaemonDidNotStart() throws {
            if let ended = command, !ended.isRunning, ended.error.contains("the daemon did not start") {
                command = try start()
            }
        }
        for kill in 0..<Self.kills {
            let victim = Victim.allCases.randomElement(using: &generator) ?? .daemon
            if kill == 0 {
                // The first kill is during the copy of the file, its handover to the daemon, or the POST.
                try await Task.sleep(for: .milliseconds(Int.random(in: 0..<400, using: &generator)))
            } else {
                // The other kills are during the upload of the media.
                let share = Double.random(in: 0.05..<(kind == .tus ? 0.2 : 0.9), using: &generator)
                let mark = received + Int(share * Double(Self.bytes))
                try await wait("\(mark) bytes have arrived") {
                    try startAgainIfDaemonDidNotStart()
                    return received >= mark || server.videos.first?.movie != nil
                }
            }
            if victim != .daemon { command?.kill() }
            if victim != .command { home.killDaemon() }
            killed.append("\(victim)")
            if victim != .daemon {
                _ = try await command?.wait()
                command = nil
            }
            if victim != .command { try await home.waitUntilDaemonHasEnded() }
            try await wakeDaemon()
            // A command that was killed before it handed the file to the daemon has published nothing: start it again.
            let isKnown = try await isOutstanding()
            if command == nil, !isKnown, server.videos.isEmpty { command = try start() }
        }
        server.change { $0.bytesPerSecond = nil }
        try await wait("the upload has arrived") {
            try startAgainIfDaemonDidNotStart()
            try await wakeDaemon()
            if server.videos.first?.movie == nil { return false }
            return try await !isOutstanding()
        }
        if let command {
            try await command.wait().succeeded()
        }

        #expect(server.videos.count == 1, "\(server.videos.map(\.title))")
        let movie = try #require(server.videos.first?.movie)
        let sums = try await ChildProcess.run("sha256sum", [file, movie]).output.split(separator: "\n")
        #expect(sums.count == 2 && sums[0].prefix(64) == sums[1].prefix(64), "\(sums)")
        #expect(server.videos.first?.size == Self.bytes)
        let copies = try FileManager.default.contentsOfDirectory(atPath: "\(home.dataDirectory)/uploads")
        #expect(copies.isEmpty, "\(copies)")
        print(
            "publish test: \(kind), seed \(Self.seed), \(Self.bytes) bytes, killed \(killed.joined(separator: ", ")); "
                + "\(received) bytes taken, \(ContinuousClock.now - began)")
    }
}
