extension DownloadMachine {
    /// Failures in a row, and the progress that ends the row.
    struct Attempts: Sendable {
        private struct Count {
            var since: Int64
            var bytes: Int64 = 0
        }

        /// Failures since there was progress.
        private(set) var count = 0
        private var firstFailure: Int64?
        /// The failure of the last connection.
        var lastError: TransferError?
        /// What went wrong last with a task that goes on, shown until there is progress.
        var recentError: TransferError?
        /// When the last connection was begun.
        var lastTry: Int64?
        private(set) var lastProgress: Int64?
        /// New bytes since a moment that is at most a reader's deadline ago.
        private var recent: Count?

        /// A connection was lost.
        ///
        /// - Returns: how long there has been no progress, in milliseconds.
        mutating func failed(_ error: TransferError, now: Int64) -> Int64 {
            lastError = error
            recentError = error
            count += 1
            let began = firstFailure ?? now
            firstFailure = began
            return now - began
        }

        /// New bytes have come. They are progress when there are enough of them within a reader's deadline: a server that
        /// sends a byte now and then holds nobody, and is asked again ever more seldom.
        mutating func received(_ bytes: Int64, limits: Limits, now: Int64) {
            lastError = nil
            var recent = recent ?? Count(since: now)
            if now - recent.since > limits.readerDeadline { recent = Count(since: now) }
            recent.bytes += bytes
            if recent.bytes >= limits.leastRate * limits.readerDeadline / 1_000 {
                recent = Count(since: now)
                lastProgress = now
                count = 0
                firstFailure = nil
                recentError = nil
            }
            self.recent = recent
        }

        /// A person, or the time, gives the server another chance.
        mutating func forget() {
            count = 0
            firstFailure = nil
            lastError = nil
            recentError = nil
        }
    }

    /// What shows that the server's answers are not to be relied on.
    struct ServerFaults: Sendable, Equatable {
        struct End: Sendable, Equatable {
            var position: Int64
            var count: Int
        }

        /// Where the last bodies ended before their end, and how many of them in a row.
        private(set) var earlyEnd: End?
        /// Answers that were none to the question; from the second on ranges are no longer asked for.
        private(set) var lies = 0
        /// New generations since the last whole file.
        var renewals = 0

        /// Whether ranges may be asked for.
        var allowRanges: Bool { lies <= 1 }

        mutating func lied() { lies += 1 }

        /// A body ended before its end.
        ///
        /// - Returns: how many in a row have ended there.
        mutating func ended(at position: Int64) -> Int {
            let count = earlyEnd?.position == position ? (earlyEnd?.count ?? 0) + 1 : 1
            earlyEnd = End(position: position, count: count)
            return count
        }

        /// New bytes have come up to `end`.
        mutating func received(upTo end: Int64) {
            lies = 0
            if let earlyEnd, end > earlyEnd.position { forgetEnd() }
        }

        mutating func forgetEnd() { earlyEnd = nil }

        /// Another rendition says nothing of the one before.
        mutating func beginGeneration() {
            earlyEnd = nil
            lies = 0
            renewals += 1
        }
    }
}
