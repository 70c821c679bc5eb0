import Foundation
import TestSupport
import Testing

/// Mistakes that people make in their first week: what they type, what podfs says, and its exit code.
@Suite(.timeLimit(.minutes(5))) struct MistakeTests {
    private struct Mistake: Sendable {
        var arguments: [String]
        var code: Int32
        /// The texts that standard error must contain.
        var says: [String]

        init(_ arguments: [String], _ code: Int32, _ says: String...) {
            self.arguments = arguments
            self.code = code
            self.says = says
        }
    }

    /// A podfs home directory with three subscribed shows, and a server. The server has a catalogue of two other shows,
    /// and files that are not feeds.
    private struct Home {
        let server = HTTPTestServer()
        let home: PodfsHome

        init() async throws {
            try server.start()
            home = try PodfsHome()
            let server = server
            try home.configure("search.itunes.url = \"\(server.url("/search"))\"\n")
            for (path, title) in [("/owls", "Night Owls"), ("/trains", "Night Trains"), ("/tides", "Tide Tables")] {
                server.serveShow(title, at: path, episodes: 2, length: 300_000) { server.url("\(path)-\($0).mp3") }
            }
            let shows = [
                CatalogueAnswers.Show("Harbour", url: server.url("/harbour"), episodes: 2),
                CatalogueAnswers.Show("Hills", url: server.url("/hills"), episodes: 3),
            ]
            server.serve("/search", CatalogueAnswers.iTunes(shows))
            server.serveShow("Harbour", at: "/harbour", episodes: 2, length: 1_000) { server.url("/harbour-\($0).mp3") }
            server.serve("/lookup", CatalogueAnswers.iTunes(Array(shows.prefix(1))))
            let bodies: [(String, [UInt8])] = [
                ("/song.mp3", Array("ID3\u{4}".utf8) + [UInt8](repeating: 0, count: 600)),
                ("/frames", [0xFF, 0xFB, 0x90, 0x64] + [UInt8](repeating: 0x55, count: 600)),
                ("/cover.png", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 7, count: 100)),
                ("/noise", TestContent(seed: 12, size: 8_000).bytes(in: 4_000..<8_000)),
                ("/noise.xml", Array("<U".utf8) + TestContent(seed: 3, size: 8_000).bytes(in: 4_000..<8_000)),
            ]
            for (path, body) in bodies {
                server.serve(path, Resource(body: .bytes(body), contentType: "application/octet-stream"))
            }
            server.serve("/gone") { _ in .status(410) }
            server.serve("/page", Resource(text: "<html><title>Hi</title></html>", contentType: "text/html"))
            let silent = FeedBuilder(title: "Silent", items: [.init(title: "1"), .init(title: "2")]).text
            for (path, text) in [("/empty", ""), ("/nothing", FeedBuilder(title: "None").text), ("/silent", silent)] {
                server.serve(path, Resource(text: text, contentType: "text/xml"))
            }
            try await home.run(["subscribe"] + ["/owls", "/trains", "/tides"].map { server.url($0) }).succeeded()
        }
    }

    @Test func everyMistakeIsReportedWithAHint() async throws {
        let test = try await Home()
        let file = try test.home.directory.write("cover.png", text: "no picture")
        let empty = try test.home.directory.makeDirectory("empty")
        let full = try test.home.directory.makeDirectory("full")
        try test.home.directory.write("full/x", text: "x")
        func url(_ path: String) -> String { test.server.url(path) }
        let mistakes = [
            // Command names and options.
            Mistake(
                ["subscrible", "x"], 64, "there is no command 'podfs subscrible'; did you mean 'podfs subscribe'?"),
            Mistake(["add", url("/owls")], 64, "did you mean 'podfs subscribe'?"),
            Mistake(["umount", "/"], 64, "did you mean 'podfs unmount'?"),
            Mistake(["frobnicate"], 64, "there is no command 'podfs frobnicate'; see: podfs --help"),
            Mistake(["downlaod", empty], 64, "did you mean 'podfs download'?"),
            Mistake(["sync", "logn"], 64, "did you mean 'podfs sync login'?"),
            Mistake(["list", "--jsn"], 64, "unknown option '--jsn'; did you mean '--json'?", "usage: podfs list"),
            Mistake(["subscribe"], 64, "missing expected argument", "see: podfs subscribe --help"),
            Mistake(["download", "Night Owls", "--latest", "x"], 64, "the value 'x' is invalid for '--latest"),
            Mistake(["download", "Night Owls", "--latest", "0"], 64, "--latest needs a number, 1 or more"),
            Mistake(["status", "--watch", "--json"], 64, "podfs events --json"),
            Mistake(["events", "--once"], 64, "--since"),
            // Addresses.
            Mistake(["subscribe", url("/owls")], 1, "already subscribed as 'Night Owls'"),
            Mistake(["subscribe", "ftp://example.com/feed"], 64, "give the http:// or https:// address"),
            Mistake(["subscribe", "file:///etc/passwd"], 64, "give the http:// or https:// address"),
            Mistake(["subscribe", "nonsense"], 64, "give the http:// or https:// address"),
            Mistake(["subscribe", "history of rome"], 64, "to find a show by its name: podfs search history of rome"),
            Mistake(["subscribe", file], 64, "is a file: podfs import reads lists of shows"),
            Mistake(["subscribe", "no-such-host.invalid/feed.xml"], 1, "https://no-such-host.invalid/feed.xml"),
            Mistake(["subscribe", "feed://no-such-host.invalid/f"], 1, "https://no-such-host.invalid/f"),
            Mistake(["subscribe", "https://open.spotify.com/show/1"], 1, "podfs search NAME"),
            Mistake(["subscribe", "https://podcastindex.org/podcast/5"], 1, "search.podcastindex.key"),
            Mistake(["subscribe", url("/song.mp3")], 1, "this is an MP3 file, not a feed"),
            Mistake(["subscribe", url("/frames")], 1, "this is an MP3 file, not a feed"),
            Mistake(["subscribe", url("/cover.png")], 1, "this is a PNG image, not a feed"),
            Mistake(["subscribe", url("/noise")], 1, "this is binary data, not a feed"),
            Mistake(["subscribe", url("/noise.xml")], 1, "this is binary data, not a feed"),
            Mistake(["subscribe", url("/page")], 1, "this is a web page"),
            Mistake(["subscribe", url("/empty")], 1, "the document is empty"),
            Mistake(["subscribe", url("/nothing")], 1, "the feed has no episodes"),
            Mistake(["subscribe", url("/silent")], 1, "none of the feed's 2 items has an audio or video file"),
            Mistake(["subscribe", url("/absent")], 1, "404"),
            Mistake(["subscribe", url("/gone")], 1, "answered 410: the feed has ended"),
            Mistake(["inspect", url("/song.mp3")], 1, "this is an MP3 file, not a feed"),
            Mistake(["search"], 64, "missing expected argument"),
            Mistake(["search", "  "], 64),
            Mistake(["search", String(repeating: "x", count: 201)], 64),
            Mistake(["search", "h", "--json", "--subscribe", "1"], 64),
            Mistake(["search", "h", "--subscribe", "99"], 64, "no result 99: the search for 'h' found 2 shows"),
            Mistake(["search", "h", "--subscribe", "0"], 64, "--subscribe needs the number of a result, 1 or more"),
            // Names and paths.
            Mistake(["list", "night"], 1, "2 shows have this in their names: 'Night Owls', 'Night Trains'"),
            Mistake(["list", "Nigt Trains"], 1, "there is no show 'Nigt Trains'; did you mean 'Night Trains'?"),
            Mistake(["unsubscribe", "tide"], 1, "there is no show 'tide'; did you mean 'Tide Tables'?"),
            Mistake(["set", "tide", "keep=all"], 1, "did you mean 'Tide Tables'?"),
            Mistake(["evict", "tide"], 1, "did you mean 'Tide Tables'?"),
            Mistake(["cancel", "tide"], 1, "did you mean 'Tide Tables'?"),
            Mistake(["rename", "tide", "x"], 1, "did you mean 'Tide Tables'?"),
            Mistake(["evict", "Tide Tables/Episode 1"], 1, "'Tide Tables' has no episode 'Episode 1'"),
            Mistake(["evict", "/tmp"], 1, "'/tmp' is not in a mounted folder"),
            Mistake(["evict", "/no/such"], 1, "'/no/such' does not exist"),
            Mistake(["rename", "Tide Tables", "a/b"], 64, "'a/b' cannot be a name: it contains a slash"),
            Mistake(["rename", "Tide Tables", "Night Owls"], 64, "the name 'Night Owls' is taken"),
            Mistake(["import", file], 1, "this is not OPML"),
            // Mount points and mount options.
            Mistake(["mount", empty + "/missing"], 1, "does not exist; create it first: mkdir -p"),
            Mistake(["mount", file], 1, "is not a folder"),
            Mistake(["mount", full], 1, "is not empty (it has 'x')"),
            Mistake(["mount", "-o", "frobnicate", empty], 64, "the mount option frobnicate is unknown"),
            Mistake(["mount", "-o", "setuid=no such user", empty], 1, "there is no user 'no such user'"),
            Mistake(["unmount", empty], 1, "is not mounted"),
            // Values.
            Mistake(["set", "Tide Tables", "kep=all"], 64, "did you mean 'keep'?"),
            Mistake(["set", "Tide Tables", "auto_download=many"], 64, "a whole number from 0"),
            Mistake(["set", Self.episode, "playd=1"], 64, "did you mean 'played'?"),
            Mistake(["set", Self.episode, "played=maybe"], 64, "give true or false"),
            Mistake(["set", Self.episode, "pinned=all"], 64, "give true or false"),
            Mistake(["set", "Tide Tables", "pinned=true"], 64, "give pinned=all or pinned=none"),
            Mistake(["set", Self.episode, "position=1:75:00"], 64, "seconds or H:MM:SS"),
            // Views.
            Mistake(["view", "set", "Commute"], 64, "nothing to set: give KEY=VALUE, such as unplayed=true"),
            Mistake(
                ["view", "set", "Commute", "unplayd=true"], 64, "a view has no key 'unplayd'; the keys are unplayed,"),
            Mistake(["view", "set", "Commute", "unplayed"], 64, "'unplayed' is not a setting: write KEY=VALUE"),
            Mistake(["view", "set", "Commute", "max_duration=soon"], 64, "max_duration='soon' cannot be set"),
            Mistake(
                ["view", "set", "Commute", "title=(a"], 64,
                "title='(a' is not a regular expression: missing closing parenthesis"),
            Mistake(["view", "set", "Commute", "show=\"News, Weather"], 64, "expected a closing double quote"),
            Mistake(["view", "set", "night owls", "limit=5"], 64, "'night owls' is the name of a show"),
            Mistake(["view", "set", "a/b", "limit=5"], 64, "'a/b' cannot be the name of a view"),
            Mistake(["view", "remove", "Commute"], 1, "there is no view 'Commute'; see: podfs view list"),
        ]
        for mistake in mistakes {
            let result = try await test.home.run(mistake.arguments)
            #expect(result.exitCode == mistake.code, "\(mistake.arguments): \(result.error)")
            for part in mistake.says { #expect(result.error.contains(part), "\(mistake.arguments): \(result.error)") }
            let lines = result.error.split(separator: "\n")
            #expect(lines.allSatisfy { $0.hasPrefix("podfs: ") } && !lines.isEmpty, "\(result.error)")
            #expect(result.output.isEmpty, "\(mistake.arguments): \(result.output)")
        }
        #expect(try await test.home.run("list").output.split(separator: "\n").count == 3)
    }

    private static let episode = "Tide Tables/2026-01-01 Episode 1.mp3"

    @Test func everyCommandSaysWhatItDid() async throws {
        let test = try await Home()
        let (home, server) = (test.home, test.server)
        for number in 1...2 {
            server.serve("/tides-\(number).mp3", Resource(TestContent(seed: UInt64(number), size: 300_000)))
        }
        let list = home.directory.file("list.opml")
        let steps: [(arguments: [String], output: String)] = [
            (["refresh", "tide"], "Tide Tables: nothing new\n"),
            (["refresh"], "3 shows have nothing new\n"),
            (["set", "tide tables", "auto_download=0"], "Tide Tables: auto_download=0\n"),
            (["set", "tide tables", "auto_download="], "Tide Tables: auto_download as in the configuration\n"),
            (["set", Self.episode], "played=false\nposition=0:00\npinned=false\n"),
            (["set", Self.episode, "position=1:02:30"], "2026-01-01 Episode 1.mp3: position=1:02:30\n"),
            (["set", "TIDE TABLES/2026-01-01 episode 1", "played=1"], "2026-01-01 Episode 1.mp3: played=true\n"),
            (["set", Self.episode], "played=true\nposition=1:02:30\npinned=false\n"),
            (["list", "tide", "--unplayed"], "2026-01-02 Episode 2.mp3  ~293.0 KiB  remote\n"),
            (["list", "--downloaded"], ""),
            // An episode or a show that is named twice counts once.
            (["download", Self.episode, Self.episode, "--wait"], "1 episode downloaded\n"),
            (["download", Self.episode], "the episode is downloaded already\n"),
            (["list", "--downloaded"], "\(Self.episode)  293.0 KiB  cached  played\n"),
            (["set", Self.episode, "pinned=true"], "2026-01-01 Episode 1.mp3: pinned=true\n"),
            (["set", Self.episode], "played=true\nposition=1:02:30\npinned=true\n"),
            (["set", "Tide Tables", "pinned=none"], "2 episodes are now not pinned\n"),
            (["evict", Self.episode, Self.episode], "freed 293.0 KiB of 1 episode\n"),
            (["evict", "Tide Tables"], "nothing was cached\n"),
            (["suspend", "Tide Tables"], "nothing to suspend\n"),
            (["cancel", Self.episode], "nothing to cancel\n"),
            (["download", "tide tables", "Tide Tables", "--latest", "1", "--wait"], "1 episode downloaded\n"),
            (["export", list], "3 shows exported to \(list)\n"),
            (["import", list], "nothing to import: all 3 shows are subscribed already\n"),
            (["rename", "night owls", "Owls"], "'Night Owls' is now 'Owls'\n"),
            (["subscribe", "https://podcasts.apple.com/de/podcast/harbour/id123?i=4"], "Harbour: 2 episodes\n"),
            (["unsubscribe", "harbour"], "unsubscribed from Harbour\n"),
            (
                ["view", "set", "Commute", "unplayed=true", "show=\"Owls, Night\", tide tables"],
                "Commute: unplayed=true show='\"Owls, Night\", tide tables': 1 episode\n"
            ),
            (["view", "set", "commute", "show="], "Commute: unplayed=true: 5 episodes\n"),
            (["view", "set", "Commute", "limit=none", "-q"], ""),
            (["view", "remove", "COMMUTE"], "removed the view Commute; its episodes stay\n"),
            (["set", Self.episode, "pinned=yes", "--quiet"], ""),
            (["subscribe", "-q", server.url("/harbour")], ""),
        ]
        for step in steps {
            let result = try await home.run(step.arguments)
            #expect(
                result.exitCode == 0 && result.output == step.output,
                "\(step.arguments): \(result.output)\(result.error)")
        }
        let lookups = server.requests(for: "/lookup")
        #expect(lookups.count == 1 && lookups.first?.request.query == "id=123&entity=podcast", "\(lookups)")
        // A refresh reports new episodes, and the feeds that it could not fetch.
        let feed = FeedBuilder.show("Tide Tables", episodes: 4, length: 300_000) { server.url("/tides-\($0).mp3") }
        server.serve("/tides", feed: feed)
        server.serve("/owls") { _ in .status(410) }
        let refreshed = try await home.run("refresh")
        #expect(refreshed.exitCode == 2)
        #expect(refreshed.output == "2 new episodes in Tide Tables\n2 shows have nothing new\n", "\(refreshed.output)")
        #expect(
            refreshed.error.contains("podfs: Owls: the feed has ended (the server answered 410): its episodes stay"))
    }
}
