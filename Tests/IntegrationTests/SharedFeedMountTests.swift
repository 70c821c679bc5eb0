import Foundation
import TestSupport
import Testing

/// A mount that nginx serves over HTTP, and a second installation of podfs that subscribes to one of its shows.
@Suite(.timeLimit(.minutes(5))) struct SharedFeedMountTests {
    @Test func anotherHomePlaysASharedShow() async throws {
        let web = try TemporaryDirectory()
        let root = try web.makeDirectory("www")
        let nginx = try await Nginx(in: web, root: root)
        let base = "http://127.0.0.1:\(nginx.port)/podcasts"
        let show = try await MountedShow(episodes: 2, configuration: "share.base_url = \"\(base)/\"\n")
        try FileManager.default.createSymbolicLink(
            atPath: "\(root)/podcasts", withDestinationPath: show.mount.mountPoint)
        let fetched = try await ChildProcess.run(
            "curl", ["-sf", "--noproxy", "*", nginx.url("podcasts/\(MountedShow.show)/feed.xml")])
        #expect(fetched.exitCode == 0 && fetched.output.contains("<guid isPermaLink=\"false\">1</guid>"))

        let other = try PodfsHome()
        try await other.run("subscribe", "--name", "Copy", nginx.url("podcasts/\(MountedShow.show)/feed.xml")).printed(
            "Copy: 2 episodes\n")
        let mount = try await other.mounted()
        let played = try await ChildProcess.run("cat", ["\(mount.mountPoint)/Copy/2026-01-01 Episode 1.mp3"])
        #expect(played.standardOutput == MountedShow.content(1).bytes, "\(played.error)")
        for home in [show.home, other] {
            let items: [[String: Any]] =
                try await home.run("list", home === other ? "Copy" : MountedShow.show, "--json").json()
            #expect(items.compactMap { $0["guid"] as? String } == ["2", "1"])
            #expect(
                items.compactMap { $0["published"] as? String } == ["2026-01-02T08:00:00Z", "2026-01-01T08:00:00Z"])
        }
        // The feed of a view contains the same episodes. A show that is not shared has no feed, and its episodes are in
        // no view's feed.
        let latest = try await ChildProcess.run("cat", ["\(show.mount.mountPoint)/Latest/feed.xml"])
        #expect(latest.output.contains("\(base)/Example%20Show/2026-01-02%20Episode%202.mp3"))
        #expect(try await show.home.run("set", MountedShow.show, "share=false").exitCode == 0)
        try await ChildProcess.run("cat", ["\(show.mount.mountPoint)/\(MountedShow.show)/feed.xml"]).failed()
        let empty = try await ChildProcess.run("cat", ["\(show.mount.mountPoint)/Latest/feed.xml"])
        #expect(empty.exitCode == 0 && !empty.output.contains("<item>"))
    }
}
