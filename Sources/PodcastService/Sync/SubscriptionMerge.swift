internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol

/// The changes to apply locally, from a merge of the server's subscription changes with the local ones. Pure.
///
/// The API has no timestamps per change, so "last writer wins" works only where the order is known. The order is
/// unknown if the server reports a change of a show for which a local change is pending, unless the server only repeats
/// a change that this client has sent. If it is unknown, "subscribed" wins: an unwanted show is easily removed again,
/// while a person may not notice that a wanted one has disappeared.
struct SubscriptionMerge: Sendable, Equatable {
    /// Addresses to subscribe to.
    var adds: [String] = []
    /// Shows to remove, with the addresses under which the server lists them.
    var removes: [(podcast: ShowID, url: String)] { removed.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 } }
    /// Entries of the server's list to record at once, since they require no local change.
    var feedsToRecord: [ServerFeed] = []
    /// Pending changes to drop instead of sending them: the server's change overrides them, or is the same.
    var obsoleteChanges: [PendingSubscription] = []
    /// Rejected addresses, with the reason, one line each and without secrets.
    var refused: [String] = []

    /// Shows to remove, with the server's address of each.
    private var removed: [ShowID: String] = [:]

    /// Maximum number of subscribed shows. Additions of the server that would exceed it are rejected.
    static let mostSubscriptions = 5_000

    init(add: [String], remove: [String], state: SubscriptionState) {
        // Whether the server listed each address before these changes, and lists it after them.
        let before = Dictionary(state.server.map { ($0.url, $0.subscribed) }, uniquingKeysWith: { $1 })
        var after = before
        for url in remove { after[url] = false }
        // An address in both lists was removed and added again.
        for url in add { after[url] = true }
        let shows = Shows(state)
        var room = Self.mostSubscriptions - state.local.count
        var seen: Set<String> = []
        for url in add where seen.insert(url).inserted && before[url] != true {
            let show = shows.show(url)
            let pending = shows.pending(show)
            let isUnsubscribed = Self.isUnsubscribed(pending)
            // The server only repeats a subscription that this client has sent. The show has been unsubscribed locally
            // since then, so it is not added again.
            let isEcho = isUnsubscribed && pending.contains { $0.sent == true }
            if isUnsubscribed, !isEcho { obsoleteChanges += pending }
            if isEcho || shows.isSubscribed(show) {
                feedsToRecord.append(ServerFeed(url: url, subscribed: true, podcast: show))
            } else if let reason = Self.rejectionReason(of: url)
                ?? (room > 0 ? nil : "there are \(Self.mostSubscriptions) shows already")
            {
                refused.append("\(Substring(WebAddress.redacted(url).unicodeScalars.prefix(80))): \(reason)")
            } else {
                room -= 1
                adds.append(url)
            }
        }
        // A show stays if the server still lists it under another address.
        let staying = remove.isEmpty ? [] : Set(after.filter(\.value).keys.compactMap(shows.show))
        for url in remove where seen.insert(url).inserted && before[url] != false {
            // Skip an address that is neither in the recorded list of the server nor the address of a known show.
            let show = shows.show(url)
            guard before[url] != nil || show != nil else { continue }
            let pending = shows.pending(show)
            if Self.isUnsubscribed(pending) { obsoleteChanges += pending }
            if let show, pending.isEmpty, shows.isSubscribed(show), !staying.contains(show), removed[show] == nil {
                removed[show] = url
            } else {
                feedsToRecord.append(ServerFeed(url: url, subscribed: false, podcast: show))
            }
        }
    }

    /// Returns whether a show's pending changes amount to an unsubscription.
    private static func isUnsubscribed(_ pending: [PendingSubscription]) -> Bool {
        !pending.isEmpty && !pending.contains(where: \.subscribed)
    }

    /// Returns the reason why an address that another device has added is rejected; `nil` if it is accepted.
    private static func rejectionReason(of url: String) -> String? {
        if let problem = WebAddress.problem(with: url) { return "its address \(problem)" }
        if (try? WebAddress(url))?.hasUserInfo != false {
            return "it contains a name and password: subscribe to it on this device"
        }
        return nil
    }

    /// The lookup of shows and pending changes by address.
    private struct Shows {
        private let listed: [String: ShowID]
        private let subscribed: Set<ShowID>
        private let byKey: [String: ShowID]
        private let pendingByShow: [ShowID: [PendingSubscription]]

        init(_ state: SubscriptionState) {
            listed = Dictionary(
                state.server.compactMap { feed in feed.podcast.map { (feed.url, $0) } }, uniquingKeysWith: { $1 })
            subscribed = Set(state.local.map(\.podcast))
            byKey = Dictionary(
                (state.local.map { ($0.url, $0.podcast) } + state.pending.map { ($0.url, $0.podcast) }).map {
                    (WebAddress.key($0), $1)
                }, uniquingKeysWith: { first, _ in first })
            pendingByShow = Dictionary(grouping: state.pending, by: \.podcast)
        }

        func show(_ url: String) -> ShowID? {
            if let known = listed[url], subscribed.contains(known) { return known }
            return byKey[WebAddress.key(url)] ?? listed[url]
        }

        func isSubscribed(_ show: ShowID?) -> Bool { show.map(subscribed.contains) ?? false }

        func pending(_ show: ShowID?) -> [PendingSubscription] { show.flatMap { pendingByShow[$0] } ?? [] }
    }
}

/// The upload of pending subscription changes.
struct SubscriptionUpload: Sendable, Equatable {
    var changes: [PendingSubscription]
    /// The addresses of the request, sorted.
    var add: [String]
    var remove: [String]

    /// Creates the upload. For a show that is no longer subscribed, `remove` has each of its addresses in the server's
    /// list or, if the list has none, its local address. For a show that has moved, `remove` has its former local
    /// address.
    init(_ changes: [PendingSubscription], state: SubscriptionState) {
        self.changes = changes
        let local = Set(state.local.lazy.map(\.podcast))
        let added = Set(changes.lazy.filter(\.subscribed).map(\.url))
        var removed: Set<String> = []
        for change in changes where !change.subscribed {
            let urls = state.server.filter {
                $0.podcast == change.podcast && $0.subscribed && !local.contains(change.podcast)
                    && !added.contains($0.url)
            }.map(\.url)
            removed.formUnion(urls.isEmpty ? [change.url] : urls)
        }
        add = added.sorted()
        remove = removed.subtracting(added).sorted()
    }

    /// The entries of the server's list that this upload changes, as they are once the server has accepted it.
    var feeds: [ServerFeed] {
        changes.filter(\.subscribed).map { ServerFeed(url: $0.url, subscribed: true, podcast: $0.podcast) }
            + remove.map { ServerFeed(url: $0, subscribed: false) }
    }
}
