import Foundation
import TestSupport
import Testing

/// The entries of a mount besides the episodes: links, playlists, notes, chapters, the feed, art and transcripts.
@Suite(.timeLimit(.minutes(5))) struct ViewTests {
    private func output(_ program: String, _ arguments: String...) async throws -> String {
        let result = try await ChildProcess.run(program, arguments)
        #expect(result.exitCode == 0 && result.error.isEmpty, "\(program) \(arguments): \(result.error)")
        return result.output
    }

    @Test func listingTheWholeMountSendsNoRequest() async throws {
        let show = try await MountedShow(isMounted: false)
        let server = show.server
        var feed = FeedBuilder.show(MountedShow.show, episodes: 3, length: 300_000) { server.url("/\($0).mp3") }
        feed.items[0].description = "<p>The <b>third</b></p><script>alert(1)</script>"
        feed.items[1].raw = """
            <psc:chapters xmlns:psc="http://podlove.org/simple-chapters">\
            <psc:chapter start="0" title="One"/><psc:chapter start="00:01:00" title="Two"/></psc:chapters>
            """
        server.serve(feed: feed)
        try await show.home.run("refresh").succeeded()
        try await show.remount()
        server.clearLog()
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
        server.serve(feed: feed)
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
        var feed = FeedBuilder.show(MountedShow.show, episodes: 2) { server.url("/\($0).mp3") }
        // Names that a player could treat as something other than a file.
        feed.items[0].title = "50% off: #1? [a] & b – ü"
        feed.items[0].guid = "new"
        feed.items[0].url = server.url("/3.mp3")
        for number in 1...3 {
            let bytes = try await ChildProcess.ffmpeg("sine=frequency=440:duration=5", "-b:a", "64k", as: "a.mp3")
            server.serve("/\(number).mp3", Resource(bytes: bytes, etag: "\"\(number)\""))
        }
        server.serve(feed: feed)
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
