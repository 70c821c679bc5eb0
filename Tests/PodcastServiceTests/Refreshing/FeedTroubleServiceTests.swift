import Foundation
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastLibrary
@testable import PodcastService

/// The announcement of feeds that may never return.
@Suite(.stopsDaemons) struct FeedTroubleServiceTests {
    private let home = ServiceHome()

    @Test func theHookRunsOnceForEachTrouble() async throws {
        home.publish(episodes: 3, size: 1_000_000)
        let output = home.directory.file("trouble")
        let command = """
            echo "$PODFS_SHOW|$PODFS_TITLE|$PODFS_TROUBLE|$PODFS_UNSAVED|$PODFS_UNSAVED_BYTES|$PODFS_URL" >> '\(output)'
            """
        func lines() -> [String] {
            ((try? String(contentsOfFile: output, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
        }
        let url = home.web.url("/feed.xml")
        let refused = "Show|Show|unauthorised|3|3000000|\(url)"
        let gone = "Show|Show|gone|3|3000000|\(url)"

        var daemon = try await home.start { $0.onFeedTrouble = command }
        var client = try await daemon.connect()
        try await client.subscribe(url)
        home.web.serve("/feed.xml") { _ in .normal.status(401) }
        try await client.perform(.refresh(podcasts: []))
        try await client.perform(.refresh(podcasts: []))
        try await waitUntil(description: "the hook has run") { lines() == [refused] }
        let show = try #require(try daemon.library.podcasts().first)
        #expect(show.trouble.announced == .unauthorised)
        await daemon.stop()

        // A new daemon does not repeat it.
        daemon = try await home.start { $0.onFeedTrouble = command }
        client = try await daemon.connect()
        try await client.perform(.refresh(podcasts: []))
        home.publish(episodes: 3, size: 1_000_000)
        try await client.perform(.refresh(podcasts: []))
        #expect(try daemon.library.podcasts().first?.trouble == FeedTroubleRecord())
        home.web.serve("/feed.xml") { _ in .normal.status(401) }
        try await client.perform(.refresh(podcasts: []))
        try await waitUntil(description: "the hook has run again") { lines() == [refused, refused] }
        home.web.serve("/feed.xml") { _ in .normal.status(410) }
        try await client.perform(.refresh(podcasts: [show.id]))
        try await waitUntil(description: "the hook has run for the end") { lines() == [refused, refused, gone] }
    }
}
