internal import Logging
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

// Adding a show to the library, alone or from a list.
extension Subscriptions {
    /// A fetched feed that is about to be stored.
    private struct Arrival: Sendable {
        var feed: Feed
        var response: FeedResponse
        /// The address to fetch from now on.
        var url: String
        /// The most private address space in which that address may be.
        var reach: AddressSpace?
        /// The response, with its document.
        var found: FeedFetcher.Retrieved
    }

    /// Fetches a feed and subscribes to it.
    ///
    /// - Parameters:
    ///   - name: the folder's name; `nil` for the show's title.
    ///   - title: the show's title, for a feed without one.
    ///   - server: the address under which the sync server lists the show.
    ///   - reach: the address space of the catalogue or server that supplied the address; `nil` if a person entered it.
    ///   - onFetch: is called once the feed has been received, before it is stored.
    /// - Throws: `FetchFailure`, `CancellationError`, and the errors of `Library.subscribe`.
    func add(
        _ address: PrivateAddress, name: String? = nil, title: String? = nil, fromServer server: String? = nil,
        reach: AddressSpace? = nil, onFetch: () -> Void = {}
    ) async throws -> MergeResult {
        let isGiven = reach == nil
        var arrival = try await fetch(address, reach: reach)
        if arrival.feed.title?.isEmpty ?? true { arrival.feed.title = title }
        await arrivals.waitForRoom()
        onFetch()
        let result = try await store(arrival, name: name, fromServer: server, given: isGiven ? address.url : nil)
        let id = result.podcast.id
        do {
            // Even if the credentials cannot be stored, the show is in the library.
            defer {
                driver.changed(podcast: id, name: result.podcast.name)
                copies.subscriptionsChanged()
            }
            if let given = address.credentials {
                try library.setHasCredentials(podcast: id, true)
                try credentials.set(given, for: id)
            }
        }
        // Check only the configuration: a new show has no settings of its own.
        if configuration.keep != .all || configuration.autoDownload > 0 {
            try tidier.tidy(id)
        } else {
            tidier.tidied(id)
        }
        log.info("subscribed to \(address.visible) as \(result.podcast.name): \(result.inserted.count) episodes")
        return result
    }

    /// Fetches the feed of a show, which must have playable episodes.
    ///
    /// - Parameter userAgent: the show's own setting; `nil` for the configured one.
    private func fetch(
        _ address: PrivateAddress, reach: AddressSpace?, userAgent: String? = nil
    ) async throws -> Arrival {
        let own =
            address.credentials
            ?? context.netrc.credentials(for: address.url, given: reach == nil ? address.url : nil)
        let found = try await context.fetcher.retrieve(
            .init(url: address.url, reach: reach, credentials: own, userAgent: userAgent),
            keepingIn: refresher.documents)
        if let problem = found.problem { throw problem }
        let shown = address.visible
        guard let first = found.feed else { throw FetchFailure(status: nil, message: "\(shown): no answer") }
        let (feed, response) = try await refresher.pages(
            of: first, in: found, .subscription, credentials: own, userAgent: userAgent)
        guard !feed.items.isEmpty else {
            throw FetchFailure(
                status: found.head.status, message: "\(shown): the feed has no episodes; nothing to subscribe to yet")
        }
        guard feed.items.contains(where: { !$0.enclosures.isEmpty }) else {
            throw FetchFailure(
                status: found.head.status,
                message: "\(shown): none of the feed's \(feed.items.count) items has an audio or video file "
                    + "(an enclosure); look for the show's podcast feed", hasNoMedia: true)
        }
        // After a permanent redirect the new address is stored.
        let move = FeedMove(
            chain: found.chain, head: found.head, isConditional: found.isConditional, feed: first, former: [],
            now: now())
        return Arrival(
            feed: feed, response: response, url: move.address ?? address.url,
            reach: move.address == nil ? found.head.firstSpace : found.head.space, found: found)
    }

    /// Stores a show outside the actor, so that other clients need not wait.
    @concurrent private nonisolated func store(
        _ arrival: Arrival, name: String?, fromServer server: String?, given: String?
    ) async throws -> MergeResult {
        let result = try await arrivals.store(
            ArrivingShow(
                url: arrival.url, feed: arrival.feed, name: name, response: arrival.response, now: now(),
                fromServer: server, givenURL: given, reach: arrival.reach))
        await refresher.storeDocument(of: arrival.found, for: result.podcast.id)
        return result
    }

    /// Replaces the credentials of a subscribed show after checking that they give access to its feed. Merges the
    /// fetched feed.
    func replaceCredentials(of podcast: Podcast, with address: PrivateAddress) async throws -> Reply {
        let task = driver.beginFetch(path: podcast.name)
        defer { driver.finishFetch(task) }
        let arrival = try await fetch(address, reach: nil, userAgent: settings(of: podcast.id).userAgent)
        try library.setHasCredentials(podcast: podcast.id, true)
        try credentials.set(address.credentials, for: podcast.id)
        try library.setAccess(of: podcast.id, url: address.url, reach: arrival.found.head.firstSpace)
        refresher.feeds.removeJob(podcast.id)
        tidier.rhythms[podcast.id] = nil
        let result = try await library.mergeConcurrently(
            arrival.feed, into: podcast.id, arrival.response, template: nameTemplate(of: podcast.id), now: now())
        await refresher.storeDocument(of: arrival.found, for: podcast.id)
        driver.changed(podcast: podcast.id, name: podcast.name)
        copies.subscriptionsChanged()
        log.info("replaced the credentials of \(podcast.name)")
        return .subscribed(name: podcast.name, episodes: result.podcast.episodes, skipped: result.skipped)
    }
}
