package import Platform

// Changes of this computer's network.
extension DownloadMachine {
    /// Handles a change of the network.
    ///
    /// - Parameters:
    ///   - lost: The connections whose local address is gone.
    ///   - isBack: Whether servers that were unreachable may be reachable now. If so, connections that have been silent
    ///     for `Limits.doubt` are replaced, since the kernel's retransmissions have slowed down during the outage. A
    ///     scheduled retry also runs at once, unless the server has set the delay of the retry (Retry-After).
    package mutating func networkChanged(lost: Set<ConnectionID>, isBack: Bool, now: Instant) -> [Action] {
        var actions: [Action] = []
        for id in connections.ids {
            guard let connection = connections[id] else { continue }
            let isSilent = connection.silentSince.map { $0 + limits.doubt <= now } ?? false
            guard lost.contains(id) || isBack && isSilent else { continue }
            connections.remove(id)
            actions.append(.abort(id))
            attempts.interrupted(Self.networkLost)
        }
        if isBack {
            if address.isUnreachable { address.restoreDirectAddress() }
            if case .fetching(let retry?) = phase, !retry.isServers {
                attempts.restart()
                phase = .fetching()
            }
        }
        return actions + plan(now)
    }

    private static let networkLost = TransferError(.unreachable, "the network connection of this computer was lost")
}
