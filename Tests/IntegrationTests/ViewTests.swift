import Foundation
import TestSupport
import Testing

/// The entries of a mount besides the episodes: links, playlists, notes, chapters, the feed, art and transcripts.
@Suite(.timeLimit(.minutes(5))) struct ViewTests {
    /// Mounts a show whose newest episode has notes, and whose second newest has chapters.
    private static func mounted() async throws -> MountedShow {
        let show = try await MountedShow(isMounted: false)
        let server = show.server
        var feed = FeedBuilder.show(MountedShow.show, episodes: 3, length: 300_000) { server.url("/\($0).mp3") }
        feed.items[0].description = "<p>The <b>third</b></p><script>alert(1)</script>"
        feed.items[1].raw = """
            <psc:chapters xmlns:psc="http://podlove.org/simple-chapters">\
            <psc:chapter start="0" title="One"/><psc:chapter start="00:01:00" title="Two"/></psc:chapters>
            """
        server.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        let refreshed = try await show.home.run("refresh")
        #expect(refreshed.exitCode == 0, "\(refreshed.error)")
        try await show.remount()
        server.clearLog()
        return show
    }

    private func output(_ program: String, _ arguments: String...) async throws -> String {
        let result = try await ChildProcess.run(program, arguments)
        #expect(result.exitCode == 0 && result.error.isEmpty, "\(program) \(arguments): \(result.error)")
        return result.output
    }

    @Test func listingTheWholeMountSendsNoRequest() async throws {
        let show = try await Self.mounted()
        let root = show.mount.mountPoint
        let tree = try await output("find", root, "-ls")
        for name in [
            "/Latest/2026-01-03 Episode 3 - Example Show.mp3", "/playlist.m3u8", "/.feed.json", "/.feed.xml.txt",
            "/.notes/2026-01-03 Episode 3.html", "/.chapters/2026-01-02 Episode 2.json",
        ] {
            #expect(tree.replacing("\\ ", with: " ").contains(name), "\(name): \(tree)")
        }
        for _ in 1...2 {
            _ = try await output("ls", "-laR", root)
            _ = try await output("du", "-a", root)
            _ = try await output("find", "-L", root, "-type", "f")
            _ = try await output("getfattr", "--absolute-names", "-R", "-d", "-m", "-", root)
        }
        #expect(show.server.requests.isEmpty)
        // Reading generated files costs no request either.
        for name in ["playlist.m3u8", ".feed.json", ".feed.xml.txt", ".notes/2026-01-03 Episode 3.html"] {
            #expect(!(try await output("cat", "\(root)/\(MountedShow.show)/\(name)")).isEmpty)
        }
        #expect(show.server.requests.isEmpty)
    }

    @Test func generatedFilesHaveTheirTrueSize() async throws {
        let show = try await Self.mounted()
        let folder = "\(show.mount.mountPoint)/\(MountedShow.show)"
        for name in [
            "playlist.m3u8", ".feed.json", ".feed.xml.txt", ".notes/2026-01-03 Episode 3.html",
            ".chapters/2026-01-02 Episode 2.json",
        ] {
            let size = try await output("stat", "-c", "%s", "\(folder)/\(name)")
            #expect(try await output("cat", "\(folder)/\(name)").utf8.count == Int(size.dropLast()), "\(name)")
        }
        #expect(try await output("stat", "-c", "%a", "\(folder)/.feed.xml.txt", "\(folder)/.feed.json") == "400\n400\n")
        let served = try await ChildProcess.run("curl", ["-s", show.server.url("/feed.xml")]).output
        #expect(try await output("cat", "\(folder)/.feed.xml.txt") == served)
        let notes = try await output("cat", "\(folder)/.notes/2026-01-03 Episode 3.html")
        #expect(notes.contains("<p>The <b>third</b></p>") && notes.components(separatedBy: "<script").count == 2)
        // A copy by a program that uses the size from fstat(2) is complete.
        let copy = show.home.directory.file("copy")
        _ = try await output("cp", "\(folder)/.feed.json", copy)
        #expect(try await output("cat", copy) == output("cat", "\(folder)/.feed.json"))
        let json = try JSONSerialization.jsonObject(with: Data(try await output("cat", copy).utf8)) as? [String: Any]
        #expect((json?["health"] as? [String: Any])?["state"] as? String == "active")
        #expect((json?["items"] as? [Any])?.count == 3)
    }

    @Test func aNewEpisodeShowsInLatestAndInThePlaylist() async throws {
        let show = try await Self.mounted()
        let server = show.server
        let root = show.mount.mountPoint
        let playlist = "\(root)/\(MountedShow.show)/playlist.m3u8"
        let before = try await output("stat", "-c", "%s", playlist)
        #expect(try await output("ls", "\(root)/Latest").split(separator: "\n").count == 5)
        let feed = FeedBuilder.show(MountedShow.show, episodes: 4, length: 300_000) { server.url("/\($0).mp3") }
        server.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        #expect(try await show.home.run("refresh").output == "1 new episode in Example Show\n")
        try await waitUntil(deadline: .seconds(60), description: "the playlist has another size") {
            try await output("stat", "-c", "%s", playlist) != before
        }
        #expect(try await output("cat", playlist).contains("\n2026-01-04 Episode 4.mp3\n"))
        #expect(try await output("ls", "\(root)/Latest").contains("2026-01-04 Episode 4 - Example Show.mp3\n"))
        let renamed = try await show.home.run("rename", MountedShow.show, "Another Show")
        #expect(renamed.exitCode == 0, "\(renamed.error)")
        try await waitUntil(deadline: .seconds(60), description: "the links have other names") {
            try await output("ls", "\(root)/Latest").contains("Episode 4 - Another Show.mp3\n")
        }
        #expect(
            try await output("readlink", "\(root)/Latest/2026-01-04 Episode 4 - Another Show.mp3")
                == "../Another Show/2026-01-04 Episode 4.mp3\n")
    }

    @Test func artAndTranscriptsAreFetchedWhenTheyAreReadAndTheCoverBefore() async throws {
        let show = try await MountedShow(isMounted: false)
        let server = show.server
        var feed = FeedBuilder.show(MountedShow.show, episodes: 3, length: 300_000) { server.url("/\($0).mp3") }
        feed.image = server.url("/cover")
        feed.items[0].raw = """
            <itunes:image href="\(server.url("/missing.jpg"))"/>
            <podcast:transcript url="\(server.url("/t"))" type="text/vtt"/>
            <podcast:chapters url="\(server.url("/c"))" type="application/json+chapters"/>
            """
        server.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        let image: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        server.serve("/cover", Resource(bytes: image, contentType: "image/jpeg"))
        server.serve("/t", Resource(text: "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n"))
        server.serve("/c", Resource(text: "{\"version\":\"1.2.0\",\"chapters\":[]}", contentType: "application/json"))
        _ = try await show.home.run("refresh")
        try await show.remount()
        let root = show.mount.mountPoint
        let folder = "\(root)/\(MountedShow.show)"
        try await waitUntil(description: "the cover is there") {
            try await output("stat", "-c", "%s %a", "\(folder)/cover.jpg") == "200004 444\n"
        }
        #expect(try await output("cat", "\(folder)/.directory") == "[Desktop Entry]\nIcon=./cover.jpg\n")
        server.clearLog()
        let names = try await output("ls", folder)
        for name in ["cover.jpg", "2026-01-03 Episode 3.jpg", "2026-01-03 Episode 3.vtt"] {
            #expect(names.contains(name + "\n"), "\(names)")
        }
        let art = "\(folder)/2026-01-03 Episode 3.jpg"
        #expect(try await output("stat", "-c", "%s %b %a", art) == "2097152 1 444\n")
        #expect(try await output("ls", "-l", folder).contains(" 1048576 ") == true)
        for _ in 1...2 {
            _ = try await output("ls", "-laR", root)
            _ = try await output("find", root, "-ls")
            _ = try await output("du", "-a", root)
        }
        #expect(server.requests.isEmpty)
        // cp uses the size from fstat(2), and cat reads to the end. Both must get the whole file, although the size was
        // an estimate before the fetch.
        let copy = show.home.directory.file("copy")
        _ = try await output("cp", "\(folder)/cover.jpg", copy)
        #expect(FileManager.default.contents(atPath: copy) == Data(image))
        #expect(try await ChildProcess.run("cat", ["\(folder)/cover.jpg"]).standardOutput == image)
        #expect(try await output("stat", "-c", "%s", "\(folder)/cover.jpg") == "200004\n")
        #expect(try await output("cat", "\(folder)/2026-01-03 Episode 3.vtt").hasPrefix("WEBVTT\n"))
        #expect(try await output("cat", "\(folder)/.chapters/2026-01-03 Episode 3.json").contains("1.2.0"))
        #expect(server.requests.map(\.path).sorted() == ["/c", "/t"])
        // A missing file is requested once, although it is read three times.
        for _ in 1...3 {
            let missing = try await ChildProcess.run("cat", ["\(folder)/2026-01-03 Episode 3.jpg"])
            #expect(missing.exitCode != 0 && missing.error.contains("No data available"), "\(missing.error)")
        }
        #expect(server.requests(for: "/missing.jpg").count == 1)
        // After a remount the art is still cached, and readable without the server.
        _ = try await show.home.run("unmount", root)
        server.stop()
        try await show.remount()
        #expect(try await output("stat", "-c", "%s", "\(folder)/cover.jpg") == "200004\n")
        #expect(try await ChildProcess.run("cat", ["\(folder)/cover.jpg"]).standardOutput == image)
    }

    @Test func aPlayerPlaysThePlaylist() async throws {
        let show = try await MountedShow(episodes: 2, isMounted: false)
        let server = show.server
        let folder = show.home.directory
        var feed = FeedBuilder.show(MountedShow.show, episodes: 2) { server.url("/\($0).mp3") }
        // Names that a player could treat as something other than a file.
        feed.items[0].title = "50% off: #1? [a] & b – ü"
        feed.items[0].guid = "new"
        feed.items[0].url = server.url("/3.mp3")
        for number in 1...3 {
            let path = folder.file("\(number).mp3")
            let made = try await ChildProcess.run(
                "ffmpeg", ["-v", "error", "-f", "lavfi", "-i", "sine=frequency=440:duration=5", "-b:a", "64k", path])
            try #require(made.exitCode == 0, "\(made.error)")
            let bytes = try #require(FileManager.default.contents(atPath: path))
            server.serve("/\(number).mp3", Resource(bytes: Array(bytes), etag: "\"\(number)\""))
        }
        server.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        _ = try await show.home.run("refresh")
        try await show.remount()
        let playlist = "\(show.mount.mountPoint)/\(MountedShow.show)/playlist.m3u8"
        let played = try await ChildProcess.run(
            "mpv", ["--no-config", "--ao=null", "--vo=null", "--untimed", "--length=1", playlist])
        #expect(played.output.contains("Playing: \(show.mount.mountPoint)"), "\(played.output)\(played.error)")
        #expect(!played.output.contains("Failed") && !played.output.contains("Errors"), "\(played.output)")
        #expect(played.output.contains("50%25 off: %231%3F [a] & b – ü.mp3"), "\(played.output)")
        #expect(!(try await output("ls", "\(show.mount.mountPoint)/\(MountedShow.show)")).contains("%25"))
        #expect(Set(server.requests.map(\.path)).isSuperset(of: ["/1.mp3", "/3.mp3"]))
    }
}
