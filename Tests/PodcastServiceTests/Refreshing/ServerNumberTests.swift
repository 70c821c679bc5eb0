import Platform
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastLibrary
@testable import PodcastService
@testable import Transfers

/// Extreme numbers in response headers, in search results and in feeds.
@Suite(.stopsDaemons) struct ServerNumberTests {
    private static let now: Int64 = 1_800_000_000

    @Test func extremeNumbersInHeadersDelayNothingForLong() {
        var dice = SeededGenerator(seed: 9)
        let names = ["retry-after", "age", "content-length", "expires", "date", "last-modified", "upload-offset"]
        let policy = RetryPolicy()
        for _ in 0..<3_000 {
            func number() -> String { ExtremeNumbers.text(using: &dice) }
            var fields: [String: String] = [:]
            for name in names where Bool.random(using: &dice) {
                fields[name] = Bool.random(using: &dice) ? number() : "Fri, \(number()) Nov \(number()) 10:00:00 GMT"
            }
            fields["cache-control"] = "max-age=\(number()), s-maxage=\(number())"
            fields["content-range"] = "bytes \(number())-\(number())/\(number())"
            let head = ResponseHead(
                status: [200, 206, 304, 404, 416, 429, 503].randomElement(using: &dice) ?? 200, fields: fields)
            let facts = RefreshFacts(
                head: head, updateInterval: ExtremeNumbers.integers.randomElement(using: &dice),
                published: ExtremeNumbers.integers.map { min(max($0, -1 << 53), 1 << 53) }.shuffled(using: &dice),
                failures: [0, 1, 1_000_000].randomElement(using: &dice) ?? 0)
            let next = RefreshSchedule().next(facts, now: Self.now, random: 0.5)
            #expect(next > Self.now && next <= Self.now + Freshness.longest.seconds * 11 / 10 + 1, "\(fields)")
            let pause = policy.pause(attempt: .max, retryAfter: head.retryAfter, random: 0.9)
            #expect((.zero ... .seconds(86_400)).contains(pause), "\(fields)")
            #expect((0...1 << 44).contains(head.contentLength ?? 0))
            if let range = head.contentRange {
                #expect((0...1 << 44).contains(range.total ?? 0) && range.range?.upperBound ?? 0 <= 1 << 44)
            }
            for ranged in [true, false] {
                _ = ResponseVerdict(head, offset: 0, ranged: ranged, pin: nil, expects: .media)
                let pin = Pin(total: 100, validator: nil)
                _ = ResponseVerdict(head, offset: 50, ranged: ranged, pin: pin, expects: .media)
            }
        }
    }

    @Test func retentionAndRhythmTolerateExtremeTimes() {
        let rows = ExtremeNumbers.integers.enumerated().map { index, moment in
            RetainedEpisode(id: EpisodeID(Int64(index)), moment: min(max(moment, -1 << 53), 1 << 53))
        }
        for keep in [Keep.days(100_000), .episodes(1), .listed] {
            let leaving = keep.removals(from: rows, now: Self.now)
            #expect(leaving.count < rows.count)
        }
        for minimum in [Int64(1), 86_400] {
            let rhythm = ReleaseRhythm(published: rows.map(\.moment), now: Self.now)
            if case .after(let seconds) = rhythm.wish(now: Self.now, minimum: minimum) { #expect(seconds > 0) }
        }
    }

    /// The feed claims almost 10^18 bytes for each of twelve files; their sum exceeds a signed 64-bit integer.
    @Test func hugeFileSizesInAFeedDoNotStopDownloads() async throws {
        let home = ServiceHome()
        home.publish(episodes: 12, size: 20_000)
        let text = FeedBuilder.show("Show", episodes: 12, length: 999_999_999_999_999_999) {
            home.web.url(home.media($0))
        }.text
        #expect(text.contains("999999999999999999"))
        home.web.serve("/feed.xml", Resource(text: text, contentType: "application/rss+xml"))
        let (daemon, client) = try await home.subscribe()
        let show = try #require(try daemon.library.podcasts().first)
        let episodes = try daemon.library.episodes(of: show.id)
        #expect(episodes.count == 12 && episodes.allSatisfy { $0.size.source == .unknown })
        try await client.perform(.act(.download, episodes: episodes.map(\.id)))
        for episode in episodes { try await client.completion(of: episode.id) }
    }
}
