internal import Logging
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import TransferCore
internal import TransferEngine

// Refreshing feeds: on request and by schedule, a few at a time and fewer from one host.
extension PodcastService {
    /// Refreshes that wait or run, and who waits for their results.
    struct Refreshes {
        var waiting: [ShowID: [RefreshGroup]] = [:]
        var occasions: [ShowID: PagedFeed.Occasion] = [:]
        /// Shows that are not in the library yet, and wait for their turn in the same queue under numbers below zero.
        var turns: [ShowID: (host: String, continuation: CheckedContinuation<Bool, Never>)] = [:]
        var lastTurn: Int64 = 0
        /// What the dates of shows' episodes say, and until when, as long as the episodes stay as they are.
        var rhythms: [ShowID: (rhythm: ReleaseRhythm, until: Int64)] = [:]
    }

    /// Several refreshes whose results are wanted together.
    final class RefreshGroup {
        private var results: [RefreshResult] = []
        private let count: Int
        private let continuation: CheckedContinuation<[RefreshResult], Never>

        init(_ count: Int, _ continuation: CheckedContinuation<[RefreshResult], Never>) {
            self.count = count
            self.continuation = continuation
            results.reserveCapacity(count)
        }

        func add(_ result: RefreshResult) {
            results.append(result)
            if results.count == count { continuation.resume(returning: results) }
        }
    }

    /// What a person asks for; all shows when `ids` is empty.
    func refresh(_ ids: [ShowID]) async throws -> [RefreshResult] {
        var shows =
            ids.isEmpty
            ? try library.refreshSubjects() : try Set(ids).compactMap { try library.refreshSubject(of: $0) }
        var skipped: [RefreshResult] = []
        if ids.isEmpty {
            // Who has died of a show twice asks for it when it is named.
            shows.removeAll { show in
                guard let reason = reasonToSkip(show) else { return false }
                skipped.append(RefreshResult(name: show.name, added: 0, error: reason))
                return true
            }
        }
        // Old pages are fetched again only for shows that were named.
        let results = await refresh(shows, ids.isEmpty ? .schedule : .request)
        return (results + skipped).sorted { $0.name < $1.name }
    }

    /// Refreshes shows as soon as it may be; one that waits or runs already is not refreshed twice.
    ///
    /// - Returns: the results, in any order, when all are written down.
    func refresh(_ shows: [RefreshSubject], _ occasion: PagedFeed.Occasion) async -> [RefreshResult] {
        if shows.isEmpty { return [] }
        return await withCheckedContinuation { continuation in
            let group = RefreshGroup(shows.count, continuation)
            enqueue(shows) { show, host in
                let blocked = feeds.withQueue { queue in
                    queue.contains(show.id) ? nil : queue.blockedUntil(host: host, now: now())
                }
                if let blocked {
                    let error =
                        "\(host) has asked to be left alone for \(blocked - now()) s more; it is asked again after that"
                    group.add(RefreshResult(name: show.name, added: 0, error: error))
                    return false
                }
                refreshes.waiting[show.id, default: []].append(group)
                if refreshes.occasions[show.id] != .request { refreshes.occasions[show.id] = occasion }
                return true
            }
        }
    }

    /// Refreshes what is due. While nobody is connected that is discretionary: it waits for the link and the power.
    func refreshDue() {
        guard allowsDiscretionary || clients.withLock({ !$0.isEmpty }) else { return }
        do {
            let due = try library.refreshSubjects(dueAt: now())
            try putOffSkipped(due)
            let turn = Set(work.turn(of: due.map { WorkItem.refresh($0.id) }, now: now()).map { ShowID($0.id) })
            enqueue(due.filter { turn.contains($0.id) }, isScheduled: true)
        } catch {
            log.error("\(error)")
        }
    }

