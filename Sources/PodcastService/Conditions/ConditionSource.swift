/// Where the conditions come from: the system, or a test.
package struct ConditionSource: Sendable {
    /// The conditions as last seen, at once and without IO; `nil` until they have been read for the first time.
    ///
    /// Whoever gets `nil` should take the first element of `changes`: to take it for "unknown" would start tasks on a
    /// metered link in the first moments of the daemon.
    package var current: @Sendable () -> LinkConditions?

    /// The conditions as soon as they are known, and again at each change. Of several changes that a slow reader has
    /// not seen only the last is kept. Any number of streams may be open; they end with the source.
    package var changes: @Sendable () -> AsyncStream<LinkConditions>

    package init(
        current: @escaping @Sendable () -> LinkConditions?,
        changes: @escaping @Sendable () -> AsyncStream<LinkConditions>
    ) {
        self.current = current
        self.changes = changes
    }

    /// Conditions that never change. The stream stays open, as that of a system where nothing happens.
    package static func constant(_ conditions: LinkConditions) -> ConditionSource {
        let board = ConditionBoard()
        board.post(conditions)
        return ConditionSource(current: { board.current }, changes: { board.changes() })
    }

    /// This machine's: mains power as the kernel sees it, the link as NetworkManager judges it.
    ///
    /// Starts a thread that sleeps until something happens and ends with the last copy of the source.
    package static func system(_ options: ConditionMonitor.Options = ConditionMonitor.Options()) -> ConditionSource {
        let monitor = ConditionMonitor(options)
        return ConditionSource(current: { monitor.current }, changes: { monitor.changes() })
    }
}
