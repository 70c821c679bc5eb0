internal import Platform

// Changes of this computer's network.
extension EngineLoop {
    /// Ends the connections whose local address is gone, and lets downloads continue when servers may be reachable
    /// again.
    func networkChanged(_ change: NetworkAddresses.Change) {
        if change.isNone { return }
        if change.isBack { slots.networkChanged(now: now) }
        for download in downloads.all { download.networkChanged(change) }
        // The other connections from the lost addresses are idle ones, and those of data requests and uploads, whose
        // owners retry.
        if !change.lost.isEmpty { OpenSockets.shutDown(from: change.lost) }
    }
}

extension Download {
    func networkChanged(_ change: NetworkAddresses.Change) {
        let lost = connections.values.filter { connection in
            connection.handle?.localAddress.map(change.lost.contains) ?? false
        }
        // Store the bytes that have arrived, so that they are not requested again.
        for connection in lost where connection.head == nil && machine.isFlowing(connection.id) {
            _ = connection.flush()
        }
        apply(machine.networkChanged(lost: Set(lost.map(\.id)), isBack: change.isBack, now: engine.now))
    }
}
