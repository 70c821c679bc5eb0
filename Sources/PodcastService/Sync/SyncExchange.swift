internal import Foundation
internal import Glibc
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

/// The exchange that keeps subscriptions and playback states in sync with other devices through a server. The rules are
/// those of podfs-sync(7).
@ServiceActor
final class SyncExchange: ServicePart {
    nonisolated let driver: CoreDriver
    private let refresher: Refresher
    private let subscriptions: Subscriptions
    /// The running exchange.
    private var running: Task<SyncFailure?, Never>?
    /// The clients whose commands wait for the running exchange. When the last of them disconnects, the exchange is
    /// cancelled. The set is empty if the schedule started the exchange, and no disconnect cancels it then.
    private var clients: Set<ClientID> = []
    /// Whether the daemon is exiting. Failures are not recorded then, because they say nothing about the server.
    private var isStopping = false
    /// The delay of the scheduled exchange while its result cannot be recorded.
    private var recordingBackoff = RecordingBackoff()

    init(_ subscriptions: Subscriptions) {
        driver = subscriptions.driver
        refresher = subscriptions.refresher
        self.subscriptions = subscriptions
    }

    func stop() { isStopping = true }

    /// The time for which the rows and files of a show that another device removed are retained.
    private static let removedLifetime = Duration.seconds(7 * 86_400)
    /// If the server reports at most this many removed shows, podfs checks whether they have moved. A larger number
    /// suggests that somebody has emptied the server's list.
    private static let mostMoves = 20

    // MARK: Commands

    func logIn(_ request: SyncLoginRequest) async throws -> Reply {
        let address = try SyncAddress(request.url, allowsHTTP: request.allowsHTTP)
        guard let user = request.user ?? address.user, !user.isEmpty else {
            throw Failure(kind: .usage, message: "a user name is needed for \(address.url): give --user NAME")
        }
        guard let origin = WebAddress.origin(of: address.url) else {
            throw Failure(kind: .usage, message: "'\(address.url)' is not a server's address")
        }
        let known = try library.syncAccount()
        let isSame = known?.url == address.url && known?.user == user
        let device =
            request.device ?? (isSame ? known?.device : nil)
            ?? SyncAddress.device(host: SyncAddress.hostName, random: .random(in: 0 ... .max))
        guard SyncAddress.isDevice(device) else {
            throw Failure(
                kind: .usage, message: "'\(device)' cannot be a device's name: letters, digits, '.', '_' and '-' only")
        }
        let asked = try request.kind.map { text in
            guard let kind = SyncAccount.Kind(rawValue: text) else {
                throw Failure(kind: .usage, message: "'\(text)' is neither gpodder nor nextcloud")
            }
            return kind
        }
        let kinds = (asked ?? address.kind).map { [$0] } ?? SyncAccount.Kind.allCases
        let given = Credentials(user: user, password: request.password, origin: origin)
        let client = SyncClient(engine: engine, credentials: given)
        do {
            let account = try await client.logIn(
                to: SyncAccount(url: address.url, user: user, device: device, kind: .gpodder), kinds: kinds)
            try await client.register(SyncMessages(account: account))
            await finishExchange()
            // Store the password first: an account without a password would be refused, while a password without an
            // account is not used.
            try credentials.setSync(given)
            try library.beginSync(account, now: now())
            recordingBackoff.reset()
            log.info("sync: logged in to \(address.url) as device \(device) (\(account.kind.rawValue))")
        } catch let failure as SyncFailure {
            let advice =
                failure.code == .unavailable
                ? "; check the address and the network, or try again later: nothing was changed" : ""
            throw Failure(kind: failure.code == .refused ? .refused : .failed, message: failure.message + advice)
        }
        return .sync(try status())
    }

    func logOut() async throws -> Reply {
        await finishExchange()
        try library.removeSyncAccount()
        try credentials.setSync(nil)
        return .done
    }

    /// Exchanges with the server now, regardless of the schedule.
    ///
    /// - Parameter despiteHold: whether to ignore a pause that the server has asked for.
    func run(despiteHold: Bool, for client: ClientConnection) async throws -> Reply {
        guard let account = try library.syncAccount() else { throw Self.noAccount }
        if !despiteHold, let until = account.heldUntil, until > now() {
            throw Failure(
                message:
                    "\(WebAddress.host(of: account.url)) accepts no requests for \(until - now()) s more; the "
                    + "next exchange follows then. To run it now: podfs sync run --now")
        }
        // Wait for a running exchange, then start another one: the running one may have missed the person's last
        // change.
        _ = await running?.value
        if let failure = await runSync(for: client.id) {
            throw Failure(kind: failure.code == .refused ? .refused : .failed, message: failure.message)
        }
        return .sync(try status())
    }

    private static let noAccount = Failure(message: "there is no sync server: podfs sync login URL")

