internal import Platform

/// The slots (permissions to connect) and the rate limits of the connections of downloads.
///
/// Confined to the engine's thread.
final class ConnectionSlots {
    private var pools: ConnectionPools
    /// The rate limits of connections, by their tokens.
    var rates: RateLimits
    /// Connections with a slot or waiting for one, and the closures that start them when they get it.
    private var connections: [ConnectionPools.Token: (connection: DownloadConnection, start: () -> Void)] = [:]
    private var lastToken = 0

    init(_ configuration: TransferConfiguration) {
        pools = ConnectionPools(limits: configuration.pools, retry: configuration.limits.retry)
        rates = RateLimits(limit: configuration.rateLimit)
    }

    /// The time of the next due work, if any.
    var deadline: Instant? { [pools.deadline, rates.deadline].compactMap(\.self).min() }

    func newToken() -> ConnectionPools.Token {
        lastToken += 1
        return lastToken
    }

    /// Requests a slot; `start` is called when the connection has it, perhaps before this returns.
    func request(
        _ connection: DownloadConnection, forReader: Bool, priority: TransferPriority, now: Instant,
        start: @escaping () -> Void
    ) {
        connections[connection.token] = (connection, start)
        let isProbe = connection.request.isProbe
        if pools.request(
            connection.token, host: connection.host, forReader: forReader, isProbe: isProbe, priority: priority,
            now: now)
        {
            start()
        }
    }

    /// Releases a connection's slot, or withdraws its request for one; starts the connections that get slots now.
    func release(_ token: ConnectionPools.Token, now: Instant) {
        connections[token] = nil
        start(pools.release(token, now: now))
    }

    /// Changes the pools, and starts the connections that get slots now.
    func change(_ change: (inout ConnectionPools) -> [ConnectionPools.Token]) { start(change(&pools)) }

    /// Records that the host of a connection was not reached, or refused the request for now.
    func hostFailed(
        _ connection: DownloadConnection, _ error: TransferError, retryAfter: Duration? = nil, now: Instant
    ) {
        pools.hostFailed(connection.host, error, retryAfter: retryAfter, now: now, random: Double.random(in: 0..<1))
        explainWaiting(at: connection.host)
    }

    /// Records that the host of a connection has answered.
    func hostAnswered(_ connection: DownloadConnection, now: Instant) {
        guard pools.failedHosts.contains(connection.host) else { return }
        start(pools.hostAnswered(connection.host, now: now))
        explainWaiting(at: connection.host)
    }

    func networkChanged(now: Instant) {
        let hosts = pools.failedHosts
        start(pools.networkChanged(now: now))
        for host in hosts { explainWaiting(at: host) }
    }

    /// Returns why a connection waits although there is a slot, and until when.
    func closure(_ connection: DownloadConnection) -> (error: TransferError, until: Instant)? {
        pools.closure(connection.token)
    }

    /// Lets the downloads that wait for a host report why: as many as a status lists, however many wait.
    private func explainWaiting(at host: String) {
        for token in pools.waiting(at: host, limit: 100) {
            guard let download = connections[token]?.connection.download else { continue }
            download.engine.downloads.markDirty(download)
        }
    }

    private func start(_ tokens: [ConnectionPools.Token]) {
        for token in tokens { connections[token]?.start() }
    }

    /// Returns the connections to end now: those that have lingered too long, and those whose slots other connections
    /// need more.
    func preempted(now: Instant) -> [DownloadConnection] {
        pools.preempted(now: now).compactMap { connections[$0]?.connection }
    }

    /// Resumes connections that rate limits have paused.
    func refill(now: Instant) {
        guard let due = rates.deadline, due <= now else { return }
        for token in rates.refill(now: now) { connections[token]?.connection.handle?.resume() }
    }
}
