import Foundation
import TestSupport
import Testing

/// Daemons that are killed during an import or a refresh.
@Suite(.timeLimit(.minutes(5))) struct RefreshDeathTests {
    private struct Show: Decodable, Equatable {
        var name: String
        var episodes: Int
        var state: String
        var error: String?
    }

    private static let count = 120
    private let home: PodfsHome
    private let server = HTTPTestServer()

    init() throws {
        home = try PodfsHome()
        try server.start()
    }

    private func publish(_ number: Int, holdingItsHeadAt gate: Gate? = nil, fromRequest first: Int = 0) {
        let text = FeedBuilder.show("Show \(number)", episodes: 3) { "http://127.0.0.1:9/\($0).mp3" }.text
        let resource = Resource(text: text, contentType: "application/rss+xml", etag: "\"\(number)\"")
        server.serve("/\(number).xml", resource) { request in
            gate.flatMap { request.index >= first ? .holdHead($0) : nil } ?? .normal
        }
    }

    private func shows() async throws -> [Show] {
        let result = try await home.run("list", "--json")
        return try JSONDecoder().decode([Show].self, from: Data(result.standardOutput))
    }

    @Test func anInterruptedImportAndAnInterruptedRefreshAreRepeated() async throws {
        for number in 1...Self.count { publish(number) }
        let outlines = (1...Self.count).map { "<outline xmlUrl=\"\(server.url("/\($0).xml"))\"/>" }.joined()
        let list = try home.directory.write("l.opml", text: "<opml version=\"2.0\"><body>\(outlines)</body></opml>")
        // An interrupted import, completed by the next one.
        let gate = Gate(heldAt: 0)
        publish(60, holdingItsHeadAt: gate)
        let cut = try home.start("import", list)
        try await waitUntil(description: "the import requests the feed whose response is held") {
            server.requests(for: "/60.xml").count == 1
        }
        home.killDaemon()
        #expect(try await cut.wait().exitCode != 0)
        gate.open()
        try await home.waitUntilDaemonHasEnded()
        let before = try await shows()
        #expect(before.allSatisfy { $0.episodes == 3 && $0.state == "active" })
        try await home.run("import", list).succeeded()
        let all = try await shows()
        #expect(all.count == Self.count && all.allSatisfy { $0.episodes == 3 && $0.state == "active" })

        // An interrupted refresh.
        let second = Gate(heldAt: 0)
        publish(80, holdingItsHeadAt: second)
        let requests = server.requests.count
        let refresh = try home.start("refresh")
        try await waitUntil(description: "the refresh requests the feed whose response is held") {
            server.requests(for: "/80.xml").count == 2 && server.requests.count > requests + 60
        }
        home.killDaemon()
        #expect(try await refresh.wait().exitCode != 0)
        second.open()
        try await home.waitUntilDaemonHasEnded()
        #expect(try await shows() == all)
        server.clearLog()
        try await home.run("refresh").printed("\(Self.count) shows have nothing new\n")
        #expect(server.requests.count == Self.count && server.requests.allSatisfy { $0.status == 304 })
        #expect(try await shows() == all)
    }

    /// The next daemon knows which feed the killed one was refreshing.
    @Test func aFeedWhoseRefreshKillsTwoDaemonsIsSkippedUntilItIsNamed() async throws {
        try home.configure("[refresh]\nmin = \"1 s\"\nmax = \"1 s\"\n")
        // All requests but that of `subscribe` are held.
        let gate = Gate(heldAt: 0)
        publish(1, holdingItsHeadAt: gate, fromRequest: 1)
        #expect(try await home.run("subscribe", server.url("/1.xml")).exitCode == 0)
        for death in 1...2 {
            let watcher = try home.start("events")
            try await waitUntil(description: "the feed is requested automatically") {
                server.requests(for: "/1.xml").count == 1 + death
            }
            // The daemon starts a due refresh before it writes its PID file, which `killDaemon` needs.
            try await waitUntil(description: "the daemon has a PID file") { home.daemonProcessIdentifier != nil }
            watcher.kill()
            try await home.endDaemon()
        }
        #expect(try await home.run("daemon").exitCode == 0)
        let status = try await home.run("status")
        let note = "skipped: the refresh of 'Show 1' has crashed the daemon twice"
        #expect(status.output.contains(note), "\(status.output)")
        #expect(try await home.run("status", "--json").output.contains("\"skipped\""))
        #expect(try await home.run("doctor").output.contains("podfs refresh 'Show 1' runs it now"))
        #expect(try await home.run("refresh").error.contains("skipped for a day"))
        #expect(server.requests(for: "/1.xml").count == 3)
        gate.open()
        #expect(try await home.run("refresh", "Show 1").exitCode == 0)
        // The command has sent a fourth request. The feed is due again every second, so there may be more.
        #expect(server.requests(for: "/1.xml").count >= 4)
        #expect(try await !home.run("status").output.contains("skipped"))
    }
}
