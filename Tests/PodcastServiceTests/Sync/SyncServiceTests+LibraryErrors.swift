import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

// Exchanges whose result the library rejects.
extension SyncServiceTests {
    @Test(arguments: ["gpodder", "nextcloud"])
    func aShowThatCannotBeStoredIsRequestedAgain(kind: String) async throws {
        let (daemon, client) = try await begin(kind: kind)
        home.publish("Other", path: "/other.xml")
        home.publish("Third", path: "/third.xml")
        server.change(add: [home.web.url("/other.xml"), home.web.url("/third.xml")])
        try await client.perform(.setPosition(episode: daemon.episode(1).id, seconds: 77))
        try home.forbid("BEFORE INSERT ON podcast WHEN new.name = 'Other'")
        let before = try #require(try daemon.library.syncAccount())
        let failure = await client.failure(of: .syncNow(despiteHold: true))
        let message = try #require(failure?.message)
        #expect(message.contains("/other.xml") && message.contains("retried automatically"), "\(message)")
        // The rest of the exchange takes place, but the server is asked again for these changes.
        #expect(try Set(daemon.library.podcasts().map(\.name)) == ["Show", "Third"])
        #expect(server.actions.contains { $0["position"] as? Int == 77 })
        let after = try #require(try daemon.library.syncAccount())
        #expect(after.subscriptionsSince == before.subscriptionsSince && after.failures == 1)
        try home.allow()
        try await sync(client)
        #expect(try Set(daemon.library.podcasts().map(\.name)) == ["Show", "Other", "Third"])
        #expect(try await status(client).state == .idle)
    }

    @Test func anExchangeThatCannotBeRecordedIsNotRepeatedAtOnce() async throws {
        let (daemon, client) = try await begin()
        try home.execute("UPDATE sync_account SET next_sync = 1")
        try home.forbid("BEFORE UPDATE ON sync_account")
        // The connection of a client makes the daemon read the due times again.
        _ = try await daemon.connect()
        try await waitUntil(description: "the next exchange is delayed") {
            guard let next = try await status(client).nextSync else { return false }
            return next > Int64(Date().timeIntervalSince1970) + 30
        }
        try home.allow()
        try await sync(client)
        #expect(try await status(client).state == .idle)
        let next = try #require(try daemon.library.syncAccount()?.nextSync)
        #expect(next > 1)
    }
}
