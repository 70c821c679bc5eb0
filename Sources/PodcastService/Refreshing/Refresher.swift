internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// The refreshes of feeds, on request and by schedule, with limits on concurrent fetches in total and per host.
@ServiceActor
final class Refresher: ServicePart {
    nonisolated let driver: CoreDriver
    let tidier: Tidier
    let copies: LibraryCopies
    let documents: FeedDocuments
    /// Fetches the feeds of known shows.
    let feeds: FeedPump
    /// The callers that wait for the results of queued or running refreshes.
    private var waiting: [ShowID: [AsyncStream<RefreshResult>.Continuation]] = [:]
    /// The reason for each queued or running refresh; `.schedule` if absent. A person's request that arrives during a
    /// refresh still counts if the feed has not been parsed yet.
    var occasions: [ShowID: PagedFeed.Occasion] = [:]
    /// Imports that wait in the queue of `feeds` for their turn. Their shows are not in the library yet, so they are
    /// queued under negative identifiers.
    private var slots: [ShowID: (host: String, continuation: CheckedContinuation<Bool, Never>)] = [:]
    /// The identifier of the last import. Identifiers of imports count down from -1.
    private var lastSlot: ShowID = 0
    /// The delay of scheduled refreshes while their results cannot be recorded.
    var recordingBackoff = RecordingBackoff()
    /// The hosts that have answered requests for feeds, also the previous daemon's; `nil` until they are needed.
    private var answering: AnsweringHosts?
    /// Whether the daemon is exiting. A fetch that fails then says nothing about the feed.
    private(set) var isStopping = false

    init(_ tidier: Tidier, _ driver: CoreDriver, _ copies: LibraryCopies) {
        self.driver = driver
        self.tidier = tidier
        self.copies = copies
        documents = FeedDocuments(folder: driver.context.configuration.paths.feeds)
        feeds = FeedPump(
            queue: HostQueue(total: driver.context.configuration.refreshConnections), context: driver.context)
    }

    func start() throws {
        documents.removeAll(but: try library.podcastIDs())
        startTask { [weak self, wakes = feeds.wakes] in for await _ in wakes { self?.drainFeedReports() } }
    }

    func stop() {
        isStopping = true
        drainFeedReports()
    }

    /// Whether feeds are being fetched, or fetched ones have not been processed.
    var isFetching: Bool { !feeds.isIdle || feeds.withQueue { $0.runningCount > 0 } }

    /// Records that the host of a feed has answered.
    func answered(_ feed: String) { answering?.answered(WebAddress.host(of: feed), at: now()) }

    /// Whether this computer has a network, although the host of a feed cannot be reached.
    func isOnline(beside feed: String) throws -> Bool {
        if answering == nil {
            var hosts = AnsweringHosts()
            let refreshed = try library.refreshSubjects().compactMap { show in show.lastRefresh.map { ($0, show.url) } }
            for (time, url) in refreshed.sorted(by: <) { hosts.answered(WebAddress.host(of: url), at: time) }
            answering = hosts
        }
        return answering?.hasOther(than: WebAddress.host(of: feed), at: now()) ?? false
    }

    /// Refreshes shows at a person's request; all shows if `ids` is empty.
    func refresh(_ ids: [ShowID]) async throws -> [RefreshResult] {
        recordingBackoff.reset()
        var shows =
            ids.isEmpty
            ? try library.refreshSubjects() : try Set(ids).compactMap { try library.refreshSubject(of: $0) }
        var skipped: [RefreshResult] = []
        if ids.isEmpty {
            // A show that has crashed the daemon twice is refreshed only when it is named.
            shows.removeAll { show in
                guard let entry = context.work.record.skipped(.refresh(show.id), now: now()) else { return false }
                skipped.append(RefreshResult(name: show.name, added: 0, error: entry.explanation))
                return true
            }
        }
        // The older pages of a paged feed are fetched only for shows that were named.
        let results = await refresh(shows, ids.isEmpty ? .schedule : .request)
        return (results + skipped).sorted { $0.name < $1.name }
    }

