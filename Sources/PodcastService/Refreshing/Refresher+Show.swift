internal import Logging
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

// The refresh of one show.
extension Refresher {
    /// A response whose body is still arriving.
    struct StreamingResponse {
        var request: FeedPump.RunningRequest
        var events: AsyncThrowingStream<DataEvent, any Error>
    }

    /// Refreshes a show: reads the response if it has begun, else requests the feed.
    ///
    /// - Returns: the result of the refresh, and the outcome of its request, on which the limits of the host depend.
    func refreshNow(_ id: ShowID, _ answer: StreamingResponse?) async -> (RefreshResult, HostQueue.FetchOutcome) {
        var name = answer?.request.job.show.name ?? "\(id)"
        defer { if let answer { driver.finishFetch(answer.request.task.id) } }
        do {
            guard let podcast = try library.podcast(id: id) else {
                return (RefreshResult(name: name, added: 0, error: Self.goneText), .answered)
            }
            name = podcast.name
            let task = answer == nil ? driver.beginFetch(path: podcast.name) : nil
            defer { if let task { driver.finishFetch(task) } }
            let found: FeedFetcher.Retrieved
            do {
                found = try await retrieve(podcast, answer)
            } catch let failure as FetchFailure {
                // A failure caused by the daemon's exit says nothing about the feed.
                if !isStopping { try failed(podcast, failure, head: nil) }
                return (RefreshResult(name: name, added: 0, error: failure.message), .answered)
            }
            let merged = try await merge(found, of: podcast)
            recordingBackoff.succeeded(at: uptime)
            return merged
        } catch {
            switch error {
            // The show was removed meanwhile, or the daemon exits.
            case LibraryError.noSuchPodcast, is CancellationError: break
            default: recordingFailed(error)
            }
            return (RefreshResult(name: name, added: 0, error: "\(error)"), .answered)
        }
    }

    /// Delays the next scheduled refreshes, since the library could not be read or written. Logs the first of
    /// consecutive failures.
    func recordingFailed(_ error: any Error) {
        guard recordingBackoff.failed(at: uptime) else { return }
        log.error(
            """
            scheduled refreshes wait, because the library could not be read or written: \(error); they continue after \
            a minute, after up to 15 minutes if the library still fails, or at once after podfs refresh
            """)
    }

    private func retrieve(_ podcast: Podcast, _ answer: StreamingResponse?) async throws -> FeedFetcher.Retrieved {
        if let answer {
            let asked = answer.request.job.request
            let found = try await context.fetcher.receive(answer.events, to: asked, keepingIn: documents)
            // If the server sent a delta that cannot be used, request the whole document at once.
            guard found.head.status == 226, found.feed == nil, asked.deltaBase != nil else {
                return found
            }
            log.warning("\(podcast.name): the server answered 226 without a usable part of the feed")
        }
        guard let show = try library.refreshSubject(of: podcast.id, evenFound: true) else {
            throw LibraryError.noSuchPodcast(podcast.id)
        }
        var asked = feedRequest(for: show)
        asked.acceptsDelta = false
        return try await context.fetcher.retrieve(asked, keepingIn: documents)
    }

    private func merge(
        _ found: FeedFetcher.Retrieved, of podcast: Podcast
    ) async throws -> (RefreshResult, HostQueue.FetchOutcome) {
        answered(podcast.url)
        let record = try library.refreshRecord(of: podcast.id)
        let move = FeedMove(
            chain: found.chain, head: found.head, isConditional: found.isConditional, feed: found.feed,
            former: record.formerAddresses, now: now())
        var result = RefreshResult(name: podcast.name, added: 0)
        var outcome = HostQueue.FetchOutcome.answered
        switch move.outcome {
        case .notModified:
            var response = found.response
            response.nextRefresh = nextRefresh(RefreshFacts(head: found.head, record))
            let gone = try library.recordUnchanged([(podcast: podcast.id, response: response)], now: now())
            if !gone.isEmpty { throw LibraryError.noSuchPodcast(podcast.id) }
            announceTroubles()
        case .fetched:
            guard let first = found.feed else { break }
            if found.head.status == 226 {
                var response = found.response
                response.nextRefresh = nextRefresh(RefreshFacts(head: found.head, record))
                result.added = try await merge(first, into: podcast, response)
                break
            }
            // For a show that was never fetched, fetch all pages, as after subscribing. The occasion is read only now,
            // since a person may have named the show while the response was being received.
            let occasion: PagedFeed.Occasion =
                podcast.lastRefresh == nil ? .subscription : occasions[podcast.id] ?? .schedule
            let (feed, response) = try await pages(
                of: first, in: found, occasion, credentials: credentials(of: podcast.id, showAccess(of: podcast.id)),
                userAgent: settings(of: podcast.id).userAgent)
            // Concurrently with inserting the rows.
            async let kept: Void = storeDocument(of: found, for: podcast.id)
            do {
                result.added = try await merge(feed, into: podcast, response)
            } catch LibraryError.noSuchPodcast(let id) {
                await kept
                documents.remove(id)
                throw LibraryError.noSuchPodcast(id)
            }
            await kept
        case .gone, .failed, .backOff:
            if case .backOff(let pause) = move.outcome { outcome = .refused(retryAfter: pause) }
            var failure =
                found.problem ?? FetchFailure(status: found.head.status, message: "the server's answer is malformed")
            if move.outcome == .gone { failure.message = Self.endText }
            try failed(podcast, failure, head: found.head)
            result.error = failure.message
            return (result, outcome)
        }
        if let address = move.address { self.move(podcast, to: address, in: found.head.space) }
        if let candidate = move.verify { try await verify(candidate, for: podcast, from: found.head.space) }
        try tidier.tidy(podcast.id)
        return (result, outcome)
    }