    /// Puts shows into the queue and begins. Those of one host stand together, so that they share its connections.
    ///
    /// - Parameter filter: whether a show is to be asked for, by its host.
    private func enqueue(
        _ shows: [RefreshSubject], isScheduled: Bool = false,
        where filter: (RefreshSubject, String) -> Bool = { _, _ in true }
    ) {
        var hosts: [String] = []
        var groups: [String: [RefreshSubject]] = [:]
        for show in shows {
            let host = FeedAddress.host(of: show.url)
            if groups[host] == nil { hosts.append(host) }
            groups[host, default: []].append(show)
        }
        let kept = shows.count > Self.fewShows ? documents.kept() : nil
        for host in hosts {
            for show in groups[host] ?? [] where filter(show, host) {
                feeds.enqueue(
                    FeedPump.Job(
                        show, credentials: credentials(of: show.id, show.access),
                        isKept: kept?.contains(show.id) ?? documents.contains(show.id),
                        userAgent: settings(of: show).userAgent, limits: configuration.feedLimits,
                        isScheduled: isScheduled), host: host)
            }
        }
        startRefreshes()
    }

    /// Up to so many documents are looked for one by one, which takes less time than to list all.
    private static let fewShows = 8

    /// When the next refresh is due by itself; `nil` when there is none that could begin.
    func nextRefresh() -> Int64? {
        let (held, isQueueEmpty) = feeds.withQueue { ($0.nextWake(now: now()), $0.isEmpty) }
        guard allowsDiscretionary || clients.withLock({ !$0.isEmpty }), !work.isHeldUp else { return held }
        let due = (try? library.nextRefresh()) ?? nil
        // What is due and waits in the queue needs no timer.
        guard let due, due > now() || isQueueEmpty else { return held }
        return min(due, held ?? .max)
    }

    func startRefreshes() {
        feeds.setWatched(isWatched)
        let (requests, turns) = feeds.start()
        engine.send(requests)
        for id in turns { beginTurn(id) }
    }

    func beginTurn(_ id: ShowID) {
        if let turn = refreshes.turns.removeValue(forKey: id) {
            turn.continuation.resume(returning: true)
        } else {
            refreshNow(id, answer: nil)
        }
    }

    /// Refreshes a show whose turn it is, unless its answer has begun to come already.
    func refreshNow(_ id: ShowID, answer: FeedAnswer?) {
        let occasion = refreshes.occasions.removeValue(forKey: id) ?? .schedule
        if let answer { refreshing[answer.asked.task.id] = answer.asked.task }
        startTask { service in
            let (result, end) = await service.refreshNow(id, occasion, answer)
            service.feeds.withQueue { $0.finish(id, end, now: service.now()) }
            service.work.end([WorkItem.refresh(id)])
            if case .refused = end { service.refuseTurns() }
            service.tell(result, of: id)
            service.startRefreshes()
            service.restIfDone()
        }
    }

    func tell(_ result: RefreshResult, of id: ShowID) {
        for group in refreshes.waiting.removeValue(forKey: id) ?? [] { group.add(result) }
    }

    /// Not after each of a thousand: what is due next is asked of the whole table.
    func restIfDone() {
        guard feeds.isAtRest, feeds.withQueue({ $0.runningCount == 0 }) else { return }
        planUpkeep()
        considerIdle()
    }

    // MARK: One show

    /// An answer that has begun to come.
    struct FeedAnswer {
        var asked: FeedPump.Asked
        var events: AsyncThrowingStream<DataEvent, any Error>
    }

    private func refreshNow(
        _ id: ShowID, _ occasion: PagedFeed.Occasion, _ answer: FeedAnswer?
    ) async -> (RefreshResult, HostQueue.End) {
        var name = answer?.asked.job.show.name ?? "\(id)"
        defer { if let answer { endFeedTask(answer.asked.task.id) } }
        do {
            guard let podcast = try library.podcast(id: id) else {
                return (RefreshResult(name: name, added: 0, error: Self.goneText), .answered)
            }
            name = podcast.name
            // All pages of a show of which nothing has come yet, as when it is subscribed to.
            let occasion = podcast.lastRefresh == nil ? .subscription : occasion
            let task = answer == nil ? beginFeedTask(path: podcast.name) : nil
            defer { if let task { endFeedTask(task) } }
            let found: FeedFetcher.Retrieved
            do {
                if let answer {
                    found = try await fetcher.take(answer.events, to: answer.asked.inquiry, keepingIn: documents)
                } else {
                    let isKept = documents.contains(id)
                    let access = try showAccess(of: id)
                    found = try await fetcher.retrieve(
                        podcast.url, reach: access.reach, credentials: credentials(of: id, access),
                        etag: isKept ? podcast.etag : nil,
                        lastModified: isKept ? podcast.lastModified : nil, userAgent: settings(of: id).userAgent,
                        keepingIn: documents)
                }
            } catch let failure as FetchFailure {
                // That the daemon leaves says nothing of the feed.
                if !sync.isStopping { try failed(podcast, failure, head: nil) }
                return (RefreshResult(name: name, added: 0, error: failure.message), .answered)
            }
            return try await take(found, of: podcast, occasion)
        } catch {
            // The library does not take it, or the show went in between.
            return (RefreshResult(name: name, added: 0, error: "\(error)"), .answered)
        }
    }

