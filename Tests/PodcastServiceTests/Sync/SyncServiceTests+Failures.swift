import Foundation
import PodcastFeed
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

// Servers that are unreachable, refuse requests, or send invalid responses; devices and clocks that disagree.
extension SyncServiceTests {
    @Test(arguments: ["gpodder", "nextcloud"])
    func anUnreachableServerLosesNoChanges(kind: String) async throws {
        home.publish("Other", path: "/other.xml")
        home.publish("Third", path: "/third.xml")
        let (first, client) = try await begin(kind: kind)
        try await client.subscribe(home.web.url("/third.xml"))
        try await sync(client)
        server.stop()
        try await client.perform(.setPosition(episode: first.episode(1).id, seconds: 12))
        try await client.subscribe(home.web.url("/other.xml"))
        let failure = await client.failure(of: .syncNow(despiteHold: true))
        #expect(failure?.message.contains("retried automatically") == true)
        let waiting = try await status(client)
        #expect(waiting.state == .failed && waiting.waitingActions == 1 && waiting.nextSync != nil)
        #expect(waiting.waitingSubscriptions == 1)
        // The changes are not lost when the daemon stops.
        await first.stop()
        let (second, other) = try await home.connect {
            $0.sync = SyncSchedule(interval: .seconds(3_600), delay: .seconds(3_600))
        }
        let third = try #require(try second.library.podcast(named: "Third"))
        try await other.perform(.unsubscribe(podcast: third.id))
        let show = try #require(try second.library.podcast(named: "Show"))
        let episode = try #require(try second.library.episodes(of: show.id).first { $0.title == "Episode 2" })
        try await other.perform(.setPlayed(episode: episode.id, true))
        #expect(try await status(other).waitingActions == 2)
        try server.start()
        try await sync(other)
        #expect(server.actions.count == 2)
        let device = kind == "gpodder" ? "here" : ""
        #expect(server.subscriptions(of: device) == [feed, home.web.url("/other.xml")])
        let done = try await status(other)
        #expect(done.error == nil && done.waitingActions == 0 && done.waitingSubscriptions == 0)
    }

    @Test func aLogoutEndsALongExchange() async throws {
        let (daemon, client) = try await begin()
        let gate = Gate(heldAt: 0)
        home.web.serve("/slow.xml", Resource(text: "")) { _ in .holdHead(gate) }
        server.change(add: [home.web.url("/slow.xml")], device: "phone")
        let other = try await daemon.connect()
        async let failure = client.failure(of: .syncNow(despiteHold: true))
        try await gate.waitUntilReached()
        #expect(try await status(other).state == .running)
        // The slow feed does not respond, and logging out does not wait for it.
        _ = try await other.perform(.syncLogout)
        #expect(try await status(other).state == .none)
        let said = await failure
        #expect(said?.message.contains("cancelled") == true)
        gate.open()
    }

    /// gpodder.net responds with 404 for a device that the user has deleted on its website.
    @Test(arguments: [("gpodder", 401), ("nextcloud", 401), ("gpodder", 404)])
    func aRefusalStopsUntilTheNextLogin(kind: String, status code: Int) async throws {
        server.change { $0.keepsDevicesApart = code == 404 }
        let (daemon, client) = try await begin(kind: kind)
        server.setFault { code == 401 || $0.path.contains("/subscriptions/") ? .instead(.status(code)) : nil }
        let failure = await client.failure(of: .syncNow(despiteHold: true))
        #expect(failure?.message.contains("podfs sync login") == true, "\(failure?.message ?? "")")
        #expect(try daemon.library.podcasts().count == 1)
        if code == 401 {
            #expect(failure?.kind == .refused)
            let stopped = try await status(client)
            #expect(stopped.state == .stopped && stopped.nextSync == nil)
        }
        server.setFault { _ in nil }
        _ = try await client.perform(.syncLogin(request()))
        try await sync(client)
        #expect(try await status(client).state == .idle)
    }

    /// Retry-After is a number of seconds, or a date by the server's clock, which may be wrong.
    @Test(arguments: ["gpodder", "nextcloud"], [false, true])
    func retryAfterIsObeyed(kind: String, isDate: Bool) async throws {
        let (daemon, client) = try await begin(kind: kind)
        server.setFault { _ in
            guard isDate else { return .instead(.retryAfter("7200", status: 429)) }
            return .instead(
                .retryAfter("Sun, 06 Nov 1994 10:49:37 GMT", status: 503).header(
                    "Date", "Sun, 06 Nov 1994 08:49:37 GMT"))
        }
        #expect(await client.failure(of: .syncNow(despiteHold: false)) != nil)
        let count = server.web.requests.count
        #expect(await client.failure(of: .syncNow(despiteHold: false))?.message.contains("accepts no requests") == true)
        #expect(server.web.requests.count == count)
        let account = try #require(try daemon.library.syncAccount())
        #expect(try #require(account.nextSync) - Int64(Date().timeIntervalSince1970) > 7_000)
        server.setFault { _ in nil }
        try await sync(client)
        #expect(try daemon.library.syncAccount()?.heldUntil == nil)
    }

