import Foundation
import TestSupport
import Testing

/// Servers that are down for more than three days, while several daemons are killed. Only the wall clock advances; see
/// `FakeClock`.
@Suite(.timeLimit(.minutes(10))) struct OutageTests {
    @Test(arguments: ["gpodder", "nextcloud"]) func aDayWithoutServersLosesNothing(kind: String) async throws {
        let clock = try await FakeClock()
        let home = try PodfsHome(environment: clock.environment)
        let (sync, videos, web) = (SyncServer(), try VideoServer(), HTTPTestServer())
        try sync.start()
        try web.start()
        let names = ["one", "two"]
        for name in names {
            web.serveShow(name, at: "/\(name).xml", episodes: 4) { "https://m.example/\(name)-\($0).mp3" }
        }
        let content = TestContent(seed: 12, size: 700_000)
        let file = try home.directory.write("talk.mp4", content.bytes)
        let login = ["sync", "login", sync.url, "--user", "anna", "--device", "here", "--kind", kind]
        #expect(try await home.run(login + ["--password-stdin"], input: Array("s3cret pass".utf8)).exitCode == 0)
        #expect(try await home.run("subscribe", web.url("/one.xml")).exitCode == 0)
        #expect(try await home.run("sync").exitCode == 0)

        sync.stop()
        videos.stop()
        #expect(try await home.run("publish", file, "--to", videos.url(), "--title", "Talk").exitCode == 0)
        #expect(try await home.run("subscribe", web.url("/two.xml")).exitCode == 0)
        for part in 1...4 {
            let episode = "one/2026-01-0\(part) Episode \(part).mp3"
            #expect(try await home.run("set", episode, "position=\(part * 10)").exitCode == 0)
            let failed = try await home.run("sync")
            #expect(failed.exitCode == 1 && failed.error.split(separator: "\n").count == 1, "\(failed.error)")
            try await home.endDaemon()
            try clock.move(bySeconds: Int64(part) * 6 * 3_600)
        }
        #expect(try await home.run("sync", "status").output.contains("5 changes are not sent"))
        #expect(try await home.run("status").output.contains("Talk"))
        try await home.endDaemon()

        // After the retry delay both servers are started again. The following commands only query the status, so the
        // daemon must retry by itself.
        try clock.move(bySeconds: 26 * 3_600)
        try sync.start()
        try videos.start()
        try await waitUntil(deadline: .seconds(120), description: "all changes and the upload are sent") {
            let isSent = try await home.run("sync", "status").output.contains("all changes are sent")
            return isSent && videos.videos.first?.movie != nil
        }
        #expect(Set(sync.actions.compactMap { $0["position"] as? Int }) == [10, 20, 30, 40])
        #expect(sync.actions.count == 4)
        #expect(sync.subscriptions(of: kind == "gpodder" ? "here" : "") == Set(names.map { web.url("/\($0).xml") }))
        let movie = try #require(videos.videos.first?.movie)
        #expect(videos.videos.count == 1)
        #expect(content.matches(try #require(FileManager.default.contents(atPath: movie))))
    }
}