    private func take(
        _ found: FeedFetcher.Retrieved, of podcast: Podcast, _ occasion: PagedFeed.Occasion
    ) async throws -> (RefreshResult, HostQueue.End) {
        let record = try library.refreshRecord(of: podcast.id)
        let move = FeedMove(
            chain: found.chain, head: found.head, feed: found.feed, former: record.formerAddresses, now: now())
        var result = RefreshResult(name: podcast.name, added: 0)
        var end = HostQueue.End.answered
        switch move.outcome {
        case .notModified:
            let facts = RefreshFacts(
                head: found.head, updateInterval: record.updateInterval, published: record.published)
            var response = found.response
            response.nextRefresh = configuration.schedule.next(facts, now: now(), random: .random(in: 0..<1))
            let gone = try library.noteUnchanged([UnchangedFeed(podcast: podcast.id, response: response)], now: now())
            if !gone.isEmpty { throw LibraryError.noSuchPodcast(podcast.id) }
        case .fetched:
            guard let first = found.feed else { break }
            let paged = await pages(
                of: first, in: found, occasion, credentials: credentials(of: podcast.id, try showAccess(of: podcast.id))
            )
            let facts = RefreshFacts(head: found.head, feed: first)
            var response = found.response
            response.nextRefresh = configuration.schedule.next(facts, now: now(), random: .random(in: 0..<1))
            response.isWhole = paged.isWhole
            response.updateInterval = first.updateInterval.map(Int64.init)
            async let kept: Void = keepDocumentApart(of: found, for: podcast.id)
            do {
                result.added = try await merge(paged.feed, into: podcast, response)
            } catch LibraryError.noSuchPodcast(let id) {
                await kept
                documents.remove(id)
                throw LibraryError.noSuchPodcast(id)
            }
            await kept
        case .gone, .failed, .backOff:
            if case .backOff(let seconds) = move.outcome { end = .refused(retryAfter: seconds) }
            let failure =
                found.problem ?? FetchFailure(status: found.head.status, message: "the server's answer makes no sense")
            try failed(podcast, failure, head: found.head)
            result.error = failure.message
            return (result, end)
        }
        if let address = move.address { self.move(podcast, to: address, in: found.head.space) }
        if let candidate = move.verify { try await verify(candidate, for: podcast, from: found.head.space) }
        try tidy(podcast.id)
        return (result, end)
    }

    /// Keeps what was fetched as the show's document; the show is none the worse when it cannot be kept.
    nonisolated func keepDocument(of found: FeedFetcher.Retrieved, for podcast: ShowID) {
        guard let document = found.document, let feed = found.feed else { return }
        do {
            try documents.keep(document, feed: feed, redirects: found.chain.hops, of: podcast)
        } catch {
            log.warning("the document of show \(podcast) is not kept: \(error)")
        }
    }

    private func failed(_ podcast: Podcast, _ failure: FetchFailure, head: ResponseHead?) throws {
        let record = try library.refreshRecord(of: podcast.id)
        let facts = RefreshFacts(
            head: head, updateInterval: record.updateInterval, published: record.published,
            failures: record.failures + 1)
        try library.refreshFailed(
            podcast: podcast.id, status: failure.status, error: failure.message,
            next: configuration.schedule.next(facts, now: now(), random: .random(in: 0..<1)), now: now())
        log.warning("refresh of \(podcast.name): \(failure.message)")
    }

