import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastService

/// Merges of local and remote subscriptions, without a server.
@Suite struct SubscriptionMergeTests {
    private let url = "https://a.example/feed"

    private func state(
        server: [ServerFeed] = [], local: [(Int64, String)] = [], pending: [PendingSubscription] = []
    ) -> SubscriptionState {
        SubscriptionState(
            server: server,
            local: local.map { Subscription(podcast: ShowID($0.0), name: "Show \($0.0)", url: $0.1, title: "Show") },
            pending: pending)
    }

    @Test(arguments: ["https://a.example/feed", "http://a.example/feed", "https://A.example/feed/"])
    func anotherSpellingIsTheSameShow(spelling: String) {
        let merge = SubscriptionMerge(add: [spelling], remove: [], state: state(local: [(1, url)]))
        #expect(merge.adds.isEmpty)
        #expect(merge.feedsToRecord == [ServerFeed(url: spelling, subscribed: true, podcast: 1)])
    }

    @Test func aShowIsFoundByTheServersAddress() {
        let old = "https://old.example/feed"
        let merge = SubscriptionMerge(
            add: [], remove: [old],
            state: state(server: [ServerFeed(url: old, subscribed: true, podcast: 1)], local: [(1, url)]))
        #expect(merge.removes.map(\.url) == [old])
    }

    @Test func aSpellingChangeOnTheServerRemovesNoShow() {
        let old = "http://a.example/feed"
        let server = [ServerFeed(url: old, subscribed: true, podcast: 1)]
        let merge = SubscriptionMerge(add: [url], remove: [old], state: state(server: server, local: [(1, old)]))
        #expect(merge.adds.isEmpty && merge.removes.isEmpty)
        #expect(merge.feedsToRecord.count == 2)
    }

    /// An implementation that compared each show with all others took minutes.
    @Test func thousandsOfRemovalsAreMergedQuickly() {
        let urls = (0..<6_000).map { "https://a.example/feed/\($0)" }
        let server = urls.enumerated().map { ServerFeed(url: $1, subscribed: true, podcast: ShowID(Int64($0))) }
        let local = urls.enumerated().map { (Int64($0), $1) }
        let begin = ContinuousClock.now
        let merge = SubscriptionMerge(
            add: [urls[7]], remove: urls, state: state(server: server, local: Array(local.dropLast())))
        #expect(merge.removes.count == 5_998)
        let upload = SubscriptionUpload(
            (0..<250).map { PendingSubscription(url: urls[$0], podcast: ShowID(Int64($0)), subscribed: false) },
            state: state(server: server))
        #expect(upload.remove.count == 250)
        // The merge takes about a second on a loaded machine in a debug build.
        #expect(ContinuousClock.now - begin < .seconds(20))
    }

    @Test func subscribingWinsOverUnsubscribingInAConflict() {
        let known = [ServerFeed(url: url, subscribed: true, podcast: 1)]
        let added = PendingSubscription(url: url, podcast: 1, subscribed: true)
        let kept = SubscriptionMerge(
            add: [], remove: [url], state: state(server: known, local: [(1, url)], pending: [added]))
        #expect(kept.removes.isEmpty && kept.obsoleteChanges.isEmpty)

        let gone = [ServerFeed(url: url, subscribed: false, podcast: 1)]
        let removed = PendingSubscription(url: url, podcast: 1, subscribed: false)
        let back = SubscriptionMerge(add: [url], remove: [], state: state(server: gone, pending: [removed]))
        #expect(back.adds == [url])
        #expect(back.obsoleteChanges == [removed])
    }

    /// An echo: the server reports a change that the library has already recorded. After that change the show was
    /// unsubscribed on this device, and this removal must still be sent.
    @Test func anEchoOfAKnownFeedChangesNothing() {
        let known = [ServerFeed(url: url, subscribed: true, podcast: 1)]
        let removed = PendingSubscription(url: url, podcast: 1, subscribed: false)
        let merge = SubscriptionMerge(add: [url], remove: [], state: state(server: known, pending: [removed]))
        #expect(merge == SubscriptionMerge(add: [], remove: [], state: state()))
    }

    /// This device subscribed to the show and sent the subscription to the server. The response was lost. Then the show
    /// was removed on this device. Now the server reports the subscription, which must not be taken for a new one.
    @Test func anEchoOfAnUnansweredRequestDoesNotBringAShowBack() {
        let removed = PendingSubscription(url: url, podcast: 1, subscribed: false, sent: true)
        let merge = SubscriptionMerge(add: [url], remove: [], state: state(pending: [removed]))
        #expect(merge.adds.isEmpty && merge.obsoleteChanges.isEmpty)
        #expect(merge.feedsToRecord == [ServerFeed(url: url, subscribed: true, podcast: 1)])
    }

    @Test func aRemovalOnBothSidesIsNotSent() {
        let known = [ServerFeed(url: url, subscribed: true, podcast: 1)]
        let removed = PendingSubscription(url: url, podcast: 1, subscribed: false)
        let merge = SubscriptionMerge(add: [], remove: [url], state: state(server: known, pending: [removed]))
        #expect(merge.obsoleteChanges == [removed])
        #expect(merge.removes.isEmpty)
    }

    @Test(arguments: [
        "file:///etc/passwd", "javascript:alert(1)", "ftp://a.example/feed", "https://user:pass@a.example/feed", "",
        "https://", "//a.example/feed", "https://a.example/\u{202E}feed", "https://a.example/a b",
        "http://a.example:99999/",
        "https://a.example/\\..\\", "data:text/xml,<rss/>",
        "https://a.example/" + String(repeating: "x", count: 64 << 10),
    ])
    func hostileAddressesAreRefused(url: String) {
        let merge = SubscriptionMerge(add: [url], remove: [url + "?"], state: state())
        #expect(merge.adds.isEmpty)
        #expect(merge.refused.count == 1)
        #expect(merge.refused.allSatisfy { $0.utf8.count < 500 && !$0.contains("pass@") })
    }

    @Test func subscriptionsBeyondTheLimitAreRefused() {
        let many = (0..<10_000).map { "https://h\($0).example/feed" }
        let merge = SubscriptionMerge(add: many, remove: [], state: state(local: [(1, url)]))
        #expect(merge.adds.count == SubscriptionMerge.mostSubscriptions - 1)
        #expect(merge.refused.count == 10_000 - merge.adds.count)
    }

    // MARK: Upload

    @Test func aShowIsRemovedByTheAddressThatTheServerHas() {
        let server = [ServerFeed(url: "https://spelled.example/", subscribed: true, podcast: 7)]
        let upload = SubscriptionUpload(
            [PendingSubscription(url: url, podcast: 7, subscribed: false)], state: state(server: server))
        #expect(upload.remove == ["https://spelled.example/"])
    }

    @Test func aMoveIsSentAsAnAdditionAndARemoval() {
        let old = ServerFeed(url: "https://old.example/", subscribed: true, podcast: 7)
        let changes = [
            PendingSubscription(url: old.url, podcast: 7, subscribed: false),
            PendingSubscription(url: url, podcast: 7, subscribed: true),
        ]
        let upload = SubscriptionUpload(changes, state: state(server: [old], local: [(7, url)]))
        #expect(upload.add == [url] && upload.remove == [old.url])
        // Another device has reported the new URL to the server.
        let known = [old, ServerFeed(url: url, subscribed: true, podcast: 7)]
        let rest = SubscriptionUpload([changes[0]], state: state(server: known, local: [(7, url)]))
        #expect(rest.add.isEmpty && rest.remove == [old.url])
    }
}