    /// Refreshes shows as soon as the limits allow. A show that is queued or running is not refreshed twice. Any other
    /// show fails at once if its host has asked for a pause.
    ///
    /// - Returns: the results in any order, once all are recorded.
    func refresh(_ shows: [RefreshSubject], _ occasion: PagedFeed.Occasion) async -> [RefreshResult] {
        if shows.isEmpty { return [] }
        let (results, add) = AsyncStream<RefreshResult>.makeStream()
        enqueue(shows) { show, host in
            let blocked = feeds.withQueue { queue in
                queue.contains(show.id) ? nil : queue.blockedUntil(host: host, now: uptime)
            }
            if let blocked {
                let rest = (blocked - uptime).seconds
                let error = "\(host) accepts no requests for \(rest) s more; refresh again after that"
                add.yield(RefreshResult(name: show.name, added: 0, error: error))
                return false
            }
            waiting[show.id, default: []].append(add)
            if occasions[show.id] != .request { occasions[show.id] = occasion }
            return true
        }
        var found: [RefreshResult] = []
        for await result in results {
            found.append(result)
            if found.count == shows.count { break }
        }
        return found
    }

    /// Refreshes the shows that are due. While no client is connected, this is discretionary work: it waits for
    /// suitable network and power conditions.
    func refreshDue() {
        guard driver.core.mayRunByItself else { return }
        // Nothing new is queued, but the pause of a host with queued feeds may have ended.
        if recordingBackoff.isWaiting(at: uptime) { return startRefreshes() }
        do {
            let due = try library.refreshSubjects(dueAt: now())
            // Refreshes that are being skipped are postponed, so that upkeep does not select them again at once.
            for show in due {
                guard let until = context.work.record.skippedUntil(.refresh(show.id), now: now()) else { continue }
                try library.setNextRefresh(podcast: show.id, until)
            }
            let turn = Set(
                context.work.record.turn(of: due.map { WorkItem.refresh($0.id) }, now: now()).map { ShowID($0.id) })
            enqueue(due.filter { turn.contains($0.id) }, isScheduled: true)
        } catch {
            recordingFailed(error)
        }
    }

    /// Queues shows and starts fetching. Shows of one host are adjacent, so that they share its connections.
    ///
    /// - Parameter filter: returns whether to fetch a show, given its host.
    private func enqueue(
        _ shows: [RefreshSubject], isScheduled: Bool = false,
        where filter: (RefreshSubject, String) -> Bool = { _, _ in true }
    ) {
        for (host, shows) in Dictionary(grouping: shows, by: { WebAddress.host(of: $0.url) }) {
            for show in shows where filter(show, host) {
                feeds.enqueue(
                    FeedPump.Job(show: show, request: feedRequest(for: show), isScheduled: isScheduled), host: host)
            }
        }
        startRefreshes()
    }

    /// Returns the request for a show's feed. Without a stored document it has no validators, so that the server sends
    /// the whole feed.
    func feedRequest(for show: RefreshSubject) -> FeedFetcher.FeedRequest {
        let document = documents.received(show.id)
        return FeedFetcher.FeedRequest(
            url: show.url, reach: show.access.reach, credentials: credentials(of: show.id, show.access),
            etag: document == nil ? nil : show.etag, lastModified: document == nil ? nil : show.lastModified,
            userAgent: settings(of: show).userAgent, acceptsDelta: acceptsDelta(show, document: document))
    }

    /// Returns whether the server may send a delta against the stored document: only the new items (RFC 3229). A delta
    /// does not show that an episode has left the feed. Therefore the whole document is requested after a week, and
    /// always if such episodes are to be removed.
    private func acceptsDelta(_ show: RefreshSubject, document received: Int64?) -> Bool {
        guard let received, (received...received + Self.wholeInterval.seconds).contains(now()) else { return false }
        return (settings(of: show).keep ?? configuration.keep) != .listed
    }

    /// Maximum age of a document for which a delta is requested.
    private static let wholeInterval = Duration.seconds(7 * 86_400)

