import Glibc
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// Tests in a network with a captive portal, which answers every request with its login page or with a redirect to that
/// page.
@Suite(.stopsDaemons) struct CaptivePortalTests {
    private let home = ServiceHome()

    @Test(arguments: [nil, 301, 302, 303, 307, 308]) func nothingOfTheLoginPageIsStored(status: Int?) async throws {
        home.publish(episodes: 2)
        let (daemon, client) = try await home.subscribe { $0.transfers.limits.failureMemory = .milliseconds(100) }
        let show = try #require(try daemon.library.podcasts().first)

        let page = Resource(
            text: "<!DOCTYPE html><html><body>Accept the terms</body></html>", contentType: "text/html")
        let login = home.web.url("/login")
        home.web.serve("/login", page)
        for path in ["/feed.xml", "/feed-1.mp3", "/feed-2.mp3", "/new.xml"] {
            home.web.serve(path, page) { _ in status.map { .redirect(to: login, status: $0) } ?? .normal }
        }
        let results = try await client.refresh()
        #expect(results.count == 1 && results[0].error?.contains("web page") == true, "\(results)")
        #expect(await client.failure(of: .subscribe(url: home.web.url("/new.xml"), name: nil)) != nil)
        let id = try daemon.episode().id
        let request = ReadRequest(episode: id, generation: 1, range: 0..<10)
        let failure = await client.failure(of: .read, request.payload)
        #expect(failure?.errorNumber == EIO && failure?.message.contains("a web page") == true)
        #expect(home.cacheFiles.isEmpty)
        let shows = try daemon.library.podcasts()
        #expect(shows.map(\.url) == [show.url] && shows.map(\.episodes) == [2] && shows.map(\.title) == ["Show"])

        // After the login, the feed and the media are fetched from their own addresses again.
        home.publish(episodes: 3)
        home.web.clearLog()
        #expect(try await client.refresh() == [RefreshResult(name: "Show", added: 1)])
        try await waitUntil(description: "the failure has expired, and the episode is read") {
            (try? await client.connection.exchange(.read, request.payload))?.kind == .grant
        }
        #expect(home.web.requests(for: "/login").isEmpty)
    }
}
