import Foundation
import GRDB
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

@Suite(.stopsDaemons) struct ImportTests {
    private let home = ServiceHome()

    private func add(_ path: String, title: String? = nil, to client: ServiceClient) async throws -> ImportResult {
        let item = ImportItem(url: home.web.url(path), title: title, link: "https://site.example/")
        let result = try await client.perform(.importShow(item), \.imported)
        return result
    }

    @Test func namesComeFromTheFeedUnlessItHasNone() async throws {
        home.publish("Feed's", path: "/a.xml")
        home.publish("", path: "/b.xml")
        let (daemon, client) = try await home.connect()
        #expect(try await add("/a.xml", title: "List's", to: client) == .added(name: "Feed's", episodes: 1))
        #expect(try await add("/b.xml", title: "List's", to: client) == .added(name: "List's", episodes: 1))
        #expect(try daemon.library.podcast(named: "List's")?.title == "List's")
    }

    @Test func subscribedShowsAreNotFetchedAgain() async throws {
        home.publish("Show", path: "/a.xml")
        let (daemon, client) = try await home.connect()
        try await client.subscribe(home.web.url("/a.xml"))
        let before = home.web.requests.count
        #expect(try await add("/a.xml", to: client) == .known(name: "Show"))
        #expect(try await add("/a.xml/", to: client) == .known(name: "Show"))
        let secure = ImportItem(url: home.web.url("/a.xml").replacing("http://", with: "https://u:p@"))
        #expect(try await client.perform(.importShow(secure)) == .imported(.known(name: "Show")))
        #expect(home.web.requests.count == before)
        // Another URL redirects to the same feed.
        home.web.serve("/moved") { _ in .redirect(to: "/a.xml") }
        #expect(try await add("/moved", to: client) == .known(name: "Show"))
        #expect(try daemon.library.podcasts().count == 1)
    }

    @Test func aShowWhoseFeedFailsIsKept() async throws {
        home.web.serve("/down.xml") { _ in .status(503) }
        home.web.serve("/broken.xml") { _ in .reset(after: 0) }
        home.web.serve("/page.xml", Resource(text: "<html><body>maintenance</body></html>", contentType: "text/html"))
        home.web.serve("/empty.xml", Resource(text: FeedBuilder(title: "Empty").text))
        let (daemon, client) = try await home.connect()
        for path in ["/down.xml", "/missing.xml", "/broken.xml", "/page.xml", "/empty.xml"] {
            guard case .kept(let name, let error) = try await add(path, title: "My \(path.dropFirst())", to: client)
            else {
                Issue.record("\(path) was not kept")
                continue
            }
            #expect(name == "My \(path.dropFirst())" && error.contains(home.web.url(path)))
            let podcast = try #require(try daemon.library.podcast(named: name))
            #expect(podcast.state == Podcast.failed && podcast.error == error && podcast.episodes == 0)
            #expect(podcast.url == home.web.url(path) && podcast.link == "https://site.example/")
        }
        // A refresh adds the episodes; the name remains.
        home.publish("Other title", episodes: 3, path: "/down.xml")
        let id = try #require(try daemon.library.podcast(named: "My down.xml")).id
        let results = try await client.refresh(id)
        #expect(results == [RefreshResult(name: "My down.xml", added: 3)])
        let podcast = try #require(try daemon.library.podcast(id: id))
        #expect(podcast.state == Podcast.active && podcast.title == "Other title" && podcast.episodes == 3)
    }

    @Test func theNextFeedsOfAHostAreFetchedWhileOthersWaitForTheLibrary() async throws {
        for number in 1...5 { home.publish("Show \(number)", path: "/\(number).xml") }
        let (_, client) = try await home.connect()
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let lock = try DatabaseQueue(path: home.paths.library, configuration: configuration)
        try await lock.writeWithoutTransaction { db in try db.execute(sql: "BEGIN IMMEDIATE") }
        let results = try await withThrowingTaskGroup(of: ImportResult.self) { group in
            for number in 1...5 { group.addTask { try await add("/\(number).xml", to: client) } }
            try await waitUntil(description: "all feeds are requested") { home.web.requests.count == 5 }
            try await lock.writeWithoutTransaction { db in try db.execute(sql: "ROLLBACK") }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect((1...5).allSatisfy { results.contains(.added(name: "Show \($0)", episodes: 1)) })
    }

    @Test func aDisconnectCancelsTheClientsWaitingImports() async throws {
        let gate = Gate(heldAt: 0)
        for number in 1...5 {
            let text = FeedBuilder.show("Show \(number)", episodes: 30) { _ in "http://127.0.0.1:9/x.mp3" }.text
            home.web.serve("/\(number).xml", Resource(text: text)) { _ in .holdHead(gate) }
        }
        let (daemon, client) = try await home.connect { $0.idleExit = .zero }
        let other = try await daemon.connect()
        for number in 1...5 {
            client.connection.send(
                .command, WireJSON.encode(Command.importShow(ImportItem(url: home.web.url("/\(number).xml"))))
            ) { _ in }
        }
        try await waitUntil(description: "two feeds are requested") { home.web.requests.count == 2 }
        client.connection.close()
        // The daemon handles the disconnect before it answers the second of these commands, at the latest.
        for _ in 0..<3 { #expect(try await other.tasks().count == 2) }
        // The daemon was idle before any client connected, and becomes idle again after the last import.
        let before = daemon.idle.entries.count
        other.connection.close()
        gate.open()
        try await waitUntil(description: "the daemon is idle") { daemon.idle.entries.count > before }
        let podcasts = try daemon.library.podcasts()
        #expect(podcasts.count == 2 && podcasts.allSatisfy { $0.episodes == 30 && $0.state == Podcast.active })
        #expect(home.web.requests.count == 2)
    }
}
