internal import Platform
internal import PodcastFeed
internal import Transfers

/// The consequences of a feed fetch for the subscription: the outcome, and the address to use from now on. Pure.
struct FeedMove: Sendable, Equatable {
    /// The outcome of a fetch.
    enum Outcome: Sendable, Equatable {
        /// The server sent a feed (200), or what is new in it (226).
        case fetched
        /// The stored document is current (304 to a conditional request).
        case notModified
        /// 410 Gone: the feed is not fetched again; its episodes stay.
        case gone
        /// 429 or 503: requests to the host have to pause, for Retry-After if present.
        case backOff(retryAfter: Duration?)
        /// Any other result.
        case failed
    }

    let outcome: Outcome
    /// The new address of the subscription, if all redirects to it were permanent. It is effective at once. `nil` if
    /// the address stays.
    let address: String?
    /// The address in `itunes:new-feed-url`. The feed there has to be verified with `confirms` before the subscription
    /// moves.
    let verify: String?

    /// - Parameters:
    ///   - chain: the redirects that led to the response.
    ///   - head: the head of the final response.
    ///   - isConditional: whether the request had validators. Otherwise a 304 is a failure.
    ///   - feed: the document if it is a feed; `nil` after a 304, and if it could not be parsed.
    ///   - former: addresses to ignore in `itunes:new-feed-url`: the show's former ones and those that `confirms`
    ///     rejected. This prevents loops.
    init(
        chain: RedirectChain, head: ResponseHead, isConditional: Bool, feed: Feed?, former: some Sequence<String>,
        now: Int64
    ) {
        outcome =
            switch head.status {
            case 200, 226: feed == nil ? .failed : .fetched
            case 304: isConditional ? .notModified : .failed
            case 410: Self.isGone(chain: chain, head: head) ? .gone : .failed
            case 429, 503: .backOff(retryAfter: Freshness.retryAfter(head, now: now))
            default: .failed
            }
        switch outcome {
        case .fetched, .notModified: address = Self.permanentAddress(chain)
        case .gone, .backOff, .failed: address = nil
        }
        verify = feed?.newFeedURL.flatMap { Self.candidate($0, chain: chain, former: former) }
    }

    /// Returns whether a response says that the feed is gone for good: 410, but not after a temporary redirect, since
    /// then another resource is gone.
    static func isGone(chain: RedirectChain, head: ResponseHead) -> Bool {
        head.status == 410 && (chain.hops.isEmpty || chain.isPermanent)
    }

    /// Returns the address to which the redirects led, if all were permanent; otherwise `nil`. Also returns `nil` if
    /// the address is the old one, or would make the subscription less safe: http instead of https, or user info chosen
    /// by a server.
    private static func permanentAddress(_ chain: RedirectChain) -> String? {
        guard chain.isPermanent, chain.final != chain.requested, let old = try? WebAddress(chain.requested),
            let new = try? WebAddress(chain.final), !new.hasUserInfo, new.isSecure || !old.isSecure
        else { return nil }
        // An address that differs only in trailing slashes or in the case of the host is the same: do not rewrite it.
        return new.key != old.key || new.isSecure != old.isSecure ? new.text : nil
    }

    private static func candidate(
        _ text: String, chain: RedirectChain, former: some Sequence<String>
    ) -> String? {
        guard let new = try? WebAddress(text), !new.hasUserInfo, let requested = try? WebAddress(chain.requested),
            let final = try? WebAddress(chain.final)
        else { return nil }
        // Many feeds name their own address in the tag, often with the old scheme. That is a move only if it changes
        // http to https.
        let isUpgrade = new.isSecure && !requested.isSecure && !final.isSecure
        if new.key == requested.key || new.key == final.key { return isUpgrade ? new.text : nil }
        guard new.isSecure || !requested.isSecure else { return nil }
        return former.contains { (try? WebAddress($0))?.key == new.key } ? nil : new.text
    }

    // MARK: itunes:new-feed-url

    /// Returns whether `feed`, the document at the address in `itunes:new-feed-url`, is a feed of the same show. The
    /// subscription then moves to `confirmedAddress`.
    ///
    /// Without this check, anyone who can edit a feed for a day could redirect its listeners permanently. Also, an
    /// address that is a placeholder left over from a template would end the subscription to the show.
    ///
    /// Two lists are compared: the items of `feed` and the show's episodes in the library. The number of items that
    /// match must be at least half the length of the shorter list. If that list has fewer than six entries, one match
    /// is enough, since some of the episodes are often just announcements of the move.
    ///
    /// - Parameters:
    ///   - known: the marks of the show's episodes in the library, which has more episodes than any one document.
    ///   - episodes: the number of those episodes.
    static func confirms(_ feed: Feed, known: Set<String>, episodes: Int) -> Bool {
        let items = feed.items.prefix(comparedItems)
        let common = items.count { item in
            item.enclosures.first.map { media in
                marks(guid: item.guid, url: media.url).contains { known.contains($0) }
            } ?? false
        }
        let comparable = min(items.count, episodes)
        return common > 0 && (common * 2 >= comparable || comparable < 6)
    }

    /// Returns the marks by which an episode is recognized on another host: its guid and its media URL. A guid that is
    /// short enough to be a serial number is no mark. The URL is compared without its scheme, and without its query,
    /// which may contain a token.
    static func marks(guid: String?, url: String) -> [String] {
        let path = (try? WebAddress(url))?.key.prefix { $0 != "?" } ?? url[...]
        let guid = guid.flatMap { $0.utf8.count >= 8 ? "guid " + $0 : nil }
        return [guid, path.isEmpty ? nil : "url " + path].compactMap(\.self)
    }

    /// Number of items compared. A hundred are sufficient evidence, and the feed at the old address may list only its
    /// newest hundred.
    private static let comparedItems = 100

    /// Returns the address to which the subscription moves after `confirms` has returned `true`: the one in
    /// `itunes:new-feed-url`, or the target of permanent redirects from there.
    ///
    /// - Returns: `nil` if the move would leave https, the fetch failed, or the new address is the old one.
    static func confirmedAddress(chain: RedirectChain, head: ResponseHead, from old: String) -> String? {
        guard head.status == 200, let before = try? WebAddress(old) else { return nil }
        let text = permanentAddress(chain) ?? chain.requested
        guard let address = try? WebAddress(text), address.isSecure || !before.isSecure else { return nil }
        return address.key == before.key && address.isSecure == before.isSecure ? nil : text
    }
}

/// The redirects from the requested address to that of the final response.
struct RedirectChain: Sendable, Equatable {
    let requested: String
    var hops: [ResponseHead.Redirect] = []
    let final: String

    /// Whether there are redirects, and all were permanent (301 or 308), so that clients should use the final address
    /// from now on (RFC 9110 §15.4.2 and §15.4.9). One temporary redirect, such as to a log-in page, makes the chain
    /// temporary.
    var isPermanent: Bool { !hops.isEmpty && hops.allSatisfy { $0.status == 301 || $0.status == 308 } }
}