    /// The time at which the next refresh may start: a show is due and `recordingBackoff` has ended, or the pause of a
    /// host with queued feeds ends. `nil` if there is no such time.
    var next: WallTime? {
        let now = moment
        let (wake, isQueueEmpty) = feeds.withQueue { ($0.nextWake(now: now.uptime), $0.isEmpty) }
        let held = wake.map { now.wall + ($0 - now.uptime) }
        guard driver.core.mayRunByItself, !context.work.record.mayDelayDueWork else { return held }
        let due = (try? library.nextRefresh()) ?? nil
        // A due show that is already queued needs no timer.
        guard let due = due.map({ WallTime.seconds($0) }), due > now.wall || isQueueEmpty else { return held }
        let start = max(due, recordingBackoff.until.map { now.wall + ($0 - now.uptime) } ?? due)
        return min(start, held ?? start)
    }

    func startRefreshes() {
        feeds.setWatched(driver.clients.isWatched)
        let (requests, slots) = feeds.start()
        engine.send(requests)
        for id in slots { beginSlot(id) }
    }

    // MARK: Turns

    /// Waits until a feed of this host may be fetched, under the same limits as refreshes: total and per host.
    ///
    /// - Returns: a number for `releaseSlot`; `nil` if the host has asked for a pause, so that the feed cannot be
    ///   fetched now.
    func acquireSlot(host: String) async -> ShowID? {
        guard feeds.withQueue({ $0.blockedUntil(host: host, now: uptime) }) == nil else { return nil }
        lastSlot = ShowID(lastSlot.rawValue - 1)
        let id = lastSlot
        let isGranted = await withCheckedContinuation { continuation in
            slots[id] = (host, continuation)
            feeds.withQueue { _ = $0.enqueue(id, host: host) }
            startRefreshes()
        }
        return isGranted ? id : nil
    }

    /// Frees the slot that `acquireSlot` has granted.
    ///
    /// - Parameter outcome: the outcome of the fetch. After a refusal, other imports that wait for this host get no
    ///   slot.
    func releaseSlot(_ id: ShowID, _ outcome: HostQueue.FetchOutcome) {
        feeds.withQueue { $0.finish(id, outcome, now: uptime) }
        if case .refused = outcome { refuseSlots() }
        startRefreshes()
        reportIfIdle()
    }

    /// Ends the waits in `acquireSlot` for hosts that have asked for a pause: `acquireSlot` returns `nil`.
    func refuseSlots() {
        for (id, turn) in slots {
            let isRefused = feeds.withQueue { queue in
                guard queue.blockedUntil(host: turn.host, now: uptime) != nil else { return false }
                queue.remove(id)
                return true
            }
            guard isRefused else { continue }
            slots[id] = nil
            turn.continuation.resume(returning: false)
        }
    }

    func beginSlot(_ id: ShowID) {
        if let turn = slots.removeValue(forKey: id) {
            turn.continuation.resume(returning: true)
        } else {
            refreshNow(id, answer: nil)
        }
    }

    /// Refreshes a show whose turn has come. If the pump has already sent the request, handles its response (`answer`).
    func refreshNow(_ id: ShowID, answer: StreamingResponse?) {
        if let answer { driver.report(.updated(answer.request.task)) }
        startTask { [self] in
            let (result, outcome) = await refreshNow(id, answer)
            occasions[id] = nil
            feeds.withQueue { $0.finish(id, outcome, now: uptime) }
            context.work.remove([WorkItem.refresh(id)])
            if case .refused = outcome { refuseSlots() }
            deliver(result, of: id)
            startRefreshes()
            reportIfIdle()
        }
    }

    func deliver(_ result: RefreshResult, of id: ShowID) {
        for caller in waiting.removeValue(forKey: id) ?? [] { caller.yield(result) }
    }

    /// Reports the end of fetching when no feed is being fetched. A report after each show would be expensive: at every
    /// report the core reads the schedule, and the query for the next refresh scans the whole table.
    func reportIfIdle() {
        if !isFetching { driver.report(.fetching(false)) }
    }
}