    /// The message for a feed that is permanently gone, with the consequences.
    private static let endText =
        "the feed has ended (the server answered 410): its episodes stay, and podfs fetches it again only when "
        + "podfs refresh asks for it"

    /// Stores the fetched document of a show, outside the actor. A failure is logged and does not fail the refresh.
    @concurrent nonisolated func storeDocument(of found: FeedFetcher.Retrieved, for podcast: ShowID) async {
        guard let document = found.document, let feed = found.feed else { return }
        do {
            try documents.store(document, feed: feed, redirects: found.chain, of: podcast)
        } catch {
            log.warning("the document of show \(podcast) was not stored: \(error)")
        }
    }

    private func failed(_ podcast: Podcast, _ failure: FetchFailure, head: ResponseHead?) throws {
        let record = try library.refreshRecord(of: podcast.id)
        var facts = RefreshFacts(head: head, record)
        facts.failures = record.failures + 1
        let isOffline = try failure.sign == .unreachable && !isOnline(beside: podcast.url)
        let trouble = try library.refreshFailed(
            podcast: podcast.id, status: failure.status, isGone: failure.sign == .ended,
            sign: isOffline ? .failed : failure.sign, error: failure.message, next: nextRefresh(facts), now: now())
        recordingBackoff.succeeded(at: uptime)
        log.warning("refresh of \(podcast.name): \(failure.message)")
        if let trouble { try announce(trouble, of: podcast.id) }
        announceTroubles()
    }

    /// Merges a feed into its show in the library, sends changed addresses to the engine, and runs the hook for each
    /// new episode.
    ///
    /// - Returns: the number of added episodes.
    private func merge(_ feed: Feed, into podcast: Podcast, _ response: FeedResponse) async throws -> Int {
        let result = try await library.mergeConcurrently(
            feed, into: podcast.id, response, template: nameTemplate(of: podcast.id), now: now())
        tidier.rhythms[podcast.id] = nil
        announceTroubles()
        driver.changed(podcast: podcast.id, name: podcast.name)
        let open = driver.clients.openEpisodes
        for file in try library.files(of: result.updated)
        where driver.core.tasks.downloads[MediaID(file)] != nil || open.contains(file) {
            let locations = try locations(of: file)
            // An alternate that the feed no longer offers keeps its last addresses.
            if !locations.isEmpty { engine.setLocations(MediaID(file), locations) }
        }
        // At the first fetch of a show no episode is treated as new, so no hook runs.
        let new = podcast.lastRefresh != nil ? result.inserted : []
        for (index, episode) in new.enumerated() {
            driver.runHook(configuration.onNewEpisode, episode: episode)
            if index % 128 == 127 { await Task.yield() }
        }
        return result.inserted.count
    }

    /// Fetches the further pages of a feed if the occasion requires them. If a page cannot be fetched, returns the
    /// pages before it. But throws `CancellationError` if the task was cancelled, since later refreshes would not fetch
    /// the missing pages.
    ///
    /// - Returns: the pages as one feed, and the facts to record with it.
    func pages(
        of feed: Feed, in found: FeedFetcher.Retrieved, _ occasion: PagedFeed.Occasion, credentials: Credentials?,
        userAgent: String?
    ) async throws -> (feed: Feed, response: FeedResponse) {
        var paged = PagedFeed(
            feed, size: found.size, from: found.chain.final, for: occasion, limits: configuration.feedLimits)
        var fetcher = context.fetcher
        var reach = found.head.space
        while let next = paged.next {
            do {
                fetcher.limits.bytes = paged.room
                let page = try await fetcher.retrieve(
                    FeedFetcher.FeedRequest(url: next, reach: reach, credentials: credentials, userAgent: userAgent))
                reach = page.head.space
                if let feed = page.feed {
                    paged.append(feed, size: page.size, from: page.chain.final)
                } else {
                    paged.fail(page.problem?.message ?? "no feed")
                }
            } catch let failure as FetchFailure {
                paged.fail(failure.message)
            }
        }
        if let problem = paged.problem { log.warning("\(PrivateAddress(found.chain.requested).visible): \(problem)") }
        var response = found.response
        response.nextRefresh = nextRefresh(RefreshFacts(head: found.head, feed: feed))
        response.isWhole = paged.feed.isWhole
        response.updateInterval = feed.updateInterval.map(Int64.init)
        return (paged.feed, response)
    }

