import Foundation
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFeed
@testable import PodcastLibrary

/// Tests of the library's queue of changes for the sync server, and of the changes received from that server.
@Suite struct LibrarySyncTests {
    private var (folder, library) = makeLibrary()
    private let now = Int64(Date().timeIntervalSince1970)

    private func logIn(_ kind: SyncAccount.Kind = .gpodder) throws { try library.beginSync(account(kind), now: now) }

    private func account(_ kind: SyncAccount.Kind = .gpodder, device: String = "d") -> SyncAccount {
        SyncAccount(url: "https://s.example", user: "u", device: device, kind: kind)
    }

    private func show(_ url: String = feedURL) throws -> (podcast: ShowID, episodes: [EpisodeID]) {
        let result = try library.subscribe(
            [
                makeItem("One", guid: "guid-1", url: "https://m.example/1.mp3", duration: 100),
                makeItem("Two", guid: "guid-2", url: "https://m.example/2.mp3?t=1"),
            ], url: url)
        // `inserted` begins with the oldest item, which is the last one in the document.
        return (result.podcast.id, result.inserted.reversed())
    }

    private func action(
        _ position: Int, at time: Int64, url: String = "https://m.example/1.mp3", guid: String? = "guid-1",
        total: Int? = 100, podcast: String = feedURL
    ) -> SyncAction {
        SyncAction(
            podcast: podcast, episode: url, guid: guid, kind: .play, device: "other", timestamp: time, started: 0,
            position: position, total: total)
    }

    /// Returns actions on episodes that are not in the library.
    private func many(_ count: Int, at time: Int64, from first: Int = 0) -> [SyncAction] {
        (first..<first + count).map {
            action(5, at: time, url: "https://m.example/x\($0).mp3", guid: nil, podcast: "https://none.example/")
        }
    }

    @discardableResult
    private func take(_ actions: SyncAction..., server: Int64? = nil, latestOnly: Bool = false) throws -> (
        changed: [EpisodeID], future: Int
    ) {
        try take(actions, server: server, latestOnly: latestOnly)
    }

    @discardableResult
    private func take(_ actions: [SyncAction], server: Int64? = nil, latestOnly: Bool = false) throws -> (
        changed: [EpisodeID], future: Int
    ) {
        try library.apply(
            actions, clock: SyncClock(local: now, server: server ?? now), window: SyncWindow(last: now, lastFull: now),
            keepsLatestOnly: latestOnly, now: now)
    }

    private func pending() throws -> [SyncAction] {
        try library.pendingActions(clock: SyncClock(local: now, server: now), device: "d", limit: 100).map(\.action)
    }

    private func sendAll() throws {
        let waiting = try library.pendingActions(clock: SyncClock(local: now, server: now), device: "d", limit: 100)
        try library.actionsSent(waiting)
        let book = try library.subscriptionBook()
        try library.recordServerState(
            book.pending.map { ServerFeed(url: $0.url, subscribed: $0.subscribed, podcast: $0.podcast) },
            settled: book.pending)
    }

    // MARK: The queue

    @Test func nothingIsQueuedWithoutAnAccount() throws {
        let (_, episodes) = try show()
        try library.setPlayed(episode: episodes[0], true, now: now)
        let queue = try library.syncQueue()
        #expect(queue.subscriptions == 0 && queue.actions == 0 && queue.oldest == nil)
    }

    @Test func everythingIsQueuedAfterALogin() throws {
        let (_, episodes) = try show()
        try library.setPosition(episode: episodes[0], 12, now: now)
        let before = try library.syncQueue()
        #expect(before.subscriptions == 0 && before.actions == 0 && before.oldest == nil)
        try logIn()
        let queue = try library.syncQueue()
        #expect(queue.subscriptions == 1 && queue.actions == 1)
        #expect(try library.subscriptionBook().pending.map(\.url) == [feedURL])
    }

    @Test func aSecondLoginToTheSameAccountForgetsNothing() throws {
        let (_, episodes) = try show()
        try logIn()
        try sendAll()
        try library.setPosition(episode: episodes[0], 5, now: now)
        try library.recordSync(error: "no", isStopped: true, next: nil, now: now)
        try logIn()
        #expect(try library.syncAccount()?.isStopped == false)
        #expect(try library.syncAccount()?.error == nil)
        #expect(try library.syncQueue().actions == 1)
        #expect(try library.syncQueue().subscriptions == 0)
    }

