import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

// Exchanges that end because their client disconnects.
extension SyncServiceTests {
    /// Starts an exchange for a new client, disconnects that client when `condition` returns, and waits until the
    /// exchange has ended.
    private func cancelSync(
        of daemon: RunningService, _ other: ServiceClient, when condition: () async throws -> Void
    ) async throws {
        let impatient = try await daemon.connect()
        impatient.connection.send(.command, WireJSON.encode(Command.syncNow(despiteHold: true))) { _ in }
        try await condition()
        impatient.connection.close()
        try await waitUntil(description: "the exchange has ended") { try await status(other).state == .failed }
    }

    /// The exchange is cancelled within a feed, or between its pages: later refreshes do not fetch the older pages.
    @Test(arguments: [false, true]) func aCancelledExchangeStoresNoPartOfAFeed(isPaged: Bool) async throws {
        let (daemon, other) = try await begin()
        var feed = FeedBuilder.show("Slow", episodes: 40) { home.web.url("/slow-\($0).mp3") }
        if isPaged { feed.raw = "<atom:link rel=\"next\" href=\"\(home.web.url("/older.xml"))\"/>" }
        let older = FeedBuilder(
            title: "Slow", items: [.init(title: "Older", guid: "older", url: home.web.url("/older.mp3"))])
        let gate = Gate(heldAt: isPaged ? 0 : feed.text.utf8.count / 2)
        home.web.serve("/slow.xml", Resource(text: feed.text, etag: "\"s1\"")) { _ in isPaged ? .normal : .hold(gate) }
        home.web.serve("/older.xml", Resource(text: older.text)) { _ in .holdHead(gate) }
        server.change(add: [home.web.url("/slow.xml")], device: "phone")
        try await cancelSync(of: daemon, other) { try await gate.waitUntilReached() }
        #expect(try daemon.library.podcast(named: "Slow") == nil)
        gate.open()
        try await sync(other)
        #expect(try daemon.library.podcast(named: "Slow")?.episodes == (isPaged ? 41 : 40))
    }

    /// Three commands wait for the same exchange, and the clients of two of them disconnect.
    @Test func anExchangeLastsAsLongAsAClientWaitsForIt() async throws {
        let (daemon, client) = try await begin()
        let gates = [Gate(heldAt: 0), Gate(heldAt: 0)]
        for (number, gate) in gates.enumerated() {
            let feed = FeedBuilder.show("Slow \(number)", episodes: 1) { home.web.url("/slow-\($0).mp3") }.text
            let resource = Resource(text: feed, contentType: "application/rss+xml")
            home.web.serve("/slow\(number).xml", resource) { _ in .holdHead(gate) }
        }
        server.change(add: [home.web.url("/slow0.xml")])
        let command = WireJSON.encode(Command.syncNow(despiteHold: true))
        client.connection.send(.command, command) { _ in }
        try await gates[0].waitUntilReached()
        // The running exchange already has the server's list of subscriptions, without this change. The commands wait
        // for its end, and then share the next exchange.
        server.change(add: [home.web.url("/slow1.xml")])
        let (first, second, third) = (
            try await daemon.connect(), try await daemon.connect(), try await daemon.connect()
        )
        first.connection.send(.command, command) { _ in }
        async let result = status(second, .syncNow(despiteHold: true))
        for _ in 0..<3 { _ = try await status(second) }
        third.connection.send(.command, command) { _ in }
        for _ in 0..<3 { _ = try await status(third) }
        gates[0].open()
        try await gates[1].waitUntilReached()
        first.connection.close()
        third.connection.close()
        // The daemon handles the disconnects before it answers the last of these commands, at the latest.
        for _ in 0..<3 { _ = try await status(client) }
        gates[1].open()
        #expect(try await result.error == nil)
        #expect(try daemon.library.podcast(named: "Slow 1") != nil)
    }

    /// The server has asked for a pause. A later request ignores the pause, and the server leaves it unanswered until
    /// the client disconnects.
    @Test(arguments: ["gpodder", "nextcloud"], ["subscriptions", "episode"])
    func aCancelledRequestIsNoFailureOfTheServer(kind: String, resource: String) async throws {
        let (daemon, client) = try await begin(kind: kind)
        server.setFault { _ in .instead(.retryAfter("7200", status: 429)) }
        #expect(await client.failure(of: .syncNow(despiteHold: true)) != nil)
        let before = try #require(try daemon.library.syncAccount())
        let held = try #require(before.heldUntil)
        let gate = Gate(heldAt: 0)
        server.setFault { $0.path.contains(resource) ? .instead(.status(200, body: "{}").holdHead(gate)) : nil }
        try await cancelSync(of: daemon, client) { try await gate.waitUntilReached() }
        let account = try #require(try daemon.library.syncAccount())
        #expect(account.error?.contains("the next one continues where it stopped") == true, "\(account.error ?? "")")
        #expect(account.failures == before.failures && account.heldUntil == held)
        #expect(try #require(account.nextSync) >= held)
        gate.open()
    }
}
