import Platform
import PodcastFeed
import Testing

@testable import PodcastService
@testable import Transfers

struct FeedMoveTests {
    private static let old = "https://old.example/feed"
    private static let new = "https://new.example/feed"

    private static func chain(_ statuses: [Int], to places: [String]) -> RedirectChain {
        let hops = zip(statuses, [old] + places).map { ResponseHead.Redirect(status: $0, url: $1) }
        return RedirectChain(requested: old, hops: hops, final: places.last ?? old)
    }

    private static let direct = RedirectChain(requested: old, final: old)

    private static func feed(newFeedURL: String? = nil, items: Range<Int> = 0..<3, host: String = "m.example") -> Feed {
        var feed = Feed(format: .rss2)
        feed.newFeedURL = newFeedURL
        feed.items = items.map { number in
            var item = Item()
            item.guid = "episode-number-\(number)"
            item.enclosures = [Enclosure(url: "https://\(host)/\(number).mp3?token=\(number)")]
            return item
        }
        return feed
    }

    private func move(
        _ chain: RedirectChain, _ status: Int = 200, _ fields: [String: String] = [:], feed: Feed? = feed(),
        former: [String] = [], isConditional: Bool = true
    ) -> FeedMove {
        FeedMove(
            chain: chain, head: ResponseHead(status: status, fields: fields), isConditional: isConditional, feed: feed,
            former: former, now: 1_000)
    }

    // MARK: Outcome