    @Test func everyChangeOfASubscriptionIsQueued() throws {
        try logIn()
        let (podcast, _) = try show()
        #expect(try library.subscriptionBook().pending.map(\.subscribed) == [true])
        try sendAll()
        _ = try library.move(podcast: podcast, to: "https://new.example/feed", now: now)
        let moved = try library.subscriptionBook().pending
        #expect(
            Dictionary(uniqueKeysWithValues: moved.map { ($0.url, $0.subscribed) })
                == [feedURL: false, "https://new.example/feed": true])
        try sendAll()
        _ = try library.unsubscribe(podcast: podcast)
        let gone = try library.subscriptionBook().pending
        #expect(gone.map(\.url) == ["https://new.example/feed"])
        #expect(gone.map(\.subscribed) == [false])
        _ = try library.subscribeUnfetched([UnfetchedShow(url: "https://k.example/f", error: "later")], now: now)
        #expect(try library.subscriptionBook().pending.contains { $0.url == "https://k.example/f" && $0.subscribed })
    }

    @Test func aFoundShowAndWhatWasHeardOfItAreQueuedWhenItIsSubscribed() throws {
        try logIn()
        let id = try library.store(found: [FoundShow(title: "Show", url: feedURL)], now: now)[0].podcast
        let item = makeItem("One", guid: "guid-1", url: "https://m.example/1.mp3", duration: 100)
        try library.setPosition(episode: try library.merge([item], into: id).inserted[0], 12, now: now)
        #expect(try library.syncQueue().subscriptions == 0 && library.syncQueue().actions == 0)
        _ = try show()
        #expect(try library.subscriptionBook().pending.map(\.subscribed) == [true])
        #expect(try pending().map(\.position) == [12])
    }

    @Test func whatWasHeardOfAFoundShowIsQueuedWhenItIsSubscribed() throws {
        try logIn()
        let id = try library.store(found: [FoundShow(title: "Show", url: feedURL)], now: now)[0].podcast
        let item = makeItem("One", guid: "guid-1", url: "https://m.example/1.mp3", duration: 100)
        let episodes = try library.merge([item], into: id).inserted
        try library.setPosition(episode: episodes[0], 12, now: now)
        #expect(try library.syncQueue().actions == 0)
        _ = try show()
        #expect(try pending().map(\.position) == [12])
    }

    @Test func aConfirmationKeepsLaterChangesQueued() throws {
        try logIn()
        let (_, episodes) = try show()
        try library.setPosition(episode: episodes[0], 5, now: now)
        let sent = try library.pendingActions(clock: SyncClock(local: now, server: now), device: "d", limit: 9)
        try library.setPosition(episode: episodes[0], 9, now: now)
        try library.actionsSent(sent)
        let left = try pending()
        #expect(left.map(\.position) == [9])
        #expect(try #require(left.first).timestamp > sent[0].action.timestamp)
    }

    @Test func aResentActionIsUnchanged() throws {
        try logIn()
        let (_, episodes) = try show()
        try library.setPlayed(episode: episodes[0], true, now: now)
        let first = try pending()
        let later = try library.pendingActions(
            clock: SyncClock(local: now + 60, server: now + 5_000), device: "d", limit: 9
        ).map(\.action)
        #expect(first == later)
        #expect(first.map(\.position) == [100] && first.map(\.total) == [100])
    }

    @Test func positionAndPlayedAreOneState() throws {
        try logIn()
        let (_, episodes) = try show()
        try library.setPosition(episode: episodes[0], 50, now: now)
        try library.setPlayed(episode: episodes[0], true, now: now)
        #expect(try library.episode(id: episodes[0])?.position == nil)
        try library.setPosition(episode: episodes[0], 50, now: now)
        #expect(try library.episode(id: episodes[0])?.played == false)
        try library.setPosition(episode: episodes[0], 100, now: now)
        #expect(try library.episode(id: episodes[0])?.played == true)
        try library.setPosition(episode: episodes[0], 0, now: now)
        #expect(try library.episode(id: episodes[0])?.played == true, "a player that rewinds has still played it")
    }

    // MARK: Changes from the server

    @Test func receivedStatesAreNotSentBack() throws {
        try logIn()
        let (_, episodes) = try show()
        try sendAll()
        #expect(try take(action(30, at: now)).changed == [episodes[0]])
        #expect(try library.episode(id: episodes[0])?.position == 30)
        #expect(try library.syncQueue().actions == 0)
        try library.setPosition(episode: episodes[0], 31, now: now)
        #expect(try library.syncQueue().actions == 1, "and the queue works again")
    }

    @Test func theLaterOfTwoActionsWinsInAnyOrder() throws {
        try logIn()
        let (_, episodes) = try show()
        for order in [[30, 60], [60, 30]] {
            for position in order { try take(action(position, at: now - 1_000 + Int64(position))) }
            #expect(try library.episode(id: episodes[0])?.position == 60)
        }
    }

    @Test func aPendingStateCompetesWithReceivedOnes() throws {
        try logIn()
        let (_, episodes) = try show()
        try library.setPosition(episode: episodes[0], 20, now: now)
        try take(action(70, at: now - 500))
        #expect(try library.episode(id: episodes[0])?.position == 20)
        #expect(try pending().map(\.position) == [20])
        try take(action(70, at: now + 500))
        #expect(try library.episode(id: episodes[0])?.position == 70)
        #expect(try pending().isEmpty, "a state that has lost is not sent")
    }

    @Test func anOverwrittenActionIsResentIfTheServerKeepsOnlyTheLatest() throws {
        try logIn(.nextcloud)
        let (_, episodes) = try show()
        try library.setPosition(episode: episodes[0], 20, now: now)
        let mine = try pending()
        try sendAll()
        try take(action(70, at: now - 500))
        #expect(try pending().isEmpty)
        try take(action(71, at: now - 400), latestOnly: true)
        #expect(try pending() == mine)
        try sendAll()
        var download = action(0, at: now + 5)
        download.kind = .download
        download.position = nil
        try take(download, latestOnly: true)
        #expect(try pending() == mine, "the server retains the download instead of the position")
    }

    @Test func anActionFromAFutureClockWinsOnce() throws {
        try logIn()
        let (_, episodes) = try show()
        let odd = action(40, at: now + 400 * 86_400)
        #expect(try take(odd).future == 1)
        #expect(try library.episode(id: episodes[0])?.position == 40)
        #expect(try pending().map(\.timestamp) == [now], "other devices get the local time of the action")
        try sendAll()
        try take(action(50, at: now + 2))
        try take(odd)
        #expect(try library.episode(id: episodes[0])?.position == 50)
    }

    @Test func parkedStatesAreBounded() throws {
        try logIn()
        for start in [0, 6_000] { try take(many(6_000, at: now, from: start)) }
        #expect(try library.syncQueue().parked == 10_000)
    }

    @Test func actionsFromFutureClocksAreBounded() throws {
        try logIn()
        let odd = many(10_003, at: now + 400 * 86_400)
        #expect(try take(odd).future == 10_000)
        #expect(try take(odd).future == 0, "those that are not recorded are not applied either")
    }

    // MARK: Logins

    /// A login sends old states. Only listening dates them: neither a feed's edit, which changes the row, nor the
    /// login itself makes them newer than what was heard elsewhere meanwhile.
    @Test func aStateIsAsOldAsTheListeningAtTheFirstLogin() throws {
        let (podcast, episodes) = try show()
        try library.setPosition(episode: episodes[0], 12, now: now)
        _ = try library.merge(
            [makeItem("One, edited", guid: "guid-1", url: "https://m.example/1.mp3", duration: 100)], into: podcast,
            now: now + 5_000)
        #expect(try library.episode(id: episodes[0])?.title == "One, edited")
        try library.beginSync(account(), now: now + 10_000)
        let played = action(100, at: now + 3_000)
        _ = try library.apply(
            [played], clock: SyncClock(local: now + 10_000, server: now + 10_000),
            window: SyncWindow(last: now, lastFull: now), keepsLatestOnly: false, now: now + 10_000)
        #expect(try library.episode(id: episodes[0])?.played == true)
        #expect(try pending().isEmpty)
    }

    @Test(arguments: ["d", "another"])
    func aReceivedStateKeepsItsTimeAtALaterLogin(device: String) throws {
        try logIn()
        let (_, episodes) = try show()
        try take(action(40, at: now - 3_000))
        try take(action(100, at: now - 2_000, url: "https://m.example/2.mp3", guid: "guid-2"))
        #expect(try library.episode(id: episodes[1])?.played == true)
        if device == "d" { try library.removeSyncAccount() }
        try library.beginSync(account(device: device), now: now)
        #expect(try pending().map(\.timestamp) == [now - 3_000, now - 2_000])
    }

    @Test func guidsOutlastAddresses() throws {
        try logIn()
        let (_, episodes) = try show()
        try take(action(10, at: now, url: "https://other.example/x.mp3", guid: "guid-1"))
        try take(action(11, at: now, url: "https://m.example/2.mp3?t=99", guid: nil))
        #expect(try library.episode(id: episodes[0])?.position == 10)
        #expect(try library.episode(id: episodes[1])?.position == 11)
        let other = action(12, at: now, url: "https://m.example/2.mp3?t=100", guid: "guid-3")
        try take(other)
        #expect(try library.syncQueue().parked == 1, "another guid is another episode")
    }

    @Test func statesOfUnknownEpisodesAreStored() throws {
        try logIn()
        try take(action(33, at: now - 5, url: "https://m.example/9.mp3", guid: "guid-9"))
        #expect(try library.syncQueue().parked == 1)
        let (podcast, _) = try show()
        #expect(try library.syncQueue().parked == 1)
        let merged = try library.merge(
            [
                makeItem("One", guid: "guid-1", url: "https://m.example/1.mp3"),
                makeItem("Nine", guid: "guid-9", url: "https://m.example/9-b.mp3"),
            ], into: podcast)
        #expect(try library.episode(id: merged.inserted[0])?.position == 33)
        #expect(try library.syncQueue().parked == 0)
        #expect(try library.syncQueue().actions == 0, "it came from the server")
    }

    /// A state is stored because the server spells the address of the show in its own way. It is applied once that
    /// spelling is known, if the show is subscribed.
    @Test func storedStatesAreAppliedToAllSubscribedShows() throws {
        try logIn()
        try library.unpark(now: now)
        let urls = ["https://one.example/feed", "https://two.example/feed", "https://three.example/feed"]
        let shows = try urls.map { try show($0) }
        for url in urls { try take(action(33, at: now, podcast: url + "?server")) }
        #expect(try library.syncQueue().parked == 3)
        let feeds = zip(urls, shows).map { ServerFeed(url: $0 + "?server", subscribed: true, podcast: $1.podcast) }
        try library.recordServerState(feeds, settled: library.subscriptionBook().pending)
        _ = try library.unsubscribe(podcast: shows[2].podcast)
        try library.unpark(now: now)
        #expect(try shows.prefix(2).map { try library.episode(id: $0.episodes[0])?.position } == [33, 33])
        #expect(try library.syncQueue().parked == 1)
    }

    @Test func theListeningStateReturnsWithTheShow() throws {
        try logIn()
        let (podcast, episodes) = try show()
        try library.setPlayed(episode: episodes[0], true, now: now)
        _ = try library.unsubscribe(podcast: podcast)
        let (_, again) = try show()
        #expect(again != episodes)
        #expect(try library.episode(id: again[0])?.played == true)
        #expect(try pending().count == 1, "it was never sent")
    }

    /// Without a guid the main encoding's address identifies the episode, also if its file is another encoding.
    @Test func theStateOfAnotherEncodingReturnsWithTheShow() throws {
        try logIn()
        var item = makeItem("Three", url: "https://m.example/3.mp3")
        item.alternates = [alternate("audio/opus", "https://m.example/3.opus")]
        let (podcast, _) = try show()
        try library.set(podcast: podcast, key: "prefer", value: "audio/opus")
        let inserted = try library.merge([item], into: podcast).inserted
        let episode = try #require(try library.episode(id: inserted[0]))
        #expect(episode.url == "https://m.example/3.opus")
        try library.setPlayed(episode: episode.id, true, now: now)
        _ = try library.unsubscribe(podcast: podcast)
        let again = try library.subscribe([item]).inserted
        #expect(try library.episode(id: again[0])?.played == true)
        #expect(try library.syncQueue().parked == 0)
    }

    // MARK: Shows removed and added

    @Test func aShowRemovedElsewhereReturnsUnchanged() throws {
        try logIn()
        let (podcast, episodes) = try show()
        try library.renamePodcast(id: podcast, to: "My name")
        try library.setPosition(episode: episodes[0], 44, now: now)
        try sendAll()
        try library.remove(podcast: podcast, fromServer: feedURL, now: now)
        #expect(try library.podcasts().isEmpty)
        #expect(try library.syncQueue().subscriptions == 0)
        #expect(try !library.isEphemeral(podcast: podcast))
        #expect(try library.purgeEphemeral(before: now + 1_000).isEmpty)
        #expect(try library.episode(id: episodes[0]) != nil)
        let restored = try library.restore([feedURL], fromServer: feedURL, now: now)
        #expect(restored?.podcast == podcast && restored?.name == "My name")
        #expect(try library.episode(id: episodes[0])?.position == 44)
        #expect(try library.syncQueue().subscriptions == 0)
        #expect(try library.restore([feedURL], fromServer: feedURL, now: now) == nil)
    }

    @Test func aRemovedShowIsForgottenAfterAWhile() throws {
        try logIn()
        let (podcast, _) = try show()
        try library.remove(podcast: podcast, fromServer: feedURL, now: now)
        try library.pruneRemoved(before: now + 1)
        _ = try library.purgeEphemeral(before: now + 1)
        #expect(try library.podcast(id: podcast) == nil)
    }

    @Test func aLogoutForgetsTheQueueAndNothingElse() throws {
        try logIn()
        let (podcast, episodes) = try show()
        try library.setPlayed(episode: episodes[0], true, now: now)
        try library.removeSyncAccount()
        #expect(try library.syncAccount() == nil)
        #expect(try library.syncQueue() == SyncQueue(subscriptions: 0, actions: 0, parked: 0, oldest: nil, newest: nil))
        #expect(try library.podcast(id: podcast) != nil)
        #expect(try library.episode(id: episodes[0])?.played == true)
    }
}
