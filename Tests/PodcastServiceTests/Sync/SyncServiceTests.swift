import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

/// Tests of the daemon's synchronization with a conforming sync server and with a faulty one.
@Suite(.stopsDaemons, .timeLimit(.minutes(10))) struct SyncServiceTests {
    let home = ServiceHome()
    let server: SyncServer

    init() throws {
        server = SyncServer()
        try server.start()
        home.publish(episodes: 3)
    }

    var feed: String { home.web.url("/feed.xml") }

    func request(kind: String? = nil, password: String = "s3cret pass") -> SyncLoginRequest {
        SyncLoginRequest(url: server.url, user: "anna", password: password, device: "here", kind: kind)
    }

    func status(_ client: ServiceClient, _ command: Command = .syncStatus) async throws -> SyncStatus {
        let status = try await client.perform(command, \.sync)
        return status
    }

    /// Starts a daemon with a show, logs in, syncs once, and waits until no exchange is running.
    func begin(kind: String? = nil) async throws -> (RunningService, ServiceClient) {
        let (daemon, client) = try await home.connect {
            $0.sync = SyncSchedule(interval: .seconds(3_600), delay: .seconds(3_600))
        }
        try await client.subscribe(feed)
        _ = try await client.perform(.syncLogin(request(kind: kind)))
        _ = try await status(client, .syncNow(despiteHold: false))
        // The login has scheduled an exchange too, which may still be running.
        try await waitUntil(description: "no exchange is running") { try await status(client).state == .idle }
        return (daemon, client)
    }

    func sync(_ client: ServiceClient) async throws {
        _ = try await status(client, .syncNow(despiteHold: true))
    }

    func action(_ number: Int, _ position: Int, guid: String? = nil, ago: Int64 = 0) -> [String: any Sendable] {
        var action: [String: any Sendable] = [
            "podcast": feed, "episode": home.web.url(home.media(number)), "action": "play", "device": "phone",
            "timestamp": SyncTime.text(Int64(Date().timeIntervalSince1970) - ago), "started": 0, "position": position,
            "total": 5_000,
        ]
        action["guid"] = guid
        return action
    }

    // MARK: Login

    @Test func theServersProtocolIsDetected() async throws {
        let (_, client) = try await begin()
        #expect(try await status(client).kind == "gpodder")
        #expect(server.devices.contains("here"))
        _ = try await client.perform(.syncLogout)

        let nextcloud = SyncServer()
        nextcloud.setFault { $0.path.hasPrefix("/api/") ? .instead(.status(404)) : nil }
        try nextcloud.start()
        var request = request()
        request.url = nextcloud.url
        _ = try await client.perform(.syncLogin(request))
        #expect(try await status(client).kind == "nextcloud")
    }

    @Test func linkedDevicesShareOneList() async throws {
        server.change { $0.keepsDevicesApart = true }
        server.change(add: [home.web.url("/other.xml")], device: "phone")
        home.publish("Other", path: "/other.xml")
        let (daemon, _) = try await begin()
        #expect(try Set(daemon.library.podcasts().map(\.name)) == ["Show", "Other"])
        #expect(server.subscriptions(of: "phone").count == 2)
    }

    @Test(arguments: ["wrong", ""])
    func aWrongPasswordIsRefusedAndNotKept(password: String) async throws {
        let (daemon, client) = try await home.connect()
        let failure = await client.failure(of: .syncLogin(request(password: password)))
        #expect(failure?.kind == .refused)
        #expect(failure?.message.contains("podfs sync login") == true)
        #expect(try daemon.library.syncAccount() == nil)
        #expect(!FileManager.default.fileExists(atPath: home.paths.credentials))
    }

    @Test func aServerWithoutTheAPIIsReported() async throws {
        let (daemon, client) = try await home.connect()
        var wrong = request()
        wrong.url = home.web.url("")
        #expect(await client.failure(of: .syncLogin(wrong))?.message.contains("neither") == true)
        for start in ["", "\r\n\t ", "\u{FEFF}", "\u{FEFF}\n"] {
            home.web.serveElsewhere { _ in .status(200, body: start + "<!DOCTYPE html><title>Log in</title>") }
            let failure = await client.failure(of: .syncLogin(wrong))
            #expect(failure?.message.contains("neither") == true, "\(Array(start.utf8))")
        }
        home.web.serveElsewhere { _ in .redirect(to: "http://localhost:1/elsewhere") }
        let failure = await client.failure(of: .syncLogin(wrong))
        #expect(failure?.message.contains("localhost:1/elsewhere") == true)
        wrong.url = "http://127.0.0.1:1"
        #expect(await client.failure(of: .syncLogin(wrong))?.message.contains("check the address") == true)
        #expect(try daemon.library.syncAccount() == nil)
    }

    @Test func thePasswordIsNeverSentElsewhereOrShown() async throws {
        let other = HTTPTestServer()
        try other.start()
        let (_, client) = try await begin()
        server.setFault { _ in .instead(.redirect(to: other.url("/api/2/subscriptions/anna/here.json"))) }
        let failure = await client.failure(of: .syncNow(despiteHold: true))
        #expect(other.requests.isEmpty)
        #expect(failure?.message.contains("s3cret") == false)
        let shown = String(decoding: WireJSON.encode(try await status(client)), as: UTF8.self)
        #expect(!shown.contains("s3cret"))
        #expect("\(request())".contains("s3cret") == false)
        #expect(try home.mode(of: home.paths.credentials) == 0o600)
        // Recent writes are in the library's write-ahead log, older ones in the library file itself.
        let stored = try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: home.paths.library + $0)) }
        #expect(stored.contains { $0.contains(Array("anna".utf8)) }, "the account is there")
        #expect(!stored.contains { $0.contains(Array("s3cret".utf8)) })
        _ = try await client.perform(.syncLogout)
        let kept = try String(contentsOfFile: home.paths.credentials, encoding: .utf8)
        #expect(!kept.contains("s3cret"))
    }

    // MARK: Synchronization

    @Test(arguments: ["gpodder", "nextcloud"])
    func changesAreExchangedInBothDirections(kind: String) async throws {
        let (daemon, client) = try await begin(kind: kind)
        let device = kind == "gpodder" ? "here" : ""
        #expect(server.subscriptions(of: device) == [feed])
        try await client.perform(.setPosition(episode: daemon.episode(1).id, seconds: 77))
        try await client.perform(.setPlayed(episode: daemon.episode(2).id, true))
        try await sync(client)
        #expect(Set(server.actions.compactMap { $0["guid"] as? String }) == ["1", "2"])
        #expect(server.actions.contains { $0["position"] as? Int == 77 })

        home.publish("Other", path: "/other.xml")
        server.change(add: [home.web.url("/other.xml")], remove: [feed])
        try await sync(client)
        #expect(try daemon.library.podcasts().map(\.name) == ["Other"])
        server.change(add: [feed])
        try await sync(client)
        #expect(try Set(daemon.library.podcasts().map(\.name)) == ["Show", "Other"])
        #expect(try daemon.episode(2).played)
    }

    @Test func theServersSpellingIsTheSameShow() async throws {
        server.change { $0.spelling = { $0.hasSuffix("/feed.xml") ? $0 + "?canonical" : $0 } }
        let (daemon, client) = try await begin()
        #expect(server.subscriptions() == [feed + "?canonical"])
        try await sync(client)
        #expect(try daemon.library.podcasts().count == 1)
        let show = try #require(try daemon.library.podcasts().first)
        try await client.perform(.unsubscribe(podcast: show.id))
        try await sync(client)
        #expect(server.subscriptions().isEmpty)
    }

    @Test func aMoveOnAnotherDeviceIsNoNewShow() async throws {
        let (daemon, client) = try await begin()
        let before = try daemon.library.podcasts().map(\.id)
        home.publish(episodes: 3, path: "/new.xml")
        home.web.serve("/feed.xml") { _ in .redirect(to: home.web.url("/new.xml"), status: 301) }
        server.change(add: [home.web.url("/new.xml")], remove: [feed])
        try await sync(client)
        #expect(try daemon.library.podcasts().map(\.id) == before)
        try await sync(client)
        #expect(server.subscriptions() == [home.web.url("/new.xml")])
        #expect(try daemon.library.podcasts().map(\.id) == before)
    }
}