    func status() throws -> SyncStatus {
        guard let account = try library.syncAccount() else { return SyncStatus() }
        let queue = try library.syncQueue()
        var status = SyncStatus()
        status.server = account.url
        status.kind = account.kind.rawValue
        status.user = account.user
        status.device = account.device
        status.state =
            running != nil
            ? .running : account.isStopped ? .stopped : account.error != nil ? .failed : .idle
        status.error = account.error
        status.lastSync = account.lastSync
        status.nextSync = account.isStopped ? nil : next
        status.waitingSubscriptions = queue.subscriptions
        status.waitingActions = queue.actions
        status.parkedActions = queue.parked
        return status
    }

    // MARK: The schedule

    /// The time of the next scheduled exchange, in seconds since 1970; `nil` if there is none.
    var next: Int64? {
        guard driver.core.mayRunByItself, running == nil,
            let account = try? library.syncAccount(), !account.isStopped, let next = account.nextSync
        else { return nil }
        let skipped = context.work.record.skippedUntil(WorkItem.sync, now: now())
        // Other unattended work may have to finish first (`WorkRecord.turn`). Once it has finished, upkeep reads this
        // property again.
        guard skipped != nil || !context.work.record.turn(of: [.sync], now: now()).isEmpty else { return nil }
        // Rounded up, so that the backoff has ended when the exchange starts.
        let delayed = recordingBackoff.until.map { now() + (max(.zero, $0 - uptime) + .milliseconds(999)).seconds }
        let earliest = max(skipped ?? 0, delayed ?? 0)
        guard let queue = try? library.syncQueue(), let oldest = queue.oldest, let newest = queue.newest else {
            return max(next, earliest)
        }
        let due = configuration.sync.due(oldest: oldest, newest: newest, isComplete: account.error == nil, next: next)
        return max(due, earliest)
    }

    func runIfDue() {
        guard let due = next, due <= now() else { return }
        context.work.begin([.sync])
        startTask { [self] in await runSync() }
    }

    // MARK: One exchange

    /// Cancels the running exchange, and returns when it has ended.
    ///
    /// The exchange aborts its current request, and stops before the next request or show. Its results so far are in
    /// the library, and the next exchange does the rest.
    private func finishExchange() async {
        running?.cancel()
        _ = await running?.value
    }

    /// Cancels the running exchange if a command started it and no other client waits for it.
    func clientDisconnected(_ client: ClientID) {
        if clients.remove(client) != nil, clients.isEmpty { running?.cancel() }
    }

    @discardableResult
    private func runSync(for client: ClientID? = nil) async -> SyncFailure? {
        if let running {
            if let client, !clients.isEmpty { clients.insert(client) }
            return await running.value
        }
        let task = startTask { [self] in
            let failure: SyncFailure?
            do {
                failure = try await exchangeAndRecord()
                recordingBackoff.reset()
            } catch {
                // The library cannot be read or written: delay the next scheduled exchange.
                _ = recordingBackoff.failed(at: uptime)
                log.error("sync: \(error)")
                failure = SyncFailure(code: .unusable, message: "\(error)")
            }
            // Reset this state before the task ends: a command that waits for the task starts a new exchange right
            // afterwards.
            running = nil
            clients = []
            context.work.remove([.sync])
            return failure
        }
        running = task
        clients = Set([client].compactMap(\.self))
        return await driver.underWay { await task.value }
    }

    /// Exchanges with the server, and records the outcome with the time of the next exchange.
    ///
    /// - Returns: the failure of the exchange; `nil` if there is none.
    /// - Throws: the library's errors. The time of the next exchange is then not recorded.
    private func exchangeAndRecord() async throws -> SyncFailure? {
        guard let account = try library.syncAccount() else { return nil }
        do {
            try await exchange(account)
            try library.recordSync(
                error: nil, isStopped: false, next: configuration.sync.next(now: now(), random: .random(in: 0..<1)),
                now: now())
            return nil
        } catch is CancellationError {
            let failure = SyncFailure(
                code: .unavailable, message: "the exchange was cancelled; the next one continues where it stopped")
            let next = configuration.sync.next(now: now(), random: .random(in: 0..<1))
            try library.recordCancelledSync(message: failure.message, next: max(next, account.heldUntil ?? next))
            log.info("sync: \(failure.message)")
            return failure
        } catch var failure as SyncFailure {
            if isStopping { return failure }
            switch failure.code {
            case .unavailable: failure.message += "; it is retried automatically"
            // gpodder.net's response for a device that was deleted there.
            case .missing: failure.message += "; podfs sync login makes this device known to it again"
            case .refused, .rejected, .unusable: break
            }
            let isStopped = failure.code == .refused
            let next = configuration.sync.next(
                now: now(), failures: account.failures + 1, retryAfter: failure.retryAfter,
                random: .random(in: 0..<1))
            try library.recordSync(
                error: failure.message, isStopped: isStopped, next: isStopped ? nil : next,
                heldUntil: failure.retryAfter.map { now() + $0.seconds }, now: now())
            log.warning("sync: \(failure.message)")
            return failure
        }
    }