    /// Refreshes the show of an episode whose address the server refused, because the feed may have a newer address.
    /// Then passes the episode's addresses to the engine. Runs in the background.
    func renewAddress(of episode: EpisodeID) {
        driver.startWork { [self] in
            var locations: [DownloadSource.Location] = []
            defer { engine.renew(MediaID(episode), locations) }
            if let row = try library.episode(id: episode),
                let show = try library.refreshSubject(of: row.podcast, evenFound: true)
            {
                _ = await refresh([show], .schedule)
                locations = try self.locations(of: episode)
            }
        }
    }

    private func locations(of episode: EpisodeID) throws -> [DownloadSource.Location] {
        try library.mediaSources(of: episode).map(DownloadSource.Location.init)
    }

    // MARK: Moving

    /// Changes the subscription's address and stores the former one. If another show is subscribed at the new address,
    /// the subscription stays unchanged, and the new address is stored among the former ones.
    private func move(_ podcast: Podcast, to address: String, in space: AddressSpace?) {
        do {
            let unreferenced = try library.move(podcast: podcast.id, to: address, space: space, now: now())
            for rendition in unreferenced {
                engine.discard(MediaID(rendition.episode))
                engine.cache.remove(rendition.file)
            }
            driver.report(unreferenced.map { .ended(MediaID($0.episode)) })
            try library.store(address: podcast.url, of: podcast.id)
            feeds.removeJob(podcast.id)
            copies.subscriptionsChanged()
            log.info("\(podcast.name) has moved to \(podcast.visible(address))")
        } catch LibraryError.alreadySubscribed(let name) {
            log.warning(
                """
                \(podcast.name) has moved to the address of '\(name)', which is already subscribed: the address of \
                \(podcast.name) stays unchanged
                """)
            try? library.store(address: address, of: podcast.id)
        } catch {
            log.error("\(error)")
        }
    }

    /// Verifies a new address announced by a feed, and moves the subscription there if the address has the same show.
    private func verify(_ candidate: String, for podcast: Podcast, from reach: AddressSpace?) async throws {
        let credentials = credentials(of: podcast.id, try showAccess(of: podcast.id))
        guard
            let found = try? await context.fetcher.retrieve(
                FeedFetcher.FeedRequest(
                    url: candidate, reach: reach, credentials: credentials,
                    userAgent: settings(of: podcast.id).userAgent
                ))
        else { return }
        let known = try library.identities(of: podcast.id)
        let marks = Set(known.flatMap { FeedMove.marks(guid: $0.guid, url: $0.url) })
        guard let feed = found.feed, FeedMove.confirms(feed, known: marks, episodes: known.count),
            let address = FeedMove.confirmedAddress(chain: found.chain, head: found.head, from: podcast.url)
        else {
            // An address with a different show is stored and not tried again; a failed fetch is retried later.
            if found.feed != nil { try library.store(address: candidate, of: podcast.id) }
            return
        }
        move(podcast, to: address, in: address == found.chain.requested ? found.head.firstSpace : found.head.space)
    }

    private func showAccess(of podcast: ShowID) throws -> ShowAccess {
        guard let access = try library.showAccess(of: podcast) else { throw LibraryError.noSuchPodcast(podcast) }
        return access
    }
}

// Feeds that may never return.
extension Refresher {
    /// Runs the hook for each show whose trouble is due to be announced, once for each trouble. Call after the result
    /// of a refresh was recorded.
    func announceTroubles() {
        attempt {
            for (id, trouble) in try library.announceTroubles(now: now()) { try announce(trouble, of: id) }
        }
    }

    private func announce(_ trouble: FeedTrouble, of id: ShowID) throws {
        guard let show = try library.podcast(id: id) else { return }
        let unsaved = try library.unsavedEpisodes(of: id)
        log.warning("\(show.name): its feed may never return (\(trouble.rawValue))")
        driver.runHook(
            configuration.onFeedTrouble,
            [
                "PODFS_SHOW": show.name, "PODFS_TITLE": show.title, "PODFS_URL": show.visibleURL,
                "PODFS_TROUBLE": trouble.rawValue, "PODFS_ERROR": show.error ?? "",
                "PODFS_UNSAVED": "\(unsaved.count)", "PODFS_UNSAVED_BYTES": "\(unsaved.bytes)",
            ])
        driver.changed(podcast: id, name: show.name)
    }
}

extension Library {
    /// Merges a feed outside the caller's actor: inserting the rows of a large feed takes a second, and other clients
    /// must not wait. `now` is in seconds since 1970.
    @concurrent func mergeConcurrently(
        _ feed: Feed, into podcast: ShowID, _ response: FeedResponse, template: NameTemplate, now: Int64
    ) async throws -> MergeResult {
        try merge(feed: feed, into: podcast, response: response, template: template, now: now)
    }
}
