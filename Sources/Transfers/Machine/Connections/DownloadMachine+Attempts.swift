package import Platform

extension DownloadMachine {
    /// The record of consecutive failed connections, and of the progress that resets it.
    struct Attempts: Sendable {
        private struct Count {
            var since: Instant
            var bytes: Int64 = 0
        }

        /// The number of failures since the last progress, `restart` or `reset`. It determines the next retry delay.
        private(set) var count = 0
        /// The time of the first failure since the last progress.
        private var firstFailure: Instant?
        /// The failure of the last connection; `nil` after progress.
        var lastError: TransferError?
        /// The time at which the last connection was started.
        var lastTry: Instant?
        private(set) var lastProgress: Instant?
        /// The new bytes in the current measuring window, which is at most `Limits.readerDeadline` long.
        private var recent: Count?

        /// Records the loss of a connection.
        ///
        /// - Returns: The time that has passed since `firstFailure`; zero if this is the first failure.
        mutating func failed(_ error: TransferError, now: Instant) -> Duration {
            lastError = error
            count += 1
            let began = firstFailure ?? now
            firstFailure = began
            return now - began
        }

        /// Restarts the retry delays from the shortest.
        mutating func restart() { count = 0 }

        /// Records new bytes. They count as progress only if `Limits.minRate` is reached within
        /// `Limits.readerDeadline`. So a server that sends an occasional byte cannot block readers forever, and is
        /// retried less and less often.
        mutating func received(_ bytes: Int64, limits: Limits, now: Instant) {
            var recent = recent ?? Count(since: now)
            if now - recent.since > limits.readerDeadline { recent = Count(since: now) }
            recent.bytes += bytes
            if recent.bytes >= limits.minRate * limits.readerDeadline.milliseconds / 1_000 {
                recent = Count(since: now)
                lastProgress = now
                reset()
            }
            self.recent = recent
        }

        /// Forgets all failures. Called after progress, at a user's request, for a new address, or when the failure of
        /// the download, which is remembered for a time, has expired.
        mutating func reset() {
            count = 0
            firstFailure = nil
            lastError = nil
        }
    }

    /// Evidence that the server's responses are unreliable.
    struct ServerFaults: Sendable, Equatable {
        struct End: Sendable, Equatable {
            var position: Int64
            var count: Int
        }

        /// The offset at which the last body ended early, and how many bodies in a row ended there.
        private(set) var earlyEnd: End?
        /// The number of responses since the last new byte that did not match their request. After the second one no
        /// more ranges are requested.
        var mismatches = 0
        /// The number of new generations since the last complete file. A generation is a cache file for one rendition,
        /// the file that the server had at one time.
        var renewals = 0

        /// Whether ranges may be requested.
        var allowRanges: Bool { mismatches <= 1 }

        /// Records that a body ended early.
        ///
        /// - Returns: The number of bodies in a row, including this one, that ended at `position`.
        mutating func bodyEndedEarly(at position: Int64) -> Int {
            let count = earlyEnd?.position == position ? (earlyEnd?.count ?? 0) + 1 : 1
            earlyEnd = End(position: position, count: count)
            return count
        }

        /// Records new bytes up to `end`.
        mutating func received(upTo end: Int64) {
            mismatches = 0
            if let earlyEnd, end > earlyEnd.position { clearEarlyEnd() }
        }

        mutating func clearEarlyEnd() { earlyEnd = nil }

        /// Counts the new generation, and resets the faults that concern the previous rendition.
        mutating func beginGeneration() {
            earlyEnd = nil
            mismatches = 0
            renewals += 1
        }
    }
}

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
            // Not counted as a failure, since the server is not at fault.
            attempts.lastError = Self.networkLost
        }
        if isBack {
            if address.isUnreachable { address.setKnowsDirect(true) }
            if case .fetching(let retry?) = phase, !retry.isServers {
                attempts.restart()
                phase = .fetching()
            }
        }
        return actions + plan(now)
    }

    private static let networkLost = TransferError(.unreachable, "the network connection of this computer was lost")
}
