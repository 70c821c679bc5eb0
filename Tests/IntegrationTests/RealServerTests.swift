import Foundation
import TestSupport
import Testing

/// Programs and feeds that were not made for podfs: nginx as the server, ffmpeg as the encoder, mpv as the player, and
/// feeds of real shows.
@Suite(.timeLimit(.minutes(5))) struct RealServerTests {
    @Test func aPlayerPlaysAnUncachedEpisodeToItsEnd() async throws {
        let folder = try TemporaryDirectory()
        _ = try folder.makeDirectory("www")
        let original = folder.file("www/1.mp3")
        let made = try await ChildProcess.run(
            "ffmpeg", ["-v", "error", "-f", "lavfi", "-i", "sine=frequency=440:duration=30", "-b:a", "64k", original])
        try #require(made.exitCode == 0, "\(made.error)")
        let nginx = try await Nginx(in: folder)
        let base = "http://127.0.0.1:\(nginx.port)"
        let feed = FeedBuilder.show("Real Show", episodes: 1) { _ in "\(base)/1.mp3?token=a&amp;b=c".unescaped }
        _ = try folder.write("www/feed.xml", text: feed.text)
        let home = try PodfsHome()
        let mount = try home.makeMountPoint()
        #expect(try await home.run("subscribe", "\(base)/feed.xml").output == "Real Show: 1 episode\n")
        #expect(try await home.run("mount", mount.mountPoint).exitCode == 0)
        let episode = "\(mount.mountPoint)/Real Show/2026-01-01 Episode 1.mp3"
        let played = try await ChildProcess.run(
            "mpv", ["--no-config", "--ao=null", "--vo=null", "--untimed", "--speed=100", episode])
        #expect(played.exitCode == 0, "\(played.output)\(played.error)")
        #expect(played.output.contains("End of file"))
        let facts = ["-v", "error", "-show_entries", "format=duration,size,bit_rate", "-of", "csv=p=0"]
        let seen = try await ChildProcess.run("ffprobe", facts + [episode])
        #expect(seen.output == (try await ChildProcess.run("ffprobe", facts + [original]).output))
        let sums = try await ChildProcess.run("sha256sum", ["--", episode, original]).output.split(separator: "\n")
        #expect(sums.count == 2 && sums[0].prefix(64) == sums[1].prefix(64))
        let copied = try await ChildProcess.run("rsync", ["-t", episode, folder.file("copy.mp3")])
        #expect(copied.exitCode == 0, "\(copied.error)")
        #expect(try await ChildProcess.run("cmp", [folder.file("copy.mp3"), original]).exitCode == 0)
        // The server has sent the file once: the sizes of its responses add up to the size of the file.
        let size = try #require(
            FileManager.default.attributesOfItem(atPath: original)[.size] as? NSNumber
        ).intValue
        try await waitUntil(deadline: .seconds(60), description: "nginx has written its log") {
            nginx.log.contains { $0.hasPrefix("/1.mp3") }
        }
        let sent = nginx.log.filter { $0.hasPrefix("/1.mp3") }.compactMap {
            $0.split(separator: " ").last.flatMap { Int($0) }
        }
        #expect(sent.reduce(0, +) == size, "\(nginx.log)")
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: feeds), "there is no folder \(feeds)"))
    func theMountHasEveryEpisodeOfRealFeeds() async throws {
        let home = try PodfsHome()
        let server = HTTPTestServer()
        try server.start()
        let names = FileManager.default.enumerator(atPath: Self.feeds)?.compactMap { $0 as? String } ?? []
        var subscribed = 0
        for name in names.filter({ $0.hasSuffix(".xml") }).sorted() {
            let data = try Data(contentsOf: URL(fileURLWithPath: "\(Self.feeds)/\(name)"))
            server.serve("/\(name)", Resource(bytes: [UInt8](data), contentType: "application/rss+xml"))
            let result = try await home.run("subscribe", server.url("/\(name)"))
            #expect(result.exitCode == 0 || result.error.hasPrefix("podfs: "), "\(name): \(result.error)")
            if result.exitCode == 0 { subscribed += 1 }
        }
        #expect(subscribed >= 20)
        let mount = try home.makeMountPoint()
        #expect(try await home.run("mount", mount.mountPoint).exitCode == 0)
        let found = try await ChildProcess.run(
            "find",
            [
                mount.mountPoint, "-name", ".alternates", "-prune", "-o", "-type", "f", "-exec", "getfattr", "-n",
                "user.podfs.id", "--absolute-names", "{}",
                "+",
            ])
        let listed = try await home.run("list", "--json")
        let shows = try #require(JSONSerialization.jsonObject(with: Data(listed.standardOutput)) as? [[String: Any]])
        let episodes = shows.compactMap { $0["episodes"] as? Int }.reduce(0, +)
        #expect(found.output.split(separator: "\n").count { $0.hasPrefix("user.podfs.id=") } == episodes)
        #expect(episodes > 1_000)
    }

    /// The folder of real feeds: `PODFS_TEST_FEEDS`, or else `shared/feeds` beside the checkout. The feeds are not part
    /// of the project.
    static var feeds: String {
        ProcessInfo.processInfo.environment["PODFS_TEST_FEEDS"]
            ?? URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().path + "/shared/feeds"
    }
}

extension String {
    /// The text with `&amp;` replaced by `&`, since `FeedBuilder` escapes the text itself.
    fileprivate var unescaped: String { replacingOccurrences(of: "&amp;", with: "&") }
}
