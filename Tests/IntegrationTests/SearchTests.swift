import Foundation
import TestSupport
import Testing

/// `.search` in a real mount, and `podfs search`.
@Suite(.timeLimit(.minutes(5))) struct SearchTests {
    private typealias Show = CatalogueAnswers.Show

    /// Subscribes to a show whose test server also serves a catalogue, and mounts unless `isMounted` is false. Every
    /// search in this catalogue finds the subscribed show, and an unsubscribed one with three episodes.
    private static func mounted(isMounted: Bool = true) async throws -> MountedShow {
        let show = try await MountedShow(isMounted: false)
        try show.home.configure("search.itunes.url = \"\(show.server.url("/itunes"))\"\n")
        // The daemon must restart to read its configuration.
        try await show.home.endDaemon(SIGTERM)
        publish(show)
        show.server.clearLog()
        if isMounted { try await show.remount() }
        return show
    }

    private static func publish(_ show: MountedShow) {
        let server = show.server
        let feed = FeedBuilder.show("Tide Tables", episodes: 3, length: 300_000) { server.url("/tide-\($0).mp3") }
        server.serve("/tides.xml", feed: feed)
        for number in 1...3 {
            server.serve("/tide-\(number).mp3", Resource(content(number), etag: "\"tide-\(number)\""))
        }
        server.serve(
            "/itunes",
            CatalogueAnswers.iTunes([
                Show("Tide Tables", url: server.url("/tides.xml"), author: "Mara Quist", episodes: 3),
                Show("Catalogued", url: server.url("/feed.xml")),
            ]))
    }

    private static func content(_ number: Int) -> TestContent { TestContent(seed: UInt64(100 + number), size: 300_000) }

    private func list(_ path: String) async throws -> ChildProcess.Result { try await ChildProcess.run("ls", [path]) }

    private static let episode = "2026-01-01 Episode 1.mp3"

    @Test func aFoundShowIsListedAndPlayedAndThenSubscribed() async throws {
        let show = try await Self.mounted()
        let root = show.mount.mountPoint
        let term = "\(root)/.search/high tide"
        let found = try await list(term)
        #expect(found.output == "Example Show\nTide Tables\n", "\(found.error)")
        #expect(show.server.requests.map(\.path) == ["/itunes"])
        let episodes = try await list("\(term)/Tide Tables")
        #expect(episodes.output == (1...3).map { "2026-01-0\($0) Episode \($0).mp3\n" }.joined(), "\(episodes.error)")
        #expect(try await list("\(term)/Example Show").output.hasPrefix(Self.episode))
        #expect(show.server.requests.map(\.path) == ["/itunes", "/tides.xml"])
        // The found show is not listed among the subscriptions.
        #expect(
            try await list(root).output == "Downloaded\nExample Show\nIn Progress\nLatest\nTags\nUnplayed\nindex.html\n"
        )
        #expect(try await show.home.run("list").output == "Example Show: 3 episodes\n")

        let path = "\(term)/Tide Tables/\(Self.episode)"
        let inode = try await ChildProcess.run("stat", ["-c", "%i", path]).output
        let read = try await show.read(path)
        #expect(read.exitCode == 0 && read.standardOutput.count == 300_000, "\(read.error)")
        #expect(Self.content(1).matches(read.standardOutput))
        // The episode's bytes are removed after the close, and fetched again for the next reader.
        try await waitUntil(deadline: .seconds(60), description: "the cache is empty") { cacheFiles(show).isEmpty }
        try await show.waitForState("remote", of: path)
        let again = try await show.read(path)
        #expect(Self.content(1).matches(again.standardOutput) && again.standardOutput.count == 300_000)

        // Subscribe by the path of the found show while one of its episodes is open.
        let reader = try ChildProcess(
            "sh", ["-c", "exec 3< \"$0\"; cat <&3 > /dev/null; echo read; read line; cat <&3", path])
        try await reader.waitForOutput("read")
        try await show.home.run("subscribe", "\(term)/Tide Tables").printed("Tide Tables: 3 episodes\n")
        reader.kill()
        _ = try await reader.wait()
        let own = "\(root)/Tide Tables/\(Self.episode)"
        #expect(try await ChildProcess.run("stat", ["-c", "%i", own]).output == inode)
        try await show.waitForState("cached", of: own)
        #expect(cacheFiles(show).count == 1)
        let count = show.server.requests(for: "/tide-1.mp3").count
        #expect(try await show.read(own).standardOutput == Self.content(1).bytes)
        #expect(show.server.requests(for: "/tide-1.mp3").count == count)
        // The path below the search term still works.
        #expect(try await list(term).output == "Example Show\nTide Tables\n")
        #expect(try await ChildProcess.run("stat", ["-c", "%i", path]).output == inode)
    }

    /// A show's folder exposes the address of the feed without its secrets. Subscribing to that address would fetch
    /// another feed or none, so `podfs subscribe` with the folder's path has to recognize the subscribed show.
    @Test func theFolderOfASubscribedShowIsNotSubscribedAgain() async throws {
        let show = try await Self.mounted()
        let server = show.server
        server.serveShow("Private", at: "/private.xml", episodes: 1, length: 1_000) { server.url("/private-\($0).mp3") }
        let address = server.url("/private.xml?token=hush").replacing("http://", with: "http://me:hush@")
        #expect(try await show.home.run("subscribe", address).exitCode == 0)
        let again = try await show.home.run("subscribe", "\(show.mount.mountPoint)/Private")
        #expect(again.exitCode == 1 && again.error.contains("already subscribed as 'Private'"), "\(again.error)")
        #expect(server.requests(for: "/private.xml").count == 1)
        #expect(try await show.home.run("list").output.split(separator: "\n").count == 2)
    }

    private func cacheFiles(_ show: MountedShow) -> [String] {
        let files = FileManager.default.enumerator(atPath: show.home.cacheDirectory + "/media")?.allObjects ?? []
        return files.compactMap { $0 as? String }.filter { $0.contains("/") && !$0.contains(".") }
    }

    @Test func aShowFoundByTwoTermsCanBeOpenInBoth() async throws {
        let show = try await Self.mounted()
        let root = show.mount.mountPoint
        let script = """
            cd "$0/.search/one" && ls > /dev/null && cd "Tide Tables" && ls > /dev/null || exit 1
            ls "$0/.search/two" "$0/.search/two/Tide Tables" > /dev/null || exit 2
            pwd -P && ls && ls ../../two
            """
        let result = try await ChildProcess.run("sh", ["-c", script, root]).succeeded()
        #expect(result.output.hasPrefix("\(root)/.search/one/Tide Tables\n\(Self.episode)\n"), "\(result.output)")
        #expect(result.output.hasSuffix("Example Show\nTide Tables\n"))
        let walked = try await ChildProcess.run(
            "find", ["\(root)/.search/one", "\(root)/.search/two", "-name", "*1.mp3"])
        #expect(walked.output.split(separator: "\n").count == 4 && walked.error.isEmpty, "\(walked.error)")
    }

    @Test func aFailingCatalogueFailsTheListingAndTheCommandReportsWhy() async throws {
        let show = try await Self.mounted()
        let term = "\(show.mount.mountPoint)/.search/tide"
        show.server.serve("/itunes") { _ in .status(500) }
        #expect(try await list(term).says(EIO))
        try await show.home.run("search", "tide").failed(
            says: "podfs: the search failed: iTunes: the server answered 500; try again later\n")
        show.server.stop()
        #expect(try await list(term).says(EHOSTUNREACH))
    }

    @Test func hostileNamesStayInTheirFolder() async throws {
        let show = try await Self.mounted()
        show.server.serve(
            "/itunes",
            CatalogueAnswers.iTunes([
                Show("../../../etc", url: show.server.url("/tides.xml")), Show("\u{1B}[2J", url: "https://b.example/"),
                Show("File", url: "file:///etc/passwd"), Show("..", url: "https://c.example/"),
            ]))
        let root = show.mount.mountPoint
        let names = try await ChildProcess.run(
            "find", ["\(root)/.search/x", "-mindepth", "1", "-maxdepth", "1", "-printf", "%f\\n"])
        let found = names.output.split(separator: "\n")
        #expect(
            found.count == 3 && found.allSatisfy { !$0.hasPrefix(".") && !$0.contains("\u{1B}") }, "\(names.output)")
        let command = try await show.home.run("search", "x")
        #expect(!command.output.contains("\u{1B}") && command.output.split(separator: "\n").count == 3)
        #expect(try await list("\(root)/.search/x/\(try #require(found.first { $0.contains("etc") }))").exitCode == 0)
        let spaces = try await list("\(root)/.search/   ")
        #expect(spaces.error.contains("Invalid argument"), "\(spaces.error)")
    }

    // MARK: The command

    @Test func theCommandNumbersTheResultsAndSubscribesByNumber() async throws {
        let show = try await Self.mounted(isMounted: false)
        let text = try await show.home.run("search", "high", "tide")
        #expect(
            text.output == """
                1. Tide Tables, by Mara Quist: 3 episodes
                2. Catalogued (subscribed as 'Example Show')

                """, "\(text.error)")
        let json = try await show.home.run("search", "high tide", "--json")
        let shows: [[String: Any]] = try json.json()
        #expect(shows.count == 2)
        #expect(
            Set(shows[0].keys) == ["number", "title", "author", "url", "episodes", "image", "link", "subscribed"])
        #expect(shows[0]["url"] as? String == show.server.url("/tides.xml") && shows[0]["subscribed"] is NSNull)
        #expect(shows[0]["episodes"] as? Int == 3 && shows[1]["episodes"] is NSNull)
        #expect(shows[1]["number"] as? Int == 2 && shows[1]["subscribed"] as? String == "Example Show")
        let beyond = try await show.home.run("search", "high tide", "--subscribe", "3").failed(64)
        #expect(beyond.error == "podfs: there is no result 3: the search for 'high tide' found 2 shows\n")
        let again = try await show.home.run("search", "high tide", "--subscribe", "2")
        #expect(again.exitCode == 1 && again.error.contains("already subscribed as 'Example Show'"))
        try await show.home.run("search", "high tide", "--subscribe", "1").printed("Tide Tables: 3 episodes\n")
        #expect(try await show.home.run("list").output == "Example Show: 3 episodes\nTide Tables: 3 episodes\n")
        #expect(show.server.requests(for: "/itunes").count == 1)
        show.server.serve("/itunes", CatalogueAnswers.iTunes([]))
        #expect(try await show.home.run("search", "xyzzy").output == "nothing found for 'xyzzy'\n")
        #expect(try await show.home.run("search", "xyzzy", "--json").output == "[]\n")
        try await show.home.run("search", "xyzzy", "--subscribe", "1").failed(64, says: "found nothing")
    }

    @Test func aCatalogueThatFailsBesideAnotherIsAWarning() async throws {
        let show = try await MountedShow(isMounted: false)
        Self.publish(show)
        try await show.home.endDaemon(SIGTERM)
        try show.home.configure(
            """
            [search]
            itunes.url = "\(show.server.url("/itunes"))"
            podcastindex = { key = "KEY", secret = "SECRET", url = "\(show.server.url("/index"))" }
            """)
        show.server.serve("/index/api/1.0/search/byterm") { _ in
            .status(401, body: "{\"description\":\"Invalid API key\"}")
        }
        let result = try await show.home.run("search", "tide")
        #expect(result.exitCode == 0 && result.output.hasPrefix("1. Tide Tables"))
        #expect(result.error.hasPrefix("podfs: warning: Podcast Index: the server answered 401"), "\(result.error)")
        let log = try String(contentsOfFile: show.home.stateDirectory + "/daemon.log", encoding: .utf8)
        #expect(!log.contains("SECRET") && !result.error.contains("SECRET"))
    }
}
