internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// One exchange of subscriptions and episode actions (playback positions, for example) with the sync server. Each
/// step's result is recorded in the library before the next step begins, so an exchange that stops early loses no
/// result.
struct SyncRun: Sendable {
    let library: Library
    let client: SyncClient
    let account: SyncAccount
    let log: Logger

    private var messages: SyncMessages { SyncMessages(account: account) }

    /// Maximum number of actions or subscription changes per request. The body of such a request has about 100 kB. If
    /// the server rejects a request, each half of its content is sent in a request of its own.
    private static let batch = 250

    // MARK: Subscriptions

    /// Fetches the server's changes to the subscriptions.
    ///
    /// - Returns: the changes to apply; their timestamp, which the caller records once all have been applied; the
    ///   address space of the server's IP address (public, local network or loopback).
    func fetchSubscriptions() async throws -> (merge: SubscriptionMerge, timestamp: Int64, space: AddressSpace) {
        let since = SyncWindow(last: account.subscriptionsSince, lastFull: nil).subscriptionsSince
        let (found, space) = try await client.send(
            messages.subscriptions(since: since), SyncAnswers.subscriptions)
        warn(ofSkipped: found.skipped, "entries of the server's list")
        let merge = SubscriptionMerge(add: found.add, remove: found.remove, state: try library.subscriptionBook())
        for line in merge.refused.prefix(Self.mostReported) { log.warning("sync: not subscribed to \(line)") }
        if merge.refused.count > Self.mostReported {
            log.warning("sync: in total, \(merge.refused.count) addresses of the server were rejected")
        }
        return (merge, found.timestamp, space)
    }

    /// Maximum number of rejected addresses that are logged individually.
    private static let mostReported = 5

    private func warn(ofSkipped count: Int, _ entries: String) {
        if count > 0 {
            log.warning("sync: \(count) \(entries) were skipped: they are malformed, or too many")
        }
    }

    /// Sends the pending subscription changes.
    func sendSubscriptions() async throws {
        let state = try library.subscriptionBook()
        var rest = state.pending[...]
        while !rest.isEmpty {
            try await send(rest.prefix(Self.batch)) { changes in
                let upload = SubscriptionUpload(changes, state: state)
                try library.markSent(changes)
                let renamed = try await client.send(
                    messages.subscriptions(since: nil), body: messages.body(upload), SyncAnswers.uploaded
                ).value
                try library.recordServerState(
                    upload.feeds, settled: changes, renamed: renamed.map { ($0.old, $0.new) })
                for (old, new) in renamed where new.isEmpty {
                    log.warning("sync: the server rejects \(WebAddress.redacted(old))")
                }
            } rejected: { change, failure in
                log.warning("sync: the server rejects \(WebAddress.redacted(change.url)): \(failure.message)")
                try library.recordServerState([], settled: [change])
            }
            rest = rest.dropFirst(Self.batch)
        }
    }

    /// Sends items in one request, and if the server rejects it, each half of them in a request of its own.
    ///
    /// - Parameter rejected: called with an item that the server rejects by itself. It would do so again, so the item
    ///   has to be recorded as settled.
    private func send<Item>(
        _ items: ArraySlice<Item>, _ send: ([Item]) async throws -> Void,
        rejected: (Item, SyncFailure) throws -> Void
    ) async throws {
        do {
            try await send(Array(items))
        } catch let failure as SyncFailure where failure.code == .rejected {
            if items.count == 1, let item = items.first { return try rejected(item, failure) }
            try await self.send(items.prefix(items.count / 2), send, rejected: rejected)
            try await self.send(items.dropFirst(items.count / 2), send, rejected: rejected)
        }
    }

    // MARK: Actions

    /// Applies the parked states whose episodes have appeared, then fetches the actions of other devices and merges
    /// them into the library. Also returns a clock: the local time and the server's time when the response arrived.
    func fetchActions(now: @Sendable () async -> Int64) async throws -> (changed: [EpisodeID], clock: SyncClock) {
        try library.unpark(now: await now())
        let window = account.episodes
        let found = try await client.send(messages.episodes(since: window.episodesSince), SyncAnswers.actions).value
        warn(ofSkipped: found.skipped, "of the server's actions")
        let clock = SyncClock(local: await now(), server: found.timestamp)
        let applied = try library.apply(
            found.actions, clock: clock,
            window: SyncWindow(
                last: found.timestamp, lastFull: window.isFull ? found.timestamp : window.lastFull),
            keepsLatestOnly: account.kind == .nextcloud, now: clock.local)
        if applied.future > 0 {
            log.warning(
                "sync: \(applied.future) actions have future dates: a device's clock is wrong; they count as current")
        }
        return (applied.changed, clock)
    }

    /// Sends the pending actions.
    func sendActions(_ clock: SyncClock) async throws {
        let device = account.kind == .gpodder ? account.device : nil
        while true {
            let pending = try library.pendingActions(clock: clock, device: device, limit: Self.batch)
            if pending.isEmpty { return }
            try await send(pending[...]) { actions in
                _ = try await client.send(
                    messages.episodes(since: nil), body: messages.body(actions.map(\.action)), SyncAnswers.uploaded)
                try library.actionsSent(actions)
            } rejected: { action, failure in
                log.warning("sync: the server rejects episode \(action.episode): \(failure.message)")
                try library.actionsSent([action])
            }
        }
    }
}
