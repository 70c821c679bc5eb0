internal import DaemonCore
package import PodcastFeed
package import TransferCore

/// What the fetch of a feed means for the subscription: whether it succeeded, and where the feed is to be asked for
/// from now on. Pure.
package struct FeedMove: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        /// A document came (200), and it is a feed.
        case fetched
        /// The known document is current (304).
        case notModified
        /// 410: the feed is not asked for again; its episodes stay.
        case gone
        /// 429 or 503: the host is to be left alone. Seconds of Retry-After, where it gave some.
        case backOff(retryAfter: Int64?)
        /// Everything else.
        case failed
    }

    package let outcome: Outcome
    /// The address that the subscription takes on at once: all steps to it were permanent redirects.
    package let address: String?
    /// `itunes:new-feed-url`: an address that is to be fetched before it is believed; see `confirms`.
    package let verify: String?

    /// - Parameters:
    ///   - chain: how the answer was come by.
    ///   - head: of the final answer.
    ///   - feed: the document, when it was one; `nil` after a 304 and when it could not be read.
    ///   - former: addresses that are not to be taken from `itunes:new-feed-url`: those that the show had before, and
    ///     those that `confirms` refused. A show never goes in a circle.
    package init(chain: RedirectChain, head: ResponseHead, feed: Feed?, former: some Sequence<String>, now: Int64) {
        outcome = Self.outcome(chain: chain, head: head, hasFeed: feed != nil, now: now)
        switch outcome {
        case .fetched, .notModified: address = Self.permanentAddress(chain)
        case .gone, .backOff, .failed: address = nil
        }
        verify = feed?.newFeedURL.flatMap { Self.candidate($0, chain: chain, former: former) }
    }

    private static func outcome(chain: RedirectChain, head: ResponseHead, hasFeed: Bool, now: Int64) -> Outcome {
        switch head.status {
        case 200: hasFeed ? .fetched : .failed
        case 304: .notModified
        // Behind a temporary redirect another resource is gone, not the feed.
        case 410: chain.hops.isEmpty || chain.isPermanent ? .gone : .failed
        case 429, 503: .backOff(retryAfter: Freshness.retryAfter(head, now: now))
        default: .failed
        }
    }

    /// Where the permanent redirects ended, unless that would make a subscription less safe: it never goes from https
    /// to http, and never takes on credentials that a server made up.
    private static func permanentAddress(_ chain: RedirectChain) -> String? {
        guard chain.isPermanent, chain.final != chain.requested, let old = FeedAddress(chain.requested),
            let new = FeedAddress(chain.final), !new.hasUserInfo, new.isSecure || !old.isSecure
        else { return nil }
        // With a trailing slash or in other letters it is the same address, and no reason to write.
        return new.key != old.key || new.isSecure != old.isSecure ? new.text : nil
    }

    private static func candidate(
        _ text: String, chain: RedirectChain, former: some Sequence<String>
    ) -> String? {
        guard let new = FeedAddress(text), !new.hasUserInfo, let requested = FeedAddress(chain.requested),
            let final = FeedAddress(chain.final)
        else { return nil }
        // Publishers leave the tag in the feed it names, often with the old scheme: that is no move. To the same
        // address over https it is one.
        let isUpgrade = new.isSecure && !requested.isSecure && !final.isSecure
        if new.key == requested.key || new.key == final.key { return isUpgrade ? new.text : nil }
        guard new.isSecure || !requested.isSecure else { return nil }
        return former.contains { FeedAddress($0)?.key == new.key } ? nil : new.text
    }

    // MARK: itunes:new-feed-url

    /// Whether the document found at an `itunes:new-feed-url` is the show that named it: then the subscription moves
    /// to `confirmedAddress`.
    ///
    /// Anyone who may write into a feed for a day could else take a show's listeners with them for good, and a
    /// template's placeholder would lose the show. At least half of the smaller of both must be the
    /// same; where that has fewer than six episodes one is enough, since a part of them is often nothing but the
    /// announcement of the move.
    ///
    /// - Parameters:
    ///   - known: the marks of the show's episodes in the library, where there are more than in any document.
    ///   - episodes: how many those are.
    package static func confirms(_ feed: Feed, known: Set<EpisodeMark>, episodes: Int) -> Bool {
        let items = feed.items.prefix(comparedItems)
        let common = items.count { item in
            item.enclosures.first.map { media in
                EpisodeMark.marks(guid: item.guid, url: media.url).contains { known.contains($0) }
            } ?? false
        }
        let comparable = min(items.count, episodes)
        return common > 0 && (common * 2 >= comparable || comparable < 6)
    }

    /// A hundred tell, and an old feed may have been cut to as few.
    private static let comparedItems = 100

    /// The address to take on after `confirms`: that of the tag, or where permanent redirects led from there.
    ///
    /// - Returns: `nil` when it would leave https, or the fetch of the tag's address failed.
    package static func confirmedAddress(chain: RedirectChain, head: ResponseHead, from old: String) -> String? {
        guard head.status == 200, let before = FeedAddress(old) else { return nil }
        let text = permanentAddress(chain) ?? chain.requested
        guard let address = FeedAddress(text), address.isSecure || !before.isSecure else { return nil }
        return address.key == before.key && address.isSecure == before.isSecure ? nil : text
    }
}

/// A sign by which an episode is known again on another host.
package struct EpisodeMark: Sendable, Hashable {
    private let text: String

    /// The guid, where it is long enough to be no running number, and the media URL without scheme and query, which may
    /// hold a token.
    package static func marks(guid: String?, url: String) -> [EpisodeMark] {
        var marks: [EpisodeMark] = []
        if let guid, guid.utf8.count >= 8 { marks.append(EpisodeMark(text: "guid " + guid)) }
        let path = FeedAddress(url)?.key.prefix { $0 != "?" } ?? url[...]
        if !path.isEmpty { marks.append(EpisodeMark(text: "url " + path)) }
        return marks
    }
}
