import Foundation
import PodcastFeed
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

@Suite(.stopsDaemons) struct SubscriptionsCopyTests {
    private let home = ServiceHome()

    private var names: [String?] {
        (try? SubscriptionsCopy.read(home.paths.subscriptionsCopy))?.map(\.text) ?? []
    }

    /// Starts a daemon with a show that is in the copy.
    private func startWithOne() async throws -> (RunningService, ServiceClient) {
        home.publish("One", path: "/1.xml")
        let (daemon, client) = try await home.connect()
        try await client.subscribe(home.web.url("/1.xml"))
        try await waitUntil(description: "the show is in the copy") { names == ["One"] }
        return (daemon, client)
    }

    @Test func theCopyFollowsTheSubscriptions() async throws {
        home.publish("Two", path: "/2.xml")
        let (daemon, client) = try await startWithOne()
        #expect(try home.mode(of: home.paths.subscriptionsCopy) == 0o600)
        _ = try await client.perform(.importShow(ImportItem(url: home.web.url("/2.xml"))))
        let id = try #require(try daemon.library.podcast(named: "One")).id
        _ = try await client.perform(.rename(podcast: id, episode: nil, name: "Zwei  und eins"))
        try await waitUntil(description: "the new name is in the copy") { names == ["Two", "Zwei  und eins"] }
        _ = try await client.perform(.unsubscribe(podcast: id))
        // A daemon writes pending changes when it exits.
        await daemon.stop()
        #expect(names == ["Two"])
    }

    @Test func aLostLibraryIsRestoredFromTheCopyWithItsNames() async throws {
        home.publish("One", episodes: 2, path: "/1.xml")
        home.publish("Two", path: "/2.xml")
        home.publish("Three", path: "/3.xml")
        let secret = home.web.url("/2.xml").replacing("http://", with: "http://me:hush@")
        let (daemon, client) = try await home.connect()
        try await client.subscribe(home.web.url("/1.xml"), name: "A  &  B")
        try await client.subscribe(secret)
        try await client.subscribe(home.web.url("/3.xml"))
        await daemon.stop()
        let copy = try String(contentsOfFile: home.paths.subscriptionsCopy, encoding: .utf8)
        #expect(copy.contains(secret))
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: home.paths.library + suffix) }
        home.web.remove("/3.xml")
        let gate = Gate(heldAt: 0)
        let feed = FeedBuilder.show("Another title", episodes: 2) { _ in "http://127.0.0.1:9/x.mp3" }
        home.web.serve("/1.xml", Resource(text: feed.text)) { _ in .holdHead(gate) }
        let next = try await home.start()
        // All shows are stored before any feed is fetched, so that a killed daemon loses none.
        #expect(try next.library.podcasts().map(\.name) == ["A  &  B", "Three", "Two"])
        gate.open()
        try await waitUntil(description: "the feeds are fetched") {
            try next.library.podcasts().map(\.state) == ["active", "failed", "active"]
        }
        try await waitUntil(description: "the third show's failure is recorded") {
            try next.library.podcast(named: "Three")?.httpStatus == 404
        }
        let podcasts = try next.library.podcasts()
        #expect(podcasts.map(\.name) == ["A  &  B", "Three", "Two"] && podcasts.map(\.episodes) == [2, 0, 1])
        #expect(podcasts[2].hasCredentials && podcasts[2].url == home.web.url("/2.xml"))
        #expect(home.web.requests(for: "/2.xml").last?.headers["Authorization"] == "Basic bWU6aHVzaA==")
        await next.stop()
        #expect(try String(contentsOfFile: home.paths.subscriptionsCopy, encoding: .utf8).contains("A  &amp;  B"))
        // If the user unsubscribes from all shows, the next daemon restores none from the copy.
        let (last, person) = try await home.connect()
        for podcast in try last.library.podcasts() { _ = try await person.perform(.unsubscribe(podcast: podcast.id)) }
        await last.stop()
        let empty = try await home.start()
        #expect(try empty.library.podcasts().isEmpty)
    }

    /// The library is emptied in one transaction, and the copy is written a moment later. A daemon killed in between
    /// leaves the old copy.
    @Test func anEmptiedListStaysEmptyAlthoughTheCopyIsOld() async throws {
        let (daemon, client) = try await startWithOne()
        let copy = try Data(contentsOf: URL(fileURLWithPath: home.paths.subscriptionsCopy))
        let id = try #require(try daemon.library.podcast(named: "One")).id
        _ = try await client.perform(.unsubscribe(podcast: id))
        await daemon.stop()
        try copy.write(to: URL(fileURLWithPath: home.paths.subscriptionsCopy))
        let next = try await home.start()
        #expect(try next.library.podcasts().isEmpty)
        await next.stop()
        #expect(names.isEmpty)
    }

    @Test func aCopyThatCouldNotBeWrittenIsWrittenLater() async throws {
        let (daemon, client) = try await startWithOne()
        // The copy is a link to a folder, which no file can replace. The temporary file is created beside that folder.
        let files = FileManager.default
        let parent = home.directory.file("elsewhere")
        try files.createDirectory(atPath: parent + "/folder", withIntermediateDirectories: true)
        let old = Date(timeIntervalSince1970: 1_000_000)
        try files.setAttributes([.modificationDate: old], ofItemAtPath: parent)
        try files.removeItem(atPath: home.paths.subscriptionsCopy)
        try files.createSymbolicLink(
            atPath: home.paths.subscriptionsCopy, withDestinationPath: parent + "/folder")
        let id = try #require(try daemon.library.podcast(named: "One")).id
        _ = try await client.perform(.rename(podcast: id, episode: nil, name: "Uno"))
        try await waitUntil(description: "the write fails") {
            let modified = try files.attributesOfItem(atPath: parent)[.modificationDate] as? Date
            return try modified != old && files.contentsOfDirectory(atPath: parent) == ["folder"]
        }
        try files.removeItem(atPath: home.paths.subscriptionsCopy)
        await daemon.stop()
        #expect(names == ["Uno"])
    }

    /// Without a library, the list may be the only record of the subscriptions.
    @Test func aListThatCannotBeReadIsNotReplaced() async throws {
        let path = home.paths.subscriptionsCopy
        try Data("no list".utf8).write(to: URL(fileURLWithPath: path))
        let daemon = try await home.start()
        await daemon.stop()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "no list")
        // When the list has to be written, the unreadable one is renamed.
        home.publish("One", path: "/1.xml")
        let (next, client) = try await home.connect()
        try await client.subscribe(home.web.url("/1.xml"))
        await next.stop()
        #expect(names == ["One"])
        let files = try FileManager.default.contentsOfDirectory(atPath: home.paths.data)
        let kept = try #require(files.first { $0.hasPrefix("subscriptions.opml.damaged-") })
        #expect(try String(contentsOfFile: home.paths.data + "/" + kept, encoding: .utf8) == "no list")
    }

    @Test func onlyAMissingListCountsAsEmpty() throws {
        let path = home.directory.file("list.opml")
        #expect(try SubscriptionsCopy.read(path).isEmpty)
        // A link to itself cannot be opened, not even by root.
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
        #expect(throws: SubscriptionsCopy.Problem.self) { try SubscriptionsCopy.read(path) }
    }
}
