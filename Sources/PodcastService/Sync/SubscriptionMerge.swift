package import PodcastLibrary
package import TransferCore

/// What is to be done with subscriptions after the server has told what changed there. Pure.
///
/// The API gives no times, so that "the later one wins" can be said only of what is known to be later: what is news from
/// the server, and no echo of what was sent from here, stands against what has been changed here since and waits. Where
/// both have changed, being subscribed wins: an unwanted show is removed once more in a second, a wanted one that has gone
/// may never be missed.
package struct SubscriptionMerge: Sendable, Equatable {
    /// Addresses that are news, to be subscribed to.
    package var adds: [String] = []
    /// Shows that are to leave, and the addresses by which the server has named them.
    package var removes: [(podcast: ShowID, url: String)] { removed.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 } }
    /// What can be written down at once: what the server has, where nothing has to be done for it.
    package var notes: [ServerFeed] = []
    /// Changes that need not be sent any more.
    package var settled: [PendingSubscription] = []
    /// Addresses that are not taken, and why; one line each, with nothing secret in it.
    package var refused: [String] = []
    /// How many more were refused than are told of.
    package var refusedInAll = 0

    private var removed: [ShowID: String] = [:]

    /// More shows than this are not made by one server's word: ten times as many as people have who have many.
    package static let mostSubscriptions = 5_000
    /// Refusals that are told of one by one.
    private static let mostTold = 5

    package init(add: [String], remove: [String], book: SubscriptionBook) {
        var had: [String: Bool] = [:]
        var podcastOf: [String: ShowID] = [:]
        for feed in book.server {
            had[feed.url] = feed.subscribed
            if let podcast = feed.podcast { podcastOf[feed.url] = podcast }
        }
        let shows = Shows(book, podcastOf)
        var has = had
        for url in remove { has[url] = false }
        // An address in both lists is one that was removed and is there again.
        for url in add { has[url] = true }

        var room = Self.mostSubscriptions - book.local.count
        var seen: Set<String> = []
        for url in add where seen.insert(url).inserted && had[url] != true {
            let show = shows.show(url)
            let pending = shows.pending(show, url)
            let net = Self.net(pending)
            if net == false, pending.contains(where: { $0.sent == true }) {
                // Our own, sent before it was thought better of.
                notes.append(ServerFeed(url: url, subscribed: true, podcast: show?.podcast))
                continue
            }
            if net == false { settled += pending }
            if let show, shows.isSubscribed(show.podcast) {
                notes.append(ServerFeed(url: url, subscribed: true, podcast: show.podcast))
                continue
            }
            if let reason = Self.objection(to: url) {
                refuse(url, reason)
            } else if room <= 0 {
                refuse(url, "there are \(Self.mostSubscriptions) shows already")
            } else {
                room -= 1
                adds.append(url)
            }
        }
        // Under how many addresses each show is subscribed to there.
        var addresses: [ShowID: Int] = [:]
        if !remove.isEmpty {
            for (url, subscribed) in has where subscribed {
                if let podcast = shows.show(url)?.podcast { addresses[podcast, default: 0] += 1 }
            }
        }
        for url in remove where seen.insert(url).inserted && had[url] != false {
            // Of what was never heard of nothing has to be forgotten.
            let show = shows.show(url)
            guard had[url] != nil || show != nil else { continue }
            let pending = shows.pending(show, url)
            notes.append(ServerFeed(url: url, subscribed: false, podcast: show?.podcast))
            guard let show else { continue }
            if Self.net(pending) == false { settled += pending }
            guard pending.isEmpty, shows.isSubscribed(show.podcast) else { continue }
            // It has another address there, under which it stays.
            let own = has[url] == true ? 1 : 0
            if addresses[show.podcast, default: 0] - own <= 0 { removed[show.podcast] = url }
        }
        notes.removeAll { note in !note.subscribed && note.podcast.map { removed[$0] == note.url } ?? false }
    }

    private static func net(_ pending: [PendingSubscription]) -> Bool? {
        pending.isEmpty ? nil : pending.contains { $0.subscribed }
    }

    private mutating func refuse(_ url: String, _ reason: String) {
        refusedInAll += 1
        guard refused.count < Self.mostTold else { return }
        let shown = RedactedURL.text(url).unicodeScalars.prefix(80)
        refused.append("\(String(String.UnicodeScalarView(shown))): \(reason)")
    }

    /// Why an address that another device has subscribed to is not asked here; `nil` when it may be.
    package static func objection(to url: String) -> String? {
        guard let address = FeedAddress(url) else { return "no http or https address that can be fetched" }
        if address.hasUserInfo { return "it has a name and password in it: subscribe to it here by hand" }
        return nil
    }

    private struct Shows {
        struct Show {
            var podcast: ShowID
        }

        let podcastOf: [String: ShowID]
        let subscribed: Set<ShowID>
        let byKey: [String: ShowID]
        let waiting: [ShowID: [PendingSubscription]]
        let waitingByKey: [String: [PendingSubscription]]

        init(_ book: SubscriptionBook, _ podcastOf: [String: ShowID]) {
            self.podcastOf = podcastOf
            subscribed = Set(book.local.map(\.podcast))
            byKey = Dictionary(
                book.local.map { (Shows.key($0.url), $0.podcast) }, uniquingKeysWith: { first, _ in first })
            waiting = Dictionary(grouping: book.pending, by: \.podcast)
            waitingByKey = Dictionary(grouping: book.pending) { Shows.key($0.url) }
        }

        static func key(_ url: String) -> String { FeedAddress(url)?.key ?? url }

        func isSubscribed(_ podcast: ShowID) -> Bool { subscribed.contains(podcast) }

        func show(_ url: String) -> Show? {
            if let known = podcastOf[url], subscribed.contains(known) { return Show(podcast: known) }
            let podcast = byKey[Shows.key(url)] ?? podcastOf[url] ?? waitingByKey[Shows.key(url)]?.first?.podcast
            return podcast.map(Show.init)
        }

        func pending(_ show: Show?, _ url: String) -> [PendingSubscription] {
            let ofShow = show.flatMap { waiting[$0.podcast] } ?? []
            let ofAddress = waitingByKey[Shows.key(url)] ?? []
            return ofShow + ofAddress.filter { !ofShow.contains($0) }
        }
    }
}

