import Foundation
import TestSupport
import Testing

/// `podfs find`, and `.find` in a real mount.
@Suite(.timeLimit(.minutes(5))) struct FindTests {
    @Test func aPhraseOfATranscriptLeadsToItsTime() async throws {
        let show = try await MountedShow(isMounted: false)
        let server = show.server
        var feed = FeedBuilder.show(MountedShow.show, episodes: 2, length: 300_000) { server.url("/\($0).mp3") }
        feed.items[0].title = "It's \"two\""
        feed.items[0].description = "<p>Notes about <b>tides</b>.</p>"
        feed.items[0].raw = "<podcast:transcript url=\"\(server.url("/t.vtt"))\" type=\"text/vtt\"/>"
        server.serve(feed: feed)
        server.serve(
            "/t.vtt",
            Resource(
                text: """
                    WEBVTT

                    00:00:01.000 --> 00:00:02.000
                    the squid

                    01:02:03.500 --> 01:02:06.000
                    what is it like

                    01:02:06.000 --> 01:02:08.000
                    to be a bat
                    """))
        #expect(try await show.home.run("refresh").exitCode == 0)
        try await show.remount()
        let root = show.mount.mountPoint
        try await waitUntil(deadline: .seconds(60), description: "the notes are indexed") {
            try await show.home.run("find", "tides").output
                == "Example Show, 2026-01-02: It's \"two\"\n    Notes about tides.\n"
        }
        let folder = "\(root)/\(MountedShow.show)"
        let transcript = try await ChildProcess.run("sh", ["-c", "cat \"$0\"/*.vtt", folder])
        #expect(transcript.exitCode == 0 && transcript.output.contains("to be a bat"))
        let name = "2026-01-02 Episode 2.mp3"
        let expected = """
            Example Show, 2026-01-02: It's "two"
                1:02:03  what is it like to be a bat
                mpv --start=3723 '\(folder)/\(name)'

            """
        try await waitUntil(deadline: .seconds(60), description: "the transcript is indexed") {
            try await show.home.run("find", "what is it like to be a bat").output == expected
        }
        let json = try await show.home.run("find", "bat", "--json")
        let list = try JSONSerialization.jsonObject(with: Data(json.standardOutput)) as? [[String: Any]]
        #expect(list?.count == 1 && list?.first?["name"] as? String == name)
        #expect((list?.first?["transcript"] as? [String: Any])?["time"] as? Double == 3726)

        let term = "\(root)/.find/\"like to be\""
        let link = "2026-01-02 Episode 2 - Example Show.mp3"
        #expect(try await ChildProcess.run("ls", ["-U", term]).output == "playlist.m3u8\n\(link)\n")
        #expect(try await ChildProcess.run("readlink", ["-f", "\(term)/\(link)"]).output == "\(folder)/\(name)\n")
        #expect(try await ChildProcess.run("ls", ["\(root)/.find"]).output.isEmpty)
        #expect(try await show.home.run("find", "octopus").output == "nothing found for octopus\n")
        let mistake = try await show.home.run("find", "🦑")
        #expect(mistake.exitCode == 64 && mistake.error == "podfs: '🦑' contains no word to search for\n")
        #expect(server.requests(for: "/2.mp3").isEmpty)
    }
}
