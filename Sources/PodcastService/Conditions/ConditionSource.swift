/// Supplies the conditions: the system, or a test double.
package struct ConditionSource: Sendable {
    /// The most recent conditions, without blocking; `nil` until the first reading.
    ///
    /// On `nil`, await the first element of `changes`: treating it as "unknown" would start tasks on a metered link
    /// during the daemon's first moments.
    package var current: @Sendable () -> LinkConditions?

    /// The conditions once they are known, and again after each change. A slow consumer gets only the latest of several
    /// changes. Any number of streams may be open; they finish with the source.
    package var changes: @Sendable () -> AsyncStream<LinkConditions>

    package init(
        current: @escaping @Sendable () -> LinkConditions?,
        changes: @escaping @Sendable () -> AsyncStream<LinkConditions>
    ) {
        self.current = current
        self.changes = changes
    }

    /// Returns a source whose conditions never change. Its stream stays open.
    package static func constant(_ conditions: LinkConditions) -> ConditionSource {
        let board = ConditionBoard()
        board.post(conditions)
        return ConditionSource(current: { board.current }, changes: { board.changes() })
    }

    /// Returns a source for this machine: power from the kernel, the link from NetworkManager.
    ///
    /// Starts a thread that sleeps until something changes and stops when the last copy of the source is released.
    package static func system(_ options: ConditionMonitor.Options = ConditionMonitor.Options()) -> ConditionSource {
        let monitor = ConditionMonitor(options)
        return ConditionSource(current: { monitor.current }, changes: { monitor.changes() })
    }
}
