import Foundation
import Glibc
import TestSupport
import Testing

/// Commands and their error messages.
@Suite(.timeLimit(.minutes(5))) struct CommandTests {
    private struct Feeds {
        let server = HTTPTestServer()
        let home: PodfsHome

        init() throws {
            try server.start()
            home = try PodfsHome()
        }
    }

    @Test func badAddressesAreRefusedWithOneLine() async throws {
        let feeds = try Feeds()
        feeds.server.serve(
            "/page", Resource(text: "<html><head><title>Hi</title></head></html>", contentType: "text/html"))
        feeds.server.serve("/empty", Resource(text: "", contentType: "application/rss+xml"))
        feeds.server.serve(
            "/nothing", Resource(text: FeedBuilder.show("None", episodes: 0) { _ in "" }.text, contentType: "text/xml"))
        var silent = FeedBuilder.show("Silent", episodes: 2) { _ in "" }
        for index in silent.items.indices { silent.items[index].url = nil }
        feeds.server.serve("/silent", Resource(text: silent.text, contentType: "text/xml"))
        let cases: [(address: String, code: Int32, says: String)] = [
            ("ftp://example.com/feed", 64, "give the http:// or https:// address"),
            ("file:///etc/passwd", 64, "give the http:// or https:// address"),
            ("nonsense", 64, "give the http:// or https:// address"),
            (feeds.server.url("/page"), 1, "this is a web page"),
            (feeds.server.url("/empty"), 1, "the document is empty"),
            (feeds.server.url("/nothing"), 1, "the feed has no episodes"),
            (feeds.server.url("/silent"), 1, "none of the feed's 2 items has an audio or video file"),
            (feeds.server.url("/absent"), 1, "404"),
        ]
        for (address, code, says) in cases {
            let result = try await feeds.home.run("subscribe", address)
            #expect(result.exitCode == code, "\(address)")
            #expect(result.error.contains(says), "\(result.error)")
            #expect(result.error.split(separator: "\n").count == 1)
            #expect(result.output.isEmpty)
        }
        #expect(try await feeds.home.run("list").output == "no subscriptions yet: podfs subscribe URL\n")
        for options in [[], ["--unplayed"], ["--downloaded"]] {
            #expect(try await feeds.home.run(["list", "--json"] + options).output == "[]\n", "\(options)")
        }
        #expect(try await feeds.home.run("list", "--unplayed").output.isEmpty)
    }

    @Test func listAndInspectPrintTheDocumentedJSON() async throws {
        let show = try await MountedShow(isMounted: false)
        let list = try await show.home.run("list", "--json")
        let shows = try #require(
            JSONSerialization.jsonObject(with: Data(list.standardOutput)) as? [[String: Any]])
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
        let inspected = try await show.home.run("inspect", show.server.url("/feed.xml"), "--json")
        let feed = try #require(
            JSONSerialization.jsonObject(with: Data(inspected.standardOutput)) as? [String: Any])
        #expect(feed["title"] as? String == "Example Show")
        #expect((feed["items"] as? [[String: Any]])?.count == 3)
        #expect(feed["next"] is NSNull)
    }

    @Test func aWebPageLeadsToTheFeedThatItNames() async throws {
        let feeds = try Feeds()
        let feed = FeedBuilder.show("Owls", episodes: 2, length: 100_000) { feeds.server.url("/\($0).mp3") }
        feeds.server.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        func page(_ links: [(path: String, title: String)]) -> Resource {
            let links = links.map {
                "<link rel=\"alternate\" type=\"application/rss+xml\" title=\"\($0.title)\" href=\"\($0.path)\">"
            }
            return Resource(
                text: "<!doctype html><html><head><title>The owls</title>\(links.joined())</head></html>",
                contentType: "text/html")
        }
        feeds.server.serve("/owls", page([("/feed.xml", "Owls")]))
        feeds.server.serve("/both", page([("/feed.xml", "Owls"), ("/video.xml", "Owls in pictures")]))
        feeds.server.serve("/loop", page([("/loop", "Loop")]))
        let several = try await feeds.home.run("subscribe", feeds.server.url("/both"))
        #expect(several.exitCode == 1)
        #expect(
            several.error.contains(
                "it names 2 feeds: \(feeds.server.url("/feed.xml")) (“Owls”), "
                    + "\(feeds.server.url("/video.xml")) (“Owls in pictures”)"), "\(several.error)")
        let loop = try await feeds.home.run("subscribe", feeds.server.url("/loop"))
        #expect(loop.exitCode == 1)
        #expect(loop.error.contains("this is a web page"), "\(loop.error)")
        let found = try await feeds.home.run("search", feeds.server.url("/both"))
        #expect(found.output == "1. Owls\n2. Owls in pictures\n", "\(found.error)")
        let subscribed = try await feeds.home.run("subscribe", feeds.server.url("/owls"))
        #expect(subscribed.output == "Owls: 2 episodes\n", "\(subscribed.error)")
        #expect(
            try await feeds.home.run("search", feeds.server.url("/feed.xml")).output
                == "1. Owls: 2 episodes (subscribed as 'Owls')\n")
        #expect(
            try await feeds.home.run("subscribe", feeds.server.url("/owls")).error
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
        show.home.killDaemon()
        try await show.home.waitUntilDaemonHasEnded()
        #expect(
            try await show.home.run("set", MountedShow.show, "archive=true").output
                == "\(MountedShow.show): archive=true\n")
        #expect(try await !show.home.run("doctor").output.contains(warning))
    }

    @Test func unsuitableMountPointsAreRefused() async throws {
        let show = try await MountedShow(isMounted: false)
        let file = try show.home.directory.write("file", text: "x")
        _ = try show.home.directory.makeDirectory("full")
        _ = try show.home.directory.write("full/x", text: "x")
        let cases = [
            (show.home.directory.file("missing"), "does not exist; create it first: mkdir -p"),
            (file, "is not a folder"),
            (show.home.directory.file("full"), "is not empty (it has 'x')"),
        ]
        for (path, says) in cases {
            let result = try await show.home.run("mount", path)
            #expect(result.exitCode == 1)
            #expect(result.error.contains(says), "\(result.error)")
            #expect(result.error.split(separator: "\n").count == 1)
        }
        let unmounted = try await show.home.run("unmount", show.mount.mountPoint)
        #expect(unmounted.exitCode == 1)
        #expect(unmounted.error.contains("is not mounted"))
        try await show.remount()
        let twice = try await show.home.run("mount", show.mount.mountPoint)
        #expect(twice.exitCode == 1)
        #expect(twice.error.contains("is mounted already"), "\(twice.error)")
    }

    @Test func mountReportsThatTheDeviceIsMissing() async throws {
        let show = try await MountedShow(isMounted: false)
        // Runs in a mount namespace with an empty /dev. An ordinary user needs a user namespace to create one.
        let namespaces = getuid() == 0 ? ["--mount"] : ["--map-root-user", "--mount"]
        let script = "mount -t tmpfs none /dev && exec \"$0\" mount \"$1\""
        let result = try await ChildProcess.run(
            "unshare", namespaces + ["sh", "-c", script, PodfsHome.executable, show.mount.mountPoint],
            environment: show.home.environment)
        #expect(result.exitCode == 1)
        #expect(result.error.contains("there is no /dev/fuse"), "\(result.error)")
    }

    @Test func controlFromTheCommandLineAndFromTheFolderAgree() async throws {
        let show = try await MountedShow()
        let gate = Gate(heldAt: 100_000)
        show.server.serve("/1.mp3", MountedShow.resource(1), [.hold(gate)])
        let downloaded = try await show.home.run("download", "\(MountedShow.show)/2026-01-01 Episode 1.mp3")
        #expect(downloaded.exitCode == 0, "\(downloaded.error)")
        try await show.waitForState("running", of: show.path(1))
        let suspended = try await ChildProcess.run(
            "setfattr", ["-n", "user.podfs.task", "-v", "suspend", show.path(1)])
        #expect(suspended.exitCode == 0, "\(suspended.error)")
        try await show.waitForState("suspended", of: show.path(1))
        #expect(try await show.home.run("status").output.contains("1 suspended"))
        gate.open()
        // The command also accepts a path in the mount.
        let resumed = try await show.home.run("resume", show.path(1))
        #expect(resumed.exitCode == 0, "\(resumed.error)")
        try await show.waitForState("cached", of: show.path(1))
        #expect(MountedShow.content(1).matches(try await show.read(show.path(1)).standardOutput))
        let evicted = try await show.home.run("evict", show.path(1))
        #expect(evicted.exitCode == 0, "\(evicted.error)")
        try await show.waitForState("remote", of: show.path(1))
        #expect(MountedShow.content(1).matches(try await show.read(show.path(1)).standardOutput))
    }

    @Test func anEpisodeNamedTwiceCountsOnce() async throws {
        let show = try await MountedShow(isMounted: false)
        let episode = "\(MountedShow.show)/2026-01-01 Episode 1.mp3"
        let downloaded = try await show.home.run("download", episode, episode, "--wait")
        #expect(downloaded.output == "1 episode downloaded\n", "\(downloaded.error)")
        let latest = try await show.home.run(
            "download", MountedShow.show, MountedShow.show, "--latest", "1", "--wait")
        #expect(latest.output == "1 episode downloaded\n", "\(latest.error)")
        let evicted = try await show.home.run("evict", episode, episode)
        #expect(evicted.output == "freed 293.0 KiB of 1 episode\n", "\(evicted.error)")
    }

    @Test func theLatestEpisodesOfAFolderInAMountAreDownloaded() async throws {
        let show = try await MountedShow()
        let latest = try await show.home.run(
            "download", "\(show.mount.mountPoint)/\(MountedShow.show)", "--latest", "2", "--wait")
        #expect(latest.output == "2 episodes downloaded\n", "\(latest.error)")
        try await show.waitForState("cached", of: show.path(3))
        #expect(try await show.attribute("state", of: show.path(1)) == "remote")
        let episode = try await show.home.run("download", show.path(1), "--latest", "2")
        #expect(episode.exitCode == 1)
        #expect(episode.error.contains("is an episode: --latest applies to shows"), "\(episode.error)")
    }

    @Test func refreshRenameAndUnsubscribeUpdateTheMountedFolder() async throws {
        let show = try await MountedShow()
        let server = show.server
        let folder = "\(show.mount.mountPoint)/\(MountedShow.show)"
        #expect(try await ChildProcess.run("ls", [folder]).output.split(separator: "\n").count == 5)
        let feed = FeedBuilder.show(MountedShow.show, episodes: 5, length: 300_000) { server.url("/\($0).mp3") }
        server.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        let refreshed = try await show.home.run("refresh")
        #expect(refreshed.output == "2 new episodes in Example Show\n", "\(refreshed.error)")
        #expect(try await ChildProcess.run("ls", [folder]).output.split(separator: "\n").count == 7)
        let renamed = try await show.home.run("rename", "\(MountedShow.show)/2026-01-05 Episode 5.mp3", "The fifth")
        #expect(renamed.exitCode == 0, "\(renamed.error)")
        #expect(try await ChildProcess.run("ls", [folder]).output.contains("The fifth.mp3"))
        let gone = try await show.home.run("unsubscribe", MountedShow.show)
        #expect(gone.exitCode == 0, "\(gone.error)")
        #expect(
            try await ChildProcess.run("ls", [show.mount.mountPoint]).output
                == "Downloaded\nIn Progress\nLatest\nTags\nUnplayed\nindex.html\n")
    }

    @Test func theDemonstrationLeavesNothingBehind() async throws {
        let home = try PodfsHome()
        var environment = home.environment
        environment["TMPDIR"] = try home.directory.makeDirectory("tmp")
        let folder = home.directory.file("demo")
        let result = try await ChildProcess.run(
            PodfsHome.executable, ["demo", "--once", folder], environment: environment, deadline: .seconds(240))
        #expect(result.exitCode == 0, "\(result.error)")
        #expect(result.output.contains("state cached"))
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.directory.file("tmp")).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: home.library))
    }
}