    private func exchange(_ account: SyncAccount) async throws {
        guard let credentials = credentials.sync, credentials.fit(account.url) else {
            throw SyncFailure(
                code: .refused, message: "the password for \(account.url) is missing; enter it with podfs sync login")
        }
        let run = SyncRun(
            library: library, client: SyncClient(engine: engine, credentials: credentials), account: account, log: log)
        let (merge, timestamp, space) = try await run.fetchSubscriptions()
        let failure = try await apply(merge, from: space)
        // After a failure, keep the old timestamp, so that the server sends the same changes again.
        if failure == nil { try library.recordSubscriptions(since: timestamp) }
        try await run.sendSubscriptions()
        let (changed, clock) = try await run.fetchActions { [driver] in await driver.adjustedNow() }
        driver.report(changed.map { .changedEpisode($0) })
        try await run.sendActions(clock)
        if let failure { throw failure }
    }

    /// Applies the server's changes.
    ///
    /// - Returns: the first failure to subscribe to a show; `nil` if there is none. All other changes are applied.
    private func apply(_ merge: SubscriptionMerge, from space: AddressSpace) async throws -> SyncFailure? {
        try library.recordServerState(merge.feedsToRecord, settled: merge.obsoleteChanges)
        // A moved show may appear as a removal and an addition: refresh the removed shows first, so that those that
        // have moved adopt their new addresses.
        if !merge.adds.isEmpty, !merge.removes.isEmpty, merge.removes.count <= Self.mostMoves {
            _ = try await refresher.refresh(merge.removes.map(\.podcast))
        }
        let failure = try await withThrowingTaskGroup(of: SyncFailure?.self, returning: SyncFailure?.self) { group in
            var failure: SyncFailure?
            for (index, url) in merge.adds.enumerated() {
                if index >= Self.mostArrivals, let next = try await group.next() { failure = failure ?? next }
                try Task.checkCancellation()
                group.addTask { await self.subscribe(fromServer: url, in: space) }
            }
            for try await next in group { failure = failure ?? next }
            return failure
        }
        for (podcast, url) in merge.removes {
            try Task.checkCancellation()
            try await remove(podcast, fromServer: url)
            // Let other clients' work run between two shows.
            await Task.yield()
        }
        try Task.checkCancellation()
        return failure
    }

    /// Maximum number of new shows that are being fetched, or wait for a turn at their host, at the same time. With a
    /// larger value one slow host delays fewer other shows, but a cancellation takes longer.
    private static let mostArrivals = 256

    /// Subscribes to a show that the server lists.
    ///
    /// - Returns: the failure, after which the next exchange has to try again; `nil` if there is none.
    private func subscribe(fromServer url: String, in space: AddressSpace) async -> SyncFailure? {
        if Task.isCancelled { return nil }
        do {
            let others = (try? WebAddress(url)).map { [$0.text, $0.secured?.text].compactMap(\.self) } ?? [url]
            if let (podcast, name) = try library.restore(others, fromServer: url, now: now()) {
                driver.changed(podcast: podcast, name: name)
                subscriptions.copies.subscriptionsChanged()
                log.info("sync: \(name) is subscribed again")
                return nil
            }
            switch try await subscriptions.importShow(
                ImportItem(url: url), from: Subscriptions.ListingServer(address: url, space: space))
            {
            case .added(let name, _), .kept(let name, _): log.info("sync: subscribed to \(name)")
            case .known(let name):
                guard let podcast = try library.podcast(named: name) else { return nil }
                try library.recordArrival(of: podcast.id, from: url)
            case .refused(let error):
                // Record that the server lists the show, although this device cannot subscribe to it, so that later
                // exchanges do not try again.
                try library.recordServerState([ServerFeed(url: url, subscribed: true)])
                log.warning("sync: not subscribed to \(error)")
            }
        } catch is CancellationError {
            // The next exchange receives the change again.
        } catch {
            let failure = SyncFailure(
                code: .unavailable, message: "not subscribed to \(WebAddress.redacted(url)): \(error)")
            log.error("sync: \(failure.message)")
            return failure
        }
        return nil
    }

    /// Removes a show that another device has removed: the show is hidden at once, and deleted later. A show that the
    /// server still lists under another address stays.
    private func remove(_ podcast: ShowID, fromServer url: String) async throws {
        guard let show = try library.podcast(id: podcast), !show.ephemeral else { return }
        if try library.serverHas(podcast, elsewhereThan: url) {
            return try library.recordServerState([ServerFeed(url: url, subscribed: false)])
        }
        driver.drainEvents()
        let open = driver.clients.openEpisodes
        let files = try library.files(of: podcast)
        for file in files where !open.contains(file) { engine.discard(MediaID(file)) }
        try library.remove(podcast: podcast, fromServer: url, now: now())
        driver.changed(podcast: podcast, name: show.name)
        subscriptions.copies.subscriptionsChanged()
        log.info("sync: \(show.name) was removed by another device; it is kept for seven days")
        let tasks = subscriptions.tasks
        try await tasks.removeDiscarded(files.filter { tasks.downloads[MediaID($0)] != nil })
    }

    /// Lets `Library.purgeEphemeral` delete the shows that another device removed more than `removedLifetime` ago.
    func pruneRemovedShows() {
        attempt { try library.pruneRemoved(before: now() - Self.removedLifetime.seconds) }
    }
}