/// What is sent of the subscriptions that wait.
package struct SubscriptionUpload: Sendable, Equatable {
    package var changes: [PendingSubscription]
    package var add: [String]
    package var remove: [String]

    /// - Parameter book: what both sides have: a show that has gone here is removed there by the address that it has there,
    ///   one that has moved by that which it had here.
    package init(_ changes: [PendingSubscription], book: SubscriptionBook) {
        self.changes = changes
        let local = Set(book.local.lazy.map(\.podcast))
        let added = Set(changes.lazy.filter(\.subscribed).map(\.url))
        // By the address that the server has: a few of many shows.
        let gone = Set(changes.lazy.filter { !$0.subscribed }.map(\.podcast)).subtracting(local)
        var there: [ShowID: [String]] = [:]
        if !gone.isEmpty {
            for feed in book.server where feed.subscribed && !added.contains(feed.url) {
                if let podcast = feed.podcast, gone.contains(podcast) { there[podcast, default: []].append(feed.url) }
            }
        }
        var removed: Set<String> = []
        for change in changes where !change.subscribed {
            let urls = gone.contains(change.podcast) ? there[change.podcast] ?? [] : []
            removed.formUnion(urls)
            if urls.isEmpty { removed.insert(change.url) }
        }
        add = added.sorted()
        remove = removed.subtracting(added).sorted()
    }

    /// What the server has once it has taken this.
    package var feeds: [ServerFeed] {
        changes.filter(\.subscribed).map { ServerFeed(url: $0.url, subscribed: true, podcast: $0.podcast) }
            + remove.map { ServerFeed(url: $0, subscribed: false) }
    }

    /// The halves of one that is too large; `nil` when it cannot be smaller.
    package func halves(_ book: SubscriptionBook) -> (SubscriptionUpload, SubscriptionUpload)? {
        guard changes.count > 1 else { return nil }
        let middle = changes.count / 2
        return (
            SubscriptionUpload(Array(changes[..<middle]), book: book),
            SubscriptionUpload(Array(changes[middle...]), book: book)
        )
    }
}
