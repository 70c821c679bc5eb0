internal import Logging
internal import Platform
internal import PodcastLibrary
internal import Transfers

/// One exchange of subscriptions and episode actions (playback positions, for example) with the sync server. Each
/// step's result is recorded in the library before the next step begins, so an exchange that stops early loses no
/// result.
struct SyncRun: Sendable {
    let library: Library
    let client: SyncClient
    let account: SyncAccount
    let messages: SyncMessages
    let log: Logger

    /// Maximum number of actions or subscription changes per request. The body of such a request has about 100 kB. If
    /// the server rejects a request, each half of its content is sent in a request of its own.
    private static let batch = 250

    init(library: Library, client: SyncClient, account: SyncAccount, log: Logger) {
        self.library = library
        self.client = client
        self.account = account
        self.log = log
        messages = SyncMessages(account)
    }

    // MARK: Subscriptions

    /// Fetches the server's changes to the subscriptions.
    ///
    /// - Returns: the changes to apply; their timestamp, which the caller records once all have been applied; the
    ///   address space of the server's IP address (public, local network or loopback).
    func fetchSubscriptions() async throws -> (merge: SubscriptionMerge, timestamp: Int64, space: AddressSpace) {
        let since = SyncWindow(last: account.subscriptionsSince, lastFull: nil).subscriptionsSince
        let answer = try await client.send(messages.subscriptions(since: since))
        let found = try parsed { () throws(SyncAnswers.Malformed) in try SyncAnswers.subscriptions(answer.body) }
        for line in found.skipped.warnings("the entries of the server's list") { log.warning("sync: \(line)") }
        let merge = SubscriptionMerge(add: found.add, remove: found.remove, state: try library.subscriptionBook())
        for line in merge.refused { log.warning("sync: not subscribed to \(line)") }
        if merge.refusedCount > merge.refused.count {
            log.warning("sync: in total, \(merge.refusedCount) addresses of the server were rejected")
        }
        return (merge, found.timestamp, answer.head.space ?? .public)
    }

    /// Sends the pending subscription changes.
    func sendSubscriptions() async throws {
        let state = try library.subscriptionBook()
        var rest = state.pending[...]
        while !rest.isEmpty {
            try await send(SubscriptionUpload(Array(rest.prefix(Self.batch)), state: state), state)
            rest = rest.dropFirst(Self.batch)
        }
    }

    private func send(_ upload: SubscriptionUpload, _ state: SubscriptionState) async throws {
        try library.markSent(upload.changes)
        do {
            let answer = try await client.send(messages.subscriptions(since: nil), body: messages.body(upload))
            let response = try parsed { () throws(SyncAnswers.Malformed) in try SyncAnswers.uploaded(answer.body) }
            try library.subscriptionsSent(
                upload.changes, feeds: upload.feeds, renamed: response.renamed.map { ($0.old, $0.new) })
            for renamed in response.renamed where renamed.new.isEmpty {
                log.warning("sync: the server rejects \(WebAddress.redacted(renamed.old))")
            }
        } catch let failure as SyncFailure where failure.code == .rejected {
            if let (one, other) = upload.halves(state) {
                try await send(one, state)
                try await send(other, state)
            } else {
                // The server would reject the change again, so it is recorded as settled and not retried.
                for change in upload.changes {
                    log.warning("sync: the server rejects \(WebAddress.redacted(change.url)): \(failure.message)")
                }
                try library.recordServerState([], settled: upload.changes)
            }
        }
    }

    // MARK: Actions

    /// Applies the parked states whose episodes have appeared, then fetches the actions of other devices and merges
    /// them into the library. Also returns a clock: the local time and the server's time when the response arrived.
    func fetchActions(now: @Sendable () async -> Int64) async throws -> (applied: AppliedActions, clock: SyncClock) {
        try library.unpark(now: await now())
        let window = account.episodes
        let answer = try await client.send(messages.episodes(since: window.episodesSince))
        let found = try parsed { () throws(SyncAnswers.Malformed) in try SyncAnswers.actions(answer.body) }
        for line in found.skipped.warnings("the server's actions") { log.warning("sync: \(line)") }
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
        return (applied, clock)
    }

    /// Sends the pending actions.
    func sendActions(_ clock: SyncClock) async throws {
        let device = account.kind == .gpodder ? account.device : nil
        while true {
            let pending = try library.pendingActions(clock: clock, device: device, limit: Self.batch)
            if pending.isEmpty { return }
            try await send(pending[...])
        }
    }

    private func send(_ pending: ArraySlice<PendingAction>) async throws {
        do {
            let answer = try await client.send(
                messages.episodes(since: nil), body: messages.body(pending.map(\.action)))
            _ = try parsed { () throws(SyncAnswers.Malformed) in try SyncAnswers.uploaded(answer.body) }
            try library.actionsSent(Array(pending))
        } catch let failure as SyncFailure where failure.code == .rejected {
            if pending.count > 1 {
                let middle = pending.startIndex + pending.count / 2
                try await send(pending[..<middle])
                try await send(pending[middle...])
            } else {
                for one in pending {
                    log.warning("sync: the server rejects episode \(one.episode): \(failure.message)")
                }
                try library.actionsSent(Array(pending))
            }
        }
    }

    /// Returns the result of a parser. Throws `SyncFailure` if the response is malformed.
    private func parsed<Value>(_ body: () throws(SyncAnswers.Malformed) -> Value) throws -> Value {
        do throws(SyncAnswers.Malformed) {
            return try body()
        } catch {
            throw SyncFailure(code: .unusable, message: "\(WebAddress.host(of: account.url)): \(error.message)")
        }
    }
}