    @Test func eachStatusHasItsMeaning() {
        #expect(move(Self.direct).outcome == .fetched)
        #expect(move(Self.direct, 304, feed: nil).outcome == .notModified)
        #expect(move(Self.direct, 304, feed: nil, isConditional: false).outcome == .failed)
        #expect(move(Self.direct, 410, feed: nil).outcome == .gone)
        #expect(move(Self.direct, 200, feed: nil).outcome == .failed)
        #expect(move(Self.chain([301], to: [Self.new]), 200, feed: nil).address == nil)
        for status in [204, 206, 400, 401, 403, 404, 500, 502] {
            #expect(move(Self.direct, status, feed: nil).outcome == .failed)
        }
        for status in [429, 503] {
            #expect(move(Self.direct, status, feed: nil).outcome == .backOff(retryAfter: nil))
            #expect(
                move(Self.direct, status, ["retry-after": "60"], feed: nil).outcome
                    == .backOff(retryAfter: .seconds(60)))
        }
    }

    @Test func goneCountsOnlyAfterPermanentRedirects() {
        #expect(move(Self.chain([301], to: [Self.new]), 410, feed: nil).outcome == .gone)
        #expect(move(Self.chain([302], to: [Self.new]), 410, feed: nil).outcome == .failed)
    }

    // MARK: Redirects

    private static let middle = "https://middle.example/"

    /// The statuses and targets of the redirects, the status of the last response, and the new address.
    @Test(
        arguments: [
            ([301], [new], 200, new), ([308], [new], 200, new), ([301, 308], [middle, new], 200, new),
            ([308, 308], [middle, new], 200, new), ([301], [new], 304, new), ([308], [new], 304, new),
            // One temporary redirect makes the whole chain temporary.
            ([302], [new], 200, nil), ([303], [new], 200, nil), ([307], [new], 200, nil),
            ([301, 302], [middle, new], 200, nil), ([303, 301], [middle, new], 200, nil),
            ([307, 301], [middle, new], 200, nil),
            // A move never makes a subscription less safe.
            ([301], ["http://new.example/feed"], 200, nil), ([301], ["https://u:secret@new.example/feed"], 200, nil),
            ([301], ["ftp://new.example/feed"], 200, nil),
            // A trailing slash is no move, nor is a redirect to no feed.
            ([301], [old + "/"], 200, nil), ([301], [new], 404, nil), ([301], [new], 410, nil),
            ([301], [new], 429, nil), ([301], [new], 503, nil),
        ] as [([Int], [String], Int, String?)])
    func onlySafePermanentRedirectsMoveASubscription(
        statuses: [Int], places: [String], status: Int, address: String?
    ) {
        let move = move(Self.chain(statuses, to: places), status, feed: status == 200 ? Self.feed() : nil)
        #expect(move.address == address)
    }

    @Test func aRedirectToHTTPSIsAMove() {
        let plain = "http://old.example/feed"
        let hops = [ResponseHead.Redirect(status: 301, url: plain)]
        #expect(move(RedirectChain(requested: plain, hops: hops, final: Self.old)).address == Self.old)
    }

    // MARK: itunes:new-feed-url

    /// The feed's address, the one that it names, and the one that needs verification.
    @Test(
        arguments: [
            (old, new, new), (old, old, nil), (old, "http://old.example/feed/", nil),
            (old, "https://OLD.example:443/feed#x", nil), (old, "", nil), (old, "feed", nil),
            (old, "ftp://new.example/feed", nil), (old, "http://new.example/feed", nil),
            (old, "https://me:pw@new.example/feed", nil), (old, "https://", nil),
            (old, "https://new.example/a b", nil), ("http://old.example/feed", old, old),
            ("http://old.example/feed", "http://new.example/f", "http://new.example/f"),
        ] as [(String, String, String?)])
    func anotherUsableAddressInTheFeedNeedsVerification(own: String, named: String, verified: String?) {
        let move = move(RedirectChain(requested: own, final: own), feed: Self.feed(newFeedURL: named))
        #expect(move.verify == verified && move.address == nil && move.outcome == .fetched)
    }

    @Test func anAddressThatAnsweredOrFormerlyDidNeedsNoVerification() {
        let third = "https://third.example/f"
        let both = move(Self.chain([301], to: [Self.new]), feed: Self.feed(newFeedURL: third))
        #expect(both.address == Self.new && both.verify == third)
        let feed = Self.feed(newFeedURL: Self.new)
        #expect(move(Self.chain([302], to: [Self.new]), feed: feed).verify == nil)
        #expect(move(Self.direct, feed: feed, former: ["http://new.example/feed/"]).verify == nil)
        #expect(move(Self.direct, feed: feed, former: [third]).verify == Self.new)
    }

    private static func marks(_ feed: Feed) -> Set<String> {
        Set(feed.items.flatMap { FeedMove.marks(guid: $0.guid, url: $0.enclosures[0].url) })
    }

    @Test func aShowIsRecognizedByItsEpisodes() {
        let known = Self.marks(Self.feed(items: 0..<20))
        func confirms(_ feed: Feed) -> Bool { FeedMove.confirms(feed, known: known, episodes: 20) }
        #expect(confirms(Self.feed(items: 0..<20, host: "other.example")))
        // The new feed has fewer or more items. At least half of the smaller list must match.
        #expect(confirms(Self.feed(items: 10..<20)))
        #expect(confirms(Self.feed(items: 0..<30)))
        #expect(confirms(Self.feed(items: 10..<30)))
        #expect(!confirms(Self.feed(items: 11..<31)))
        #expect(!confirms(Self.feed(items: 20..<40)))
        #expect(!confirms(Self.feed(items: 0..<0)))
        // Without guids, the media addresses identify the episodes.
        var other = Self.feed(items: 0..<20)
        for index in other.items.indices { other.items[index].guid = nil }
        #expect(confirms(other))
        for index in other.items.indices { other.items[index].enclosures = [] }
        #expect(!confirms(other))
    }

    @Test func oneEpisodeIdentifiesAShowWithFewEpisodes() {
        let known = Self.marks(Self.feed(items: 0..<3))
        #expect(FeedMove.confirms(Self.feed(items: 2..<40), known: known, episodes: 3))
        #expect(!FeedMove.confirms(Self.feed(items: 3..<40), known: known, episodes: 3))
    }

    @Test func shortGuidsDoNotIdentifyAnEpisode() {
        #expect(
            FeedMove.marks(guid: "12", url: "https://a.example/1")
                == FeedMove.marks(guid: nil, url: "http://a.example/1?x"))
        #expect(FeedMove.marks(guid: "12345678", url: "").count == 1)
        #expect(FeedMove.marks(guid: nil, url: "").isEmpty)
    }

    @Test func theConfirmedAddressIsWherePermanentRedirectsLed() {
        let third = "https://third.example/f"
        func confirmed(_ redirects: [Int] = [], to place: String = Self.new, status: Int = 200) -> String? {
            let hops = redirects.map { ResponseHead.Redirect(status: $0, url: Self.new) }
            let chain = RedirectChain(requested: Self.new, hops: hops, final: place)
            return FeedMove.confirmedAddress(chain: chain, head: ResponseHead(status: status), from: Self.old)
        }
        #expect(confirmed() == Self.new && confirmed(status: 404) == nil)
        #expect(confirmed([308], to: third) == third && confirmed([302], to: third) == Self.new)
        // The redirect leads back to the old address.
        #expect(confirmed([301], to: Self.old) == nil)
    }
}
