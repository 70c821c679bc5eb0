package import Platform

/// The delay of scheduled refreshes, or of the scheduled exchange with the sync server, after the library could not
/// record a result, for example because its disk is full.
///
/// A show whose refresh is not recorded stays due, and so does an exchange. Without a delay, the feed would be fetched,
/// or the exchange repeated, every second.
package struct RecordingBackoff: Sendable {
    /// The number of consecutive delays, including the current one.
    private var failures = 0
    /// The end of the last delay; `nil` after a success.
    package private(set) var until: Instant?

    /// The delay after the first failure, doubled after each further one.
    private static let firstDelay = Duration.seconds(60)
    /// The longest delay: the default of `refresh.min`, so that a show whose row cannot be written is fetched no more
    /// often than any other.
    private static let longestDelay = Duration.seconds(15 * 60)

    package init() {}

    /// Whether scheduled refreshes wait.
    package func isWaiting(at now: Instant) -> Bool { until.map { now < $0 } ?? false }

    /// Records that a refresh could not be recorded. Failures during a delay belong to the same round: they postpone
    /// its end and do not double it.
    ///
    /// - Returns: whether to log the failure, since it is the first one.
    package mutating func failed(at now: Instant) -> Bool {
        let isFirst = failures == 0
        if !isWaiting(at: now) { failures += 1 }
        until = now + min(Self.firstDelay * (1 << min(failures - 1, 4)), Self.longestDelay)
        return isFirst
    }

    /// Records that a refresh was recorded. Ignored during a delay: other shows of the same round have failed, and
    /// would be fetched again at once.
    package mutating func succeeded(at now: Instant) { if !isWaiting(at: now) { reset() } }

    /// Ends the delay, at a person's request.
    package mutating func reset() { self = RecordingBackoff() }
}