    /// While the rows are written.
    @concurrent private nonisolated func keepDocumentApart(
        of found: FeedFetcher.Retrieved, for podcast: ShowID
    ) async { keepDocument(of: found, for: podcast) }

    /// Away from the actor: the rows of a large feed take a second, and others must not wait for it.
    @concurrent private nonisolated func store(
        _ feed: Feed, into podcast: ShowID, _ response: FeedResponse
    ) async throws -> MergeResult {
        let template = settings(of: podcast).nameTemplate ?? configuration.nameTemplate
        return try library.merge(feed: feed, into: podcast, response: response, template: template, now: now())
    }

    /// - Returns: how many episodes are new.
    private func merge(_ feed: Feed, into podcast: Podcast, _ response: FeedResponse) async throws -> Int {
        let result = try await store(feed, into: podcast.id, response)
        refreshes.rhythms[podcast.id] = nil
        broadcastChange(podcast: podcast.id, name: podcast.name)
        let updated = Set(result.updated)
        for episode in Set(tasks.keys).union(openEpisodes()) where updated.contains(episode) {
            if let url = try library.episode(id: episode)?.url { engine.setSource(MediaID(episode), url: url) }
        }
        // Of a show that is fetched for the first time none is new.
        let new = podcast.lastRefresh != nil ? result.inserted : []
        for episode in new { runHook(configuration.onNewEpisode, episode: episode) }
        return result.inserted.count
    }

    /// The further pages of a feed, when the occasion asks for them.
    func pages(
        of feed: Feed, in found: FeedFetcher.Retrieved, _ occasion: PagedFeed.Occasion, credentials: Credentials?
    ) async -> PagedFeed {
        var paged = PagedFeed(feed, from: found.chain.final, for: occasion, limits: configuration.feedLimits)
        var reach = found.head.space
        while let next = paged.next {
            do {
                let page = try await fetcher.retrieve(next, reach: reach, credentials: credentials)
                reach = page.head.space
                if let feed = page.feed {
                    paged.append(feed, from: page.chain.final)
                } else {
                    paged.fail(page.problem?.message ?? "no feed")
                }
            } catch {
                paged.fail("\(error)")
            }
        }
        return paged
    }

    // MARK: Moving

    /// The subscription takes on another address; the one before is remembered.
    private func move(_ podcast: Podcast, to address: String, in space: AddressSpace?) {
        do {
            try library.move(podcast: podcast.id, to: address, space: space, now: now())
            try library.remember(address: podcast.url, of: podcast.id)
            feeds.forgetJob(podcast.id)
            backUpSoon()
            log.info("\(podcast.name) has moved to \(podcast.visible(address))")
        } catch LibraryError.alreadySubscribed(let name) {
            log.warning("\(podcast.name) has moved to the address of '\(name)': it keeps its own")
            try? library.remember(address: address, of: podcast.id)
        } catch {
            log.error("\(error)")
        }
    }

    /// A feed names another address as its new one: believed when the same show is found there.
    private func verify(_ candidate: String, for podcast: Podcast, from reach: AddressSpace?) async throws {
        let credentials = credentials(of: podcast.id, try showAccess(of: podcast.id))
        guard let found = try? await fetcher.retrieve(candidate, reach: reach, credentials: credentials) else { return }
        let known = try library.identities(of: podcast.id)
        let marks = Set(known.flatMap { EpisodeMark.marks(guid: $0.guid, url: $0.url) })
        guard let feed = found.feed, FeedMove.confirms(feed, known: marks, episodes: known.count),
            let address = FeedMove.confirmedAddress(chain: found.chain, head: found.head, from: podcast.url)
        else {
            // One that is there and is another show is not asked again; a failure may pass.
            if found.feed != nil { try library.remember(address: candidate, of: podcast.id) }
            return
        }
        move(podcast, to: address, in: address == found.chain.requested ? found.head.firstSpace : found.head.space)
    }

    private func showAccess(of podcast: ShowID) throws -> ShowAccess {
        guard let access = try library.showAccess(of: podcast) else { throw LibraryError.noSuchPodcast(podcast) }
        return access
    }
}
