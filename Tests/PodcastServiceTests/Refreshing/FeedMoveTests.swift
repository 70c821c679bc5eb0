import Platform
import PodcastFeed
import Testing

@testable import PodcastService
@testable import Transfers

struct FeedMoveTests {
    private static let old = "https://old.example/feed"
    private static let new = "https://new.example/feed"

    private static func chain(_ statuses: Int..., to places: [String]) -> RedirectChain {
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
        #expect(move(Self.chain(301, to: [Self.new]), 410, feed: nil).outcome == .gone)
        #expect(move(Self.chain(302, to: [Self.new]), 410, feed: nil).outcome == .failed)
    }

    // MARK: Redirects

    @Test(arguments: [301, 308]) func permanentRedirectsMoveTheSubscription(status: Int) {
        #expect(move(Self.chain(status, to: [Self.new])).address == Self.new)
        #expect(move(Self.chain(status, 308, to: ["https://middle.example/", Self.new])).address == Self.new)
        #expect(move(Self.chain(status, to: [Self.new]), 304, feed: nil).address == Self.new)
    }

    @Test func oneTemporaryRedirectMakesTheWholeChainTemporary() {
        for status in [302, 303, 307] {
            #expect(move(Self.chain(status, to: [Self.new])).address == nil)
            #expect(move(Self.chain(301, status, to: ["https://middle.example/", Self.new])).address == nil)
            #expect(move(Self.chain(status, 301, to: ["https://middle.example/", Self.new])).address == nil)
        }
    }

    @Test func aRedirectToNoFeedMovesNothing() {
        let chain = Self.chain(301, to: [Self.new])
        #expect(move(chain, 200, feed: nil).address == nil)
        for status in [404, 410, 429, 503] { #expect(move(chain, status, feed: nil).address == nil) }
    }

    @Test func aMoveNeverMakesASubscriptionLessSafe() {
        #expect(move(Self.chain(301, to: ["http://new.example/feed"])).address == nil)
        #expect(move(Self.chain(301, to: ["https://user:secret@new.example/feed"])).address == nil)
        #expect(move(Self.chain(301, to: ["ftp://new.example/feed"])).address == nil)
        let plain = "http://old.example/feed"
        let upgrade = RedirectChain(
            requested: plain, hops: [.init(status: 301, url: plain)], final: Self.old)
        #expect(move(upgrade).address == Self.old)
    }

    @Test func aTrailingSlashIsNoMove() {
        #expect(move(Self.chain(301, to: [Self.old + "/"])).address == nil)
    }

    // MARK: itunes:new-feed-url

    @Test func aNewFeedAddressNeedsVerification() {
        let move = move(Self.direct, feed: Self.feed(newFeedURL: Self.new))
        #expect(move.verify == Self.new && move.address == nil && move.outcome == .fetched)
        let both = self.move(Self.chain(301, to: [Self.new]), feed: Self.feed(newFeedURL: "https://third.example/f"))
        #expect(both.address == Self.new && both.verify == "https://third.example/f")
    }

    @Test(arguments: [
        "https://old.example/feed", "http://old.example/feed/", "https://OLD.example:443/feed#x", "", "feed",
        "ftp://new.example/feed", "http://new.example/feed", "https://me:pw@new.example/feed", "https://",
        "https://new.example/a b",
    ])
    func theSameAddressOrAnUnusableOneIsNoMove(text: String) {
        #expect(move(Self.direct, feed: Self.feed(newFeedURL: text)).verify == nil)
    }

    @Test func theAddressThatAnsweredIsNoMove() {
        #expect(move(Self.chain(302, to: [Self.new]), feed: Self.feed(newFeedURL: Self.new)).verify == nil)
    }

    @Test func aShowDoesNotMoveBackToAFormerAddress() {
        let feed = Self.feed(newFeedURL: Self.new)
        #expect(move(Self.direct, feed: feed, former: ["http://new.example/feed/"]).verify == nil)
        #expect(move(Self.direct, feed: feed, former: ["https://third.example/"]).verify == Self.new)
    }

    @Test func theSameAddressOverHTTPSIsAMove() {
        let plain = "http://old.example/feed"
        let direct = RedirectChain(requested: plain, final: plain)
        #expect(move(direct, feed: Self.feed(newFeedURL: Self.old)).verify == Self.old)
        #expect(move(direct, feed: Self.feed(newFeedURL: "http://new.example/f")).verify == "http://new.example/f")
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
        let ok = ResponseHead(status: 200)
        let asked = RedirectChain(requested: Self.new, final: Self.new)
        #expect(FeedMove.confirmedAddress(chain: asked, head: ok, from: Self.old) == Self.new)
        #expect(FeedMove.confirmedAddress(chain: asked, head: ResponseHead(status: 404), from: Self.old) == nil)
        let third = "https://third.example/f"
        let permanent = RedirectChain(
            requested: Self.new, hops: [.init(status: 308, url: Self.new)], final: third)
        #expect(FeedMove.confirmedAddress(chain: permanent, head: ok, from: Self.old) == third)
        let temporary = RedirectChain(
            requested: Self.new, hops: [.init(status: 302, url: Self.new)], final: third)
        #expect(FeedMove.confirmedAddress(chain: temporary, head: ok, from: Self.old) == Self.new)
        // The redirect leads back to the old address.
        let back = RedirectChain(
            requested: Self.new, hops: [.init(status: 301, url: Self.new)], final: Self.old)
        #expect(FeedMove.confirmedAddress(chain: back, head: ok, from: Self.old) == nil)
    }
}
