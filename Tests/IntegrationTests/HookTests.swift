import Foundation
import Glibc
import TestSupport
import Testing

/// Commands of the configuration, as its manual shows them.
struct HookTests {
    /// The example's lines of podfs.conf(5) from `[hooks]` on, without roff's escapes.
    private static func example() throws -> String {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("man/podfs.conf.5")
        let lines = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n")
        let begin = try #require(lines.firstIndex(of: "[hooks]"))
        return lines[begin...].prefix { $0 != ".fi" }.joined(separator: "\n").replacing("\\-", with: "-")
            .replacing("\\e", with: "\\") + "\n"
    }

    @Test func theExamplesOfTheManualNotify() async throws {
        let show = try await MountedShow(configuration: try Self.example(), isMounted: false) { home in
            // In the place of the real one: its arguments, a line each, and what the environment says.
            try home.directory.makeDirectory("bin")
            let program = """
                #!/bin/sh
                for word; do echo "<$word>"; done >>"$HOME/said"
                echo "$PODFS_EPISODE $PODFS_URL ${PODFS_ID:+id}" >>"$HOME/said"
                """
            let path = try home.directory.write("bin/notify-send", text: program)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
        // The daemon that subscribed has another PATH.
        show.home.killDaemon(SIGTERM)
        try await show.home.waitUntilDaemonHasEnded()
        var environment = show.home.environment
        environment["PATH"] = show.home.directory.file("bin") + ":" + (environment["PATH"] ?? "")
        func run(_ arguments: String...) async throws {
            let result = try await ChildProcess.run(PodfsHome.executable, arguments, environment: environment)
            #expect(result.exitCode == 0, "\(result.error)")
        }
        func said() -> String {
            (try? String(contentsOfFile: show.home.home + "/said", encoding: .utf8)) ?? ""
        }

        try await run("download", "Example Show/2026-01-01 Episode 1.mp3", "--wait")
        let url = show.server.url("/1.mp3")
        let ready = "<-a>\n<podfs>\n<-->\n<Ready: Example Show>\n<Episode 1>\n2026-01-01 Episode 1.mp3 \(url) id\n"
        try await waitUntil(description: "the download is announced: \(said())") { said() == ready }

        let server = show.server
        let feed = FeedBuilder.show(MountedShow.show, episodes: 4, length: 300_000) { server.url("/\($0).mp3") }
        server.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        try await run("refresh")
        let new =
            "<-a>\n<podfs>\n<-->\n<New: Example Show>\n<Episode 4>\n2026-01-04 Episode 4.mp3 \(server.url("/4.mp3")) id\n"
        try await waitUntil(description: "the new episode is announced: \(said())") { said() == ready + new }
    }
}