    @Test(arguments: ["gpodder", "nextcloud"])
    func aTooLargeRequestIsHalved(kind: String) async throws {
        home.publish(episodes: 60)
        let (daemon, client) = try await begin(kind: kind)
        server.change { $0.largestBody = 1_000 }
        for episode in try daemon.library.episodes(of: daemon.episode(1).podcast) {
            try await client.perform(.setPlayed(episode: episode.id, true))
        }
        try await sync(client)
        #expect(server.actions.count == 60)
        #expect(try await status(client).waitingActions == 0)
        // A single action that the server rejects as too large is not sent again.
        server.change { $0.largestBody = 50 }
        try await client.perform(.setPosition(episode: daemon.episode(1).id, seconds: 5))
        try await sync(client)
        #expect(try await status(client).waitingActions == 0)
    }

    @Test(arguments: ["gpodder", "nextcloud"])
    func aLostAnswerIsRetriedWithoutDuplicates(kind: String) async throws {
        let (daemon, client) = try await begin(kind: kind)
        home.publish("Other", path: "/other.xml")
        try await client.subscribe(home.web.url("/other.xml"))
        try await client.perform(.setPosition(episode: daemon.library.episodes(of: 1)[0].id, seconds: 12))
        server.setFault { $0.method == "POST" ? .answerLost : nil }
        for _ in 0..<3 { #expect(await client.failure(of: .syncNow(despiteHold: true)) != nil) }
        #expect(server.subscriptions().count == 2)
        server.setFault { $0.method == "POST" && $0.path.contains("episode") ? .answerLost : nil }
        for _ in 0..<3 { #expect(await client.failure(of: .syncNow(despiteHold: true)) != nil) }
        #expect(server.actions.count == 1)
        server.setFault { _ in nil }
        try await sync(client)
        #expect(server.actions.count == 1 && server.subscriptions().count == 2)
        #expect(try daemon.library.podcasts().count == 2)
    }

    @Test(arguments: ["gpodder", "nextcloud"])
    func aServersListIsNotTrusted(kind: String) async throws {
        let (daemon, client) = try await begin(kind: kind)
        let long = "https://a.example/" + String(repeating: "x", count: 64 << 10)
        server.change { $0.spelling = { $0 } }
        server.change(add: [
            "file:///etc/passwd", "javascript:alert(1)", "https://user:pass@a.example/feed", long, "", "\u{0}",
            "http://", "https://a.example\r\nHost: b.example/", "https://a.example:99999/", "//a.example/feed",
            "http://\u{202e}moc.elpmaxe/",
        ])
        server.upload([
            "podcast": "file:///etc/passwd", "episode": "../../x", "action": "play", "timestamp": "2026-01-01T00:00:00",
            "started": 0, "position": 5, "total": 10,
        ])
        try await sync(client)
        #expect(try daemon.library.podcasts().count == 1)
        #expect(server.web.requests.allSatisfy { $0.path.hasPrefix("/api/") || $0.path.hasPrefix("/index.php/") })
        #expect(try await status(client).error == nil)
    }

    @Test(
        arguments: [
            "<html><body>Log in</body></html>", "{\"add\":", "[]", "null",
            "{\"add\":5,\"remove\":null,\"timestamp\":\"x\"}",
        ], ["gpodder", "nextcloud"])
    func answersThatMakeNoSenseChangeNothing(body: String, kind: String) async throws {
        let (daemon, client) = try await begin(kind: kind)
        let before = try daemon.library.syncAccount()
        server.setFault { _ in .instead(.status(200, body: body)) }
        #expect(await client.failure(of: .syncNow(despiteHold: true)) != nil)
        #expect(try daemon.library.syncAccount()?.subscriptionsSince == before?.subscriptionsSince)
        #expect(try daemon.library.podcasts().count == 1)
    }

    @Test(arguments: ["gpodder", "nextcloud"])
    func clockSkewDoesNotDecideBetweenDevices(kind: String) async throws {
        server.change { $0.clockSkew = 5 * 3_600 }
        let (daemon, client) = try await begin(kind: kind)
        try await client.perform(.setPosition(episode: daemon.episode(1).id, seconds: 20))
        // The episode was played on another device a minute ago, by the server's clock.
        server.upload(action(1, 10, ago: -5 * 3_600 + 60))
        try await sync(client)
        #expect(try daemon.episode(1).position == 20)
        let sent = try #require(server.actions.last?["timestamp"] as? String)
        let time = try #require(SyncTime.seconds(.string(Array(sent.utf8))))
        #expect(abs(time - 5 * 3_600 - Int64(Date().timeIntervalSince1970)) < 120)
    }
}
