import Foundation
import Glibc
import TestSupport
import Testing

/// Commands and their error messages.
@Suite(.timeLimit(.minutes(5))) struct CommandTests {
    @Test func listAndInspectPrintTheDocumentedJSON() async throws {
        let show = try await MountedShow(isMounted: false)
        let list = try await show.home.run("list", "--json")
        let shows: [[String: Any]] = try list.json()
        #expect(shows.count == 1)
        #expect(
            Set(shows[0].keys)
                == [
                    "name", "url", "title", "episodes", "cached", "state", "last_refresh", "error", "tags",
                    "unplayable", "trouble", "unsaved", "unsaved_bytes",
                ])
        #expect(shows[0]["name"] as? String == "Example Show")
        #expect(shows[0]["episodes"] as? Int == 3)
        let episodes = try #require(
            JSONSerialization.jsonObject(
                with: Data(try await show.home.run("list", MountedShow.show, "--json").standardOutput))
                as? [[String: Any]])
        #expect(episodes.count == 3)
        #expect(
            Set(episodes[0].keys) == [
                "name", "title", "guid", "published", "duration", "url", "type", "size", "size_source", "state",
                "progress", "auto_download", "played", "position", "last_played",
            ])
        #expect(episodes[0]["name"] as? String == "2026-01-03 Episode 3.mp3")
        #expect(episodes[0]["published"] as? String == "2026-01-03T08:00:00Z")
        #expect(episodes[0]["size_source"] as? String == "feed")
        let feed: [String: Any] = try await show.home.run("inspect", show.server.url("/feed.xml"), "--json").json()
        #expect(feed["title"] as? String == "Example Show")
        #expect((feed["items"] as? [[String: Any]])?.count == 3)
        #expect(feed["next"] is NSNull)
    }

    @Test func aWebPageLeadsToTheFeedThatItNames() async throws {
        let (home, server) = (try PodfsHome(), HTTPTestServer())
        try server.start()
        #expect(try await home.run("list").output == "no subscriptions yet: podfs subscribe URL\n")
        for options in [[], ["--unplayed"], ["--downloaded"]] {
            #expect(try await home.run(["list", "--json"] + options).output == "[]\n", "\(options)")
        }
        let feed = FeedBuilder.show("Owls", episodes: 2, length: 100_000) { server.url("/\($0).mp3") }
        server.serve(feed: feed)
        func page(_ links: [(path: String, title: String)]) -> Resource {
            let links = links.map {
                "<link rel=\"alternate\" type=\"application/rss+xml\" title=\"\($0.title)\" href=\"\($0.path)\">"
            }
            return Resource(
                text: "<!doctype html><html><head><title>The owls</title>\(links.joined())</head></html>",
                contentType: "text/html")
        }
        server.serve("/owls", page([("/feed.xml", "Owls")]))
        server.serve("/both", page([("/feed.xml", "Owls"), ("/video.xml", "Owls in pictures")]))
        server.serve("/loop", page([("/loop", "Loop")]))
        let several = try await home.run("subscribe", server.url("/both")).failed()
        #expect(
            several.error.contains(
                "it names 2 feeds: \(server.url("/feed.xml")) (“Owls”), "
                    + "\(server.url("/video.xml")) (“Owls in pictures”)"), "\(several.error)")
        try await home.run("subscribe", server.url("/loop")).failed(says: "this is a web page")
        try await home.run("search", server.url("/both")).printed("1. Owls\n2. Owls in pictures\n")
        try await home.run("subscribe", server.url("/owls")).printed("Owls: 2 episodes\n")
        #expect(
            try await home.run("search", server.url("/feed.xml")).output
                == "1. Owls: 2 episodes (subscribed as 'Owls')\n")
        #expect(
            try await home.run("subscribe", server.url("/owls")).error
                .contains("already subscribed as 'Owls'"))
    }

    @Test func allSettingsOfAShowArePrinted() async throws {
        let show = try await MountedShow(configuration: "auto_download = 2\n", isMounted: false)
        let before = try await show.home.run("set", MountedShow.show).output
        #expect(before.contains("auto_download=2 (default)\n"))
        #expect(before.contains("keep=all (default)\n"))
        #expect(before.contains("names.template={date} {title} (default)\n"))
        _ = try await show.home.run("set", MountedShow.show, "keep=20 episodes", "tags=birds")
        // A part of the name suffices to look, but not to change.
        let part = String(MountedShow.show.dropLast())
        #expect(try await show.home.run("set", part, "keep=all").exitCode == 1)
        let after = try await show.home.run("set", part).output
        #expect(after.contains("keep=20 episodes\n"))
        #expect(after.contains("tags=birds\n"))
        #expect(after.split(separator: "\n").count == before.split(separator: "\n").count)
    }

    @Test func withoutAnArchiveFolderAShowIsArchivedLater() async throws {
        let show = try await MountedShow(isMounted: false)
        #expect(
            try await show.home.run("set", MountedShow.show, "archive=true").output == """
                \(MountedShow.show): archive=true
                nothing is archived before archive.folder is set; see podfs-archive(7)

                """)
        try show.home.configure("[archive]\nfolder = \"\(show.home.directory.makeDirectory("archive"))\"\n")
        #expect(
            try await show.home.run("set", MountedShow.show, "archive=true").output == """
                \(MountedShow.show): archive=true
                the daemon has not read the changed configuration yet; see podfs doctor

                """)
        let daemon = try #require(show.home.daemonProcessIdentifier)
        let warning = "has not read the configuration since it was changed; kill \(daemon): "
        #expect(try await show.home.run("doctor").output.contains(warning))
        try await show.home.endDaemon()
        #expect(
            try await show.home.run("set", MountedShow.show, "archive=true").output
                == "\(MountedShow.show): archive=true\n")
        #expect(try await !show.home.run("doctor").output.contains(warning))
    }

    @Test func mountReportsThatTheDeviceIsMissing() async throws {
        let show = try await MountedShow(isMounted: false)
        // Runs in a mount namespace with an empty /dev. An ordinary user needs a user namespace to create one.
        let namespaces = getuid() == 0 ? ["--mount"] : ["--map-root-user", "--mount"]
        let script = "mount -t tmpfs none /dev && exec \"$0\" mount \"$1\""
        try await ChildProcess.run(
            "unshare", namespaces + ["sh", "-c", script, PodfsHome.executable, show.mount.mountPoint],
            environment: show.home.environment
        ).failed(says: "there is no /dev/fuse")
    }

    @Test func theLatestEpisodesOfAFolderInAMountAreDownloaded() async throws {
        let show = try await MountedShow()
        try await show.home.run(
            "download", "\(show.mount.mountPoint)/\(MountedShow.show)", "--latest", "2", "--wait"
        ).printed("2 episodes downloaded\n")
        try await show.waitForState("cached", of: show.path(3))
        #expect(try await show.attribute("state", of: show.path(1)) == "remote")
        try await show.home.run("download", show.path(1), "--latest", "2").failed(
            says: "is an episode: --latest applies to shows")
    }

    @Test func theDemonstrationLeavesNothingBehind() async throws {
        let home = try PodfsHome()
        var environment = home.environment
        environment["TMPDIR"] = try home.directory.makeDirectory("tmp")
        let folder = home.directory.file("demo")
        let result = try await ChildProcess.run(
            PodfsHome.executable, ["demo", "--once", folder], environment: environment, deadline: .seconds(240)
        ).succeeded()
        #expect(result.output.contains("state cached"))
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.directory.file("tmp")).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: home.library))
    }

    @Test func aDownloadIsControlledFromTheCommandLine() async throws {
        let show = try await MountedShow()
        let gate = Gate(heldAt: 100_000)
        show.server.serve("/1.mp3", MountedShow.resource(1), [.hold(gate)])
        let episode = "\(MountedShow.show)/2026-01-01 Episode 1.mp3"
        try await show.home.run("download", episode).succeeded()
        try await show.waitForState("running", of: show.path(1))
        try await show.home.run("suspend", episode).succeeded()
        try await show.waitForState("suspended", of: show.path(1))
        #expect(try await show.home.run("status").output.contains("1 suspended"))
        gate.open()
        // The command also accepts a path in the mount.
        try await show.home.run("resume", show.path(1)).succeeded()
        try await show.waitForState("cached", of: show.path(1))
        #expect(MountedShow.content(1).matches(try await show.read(show.path(1)).standardOutput))
        try await show.home.run("evict", show.path(1)).succeeded()
        try await show.waitForState("remote", of: show.path(1))
        #expect(MountedShow.content(1).matches(try await show.read(show.path(1)).standardOutput))
    }
}
