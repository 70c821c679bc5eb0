package import Platform
package import TransferCore

/// What is known when a refresh has ended.
package struct RefreshFacts: Sendable, Equatable {
    /// The head of the final answer; `nil` when none came.
    package var head: ResponseHead?
    /// `Feed.updateInterval` in seconds, of this document or, after a 304, of the last one.
    package var updateInterval: Int64?
    /// Of this document or, after a 304, of the last one.
    package var quietTimes: QuietTimes
    /// When the show's episodes came out, in any order; the newest 100 are enough.
    package var published: [Int64]
    /// What `published` says, where that has been found out before; then it need not be given.
    package var rhythm: ReleaseRhythm?
    /// Refreshes in a row that failed, this one included; 0 after a success.
    package var failures: Int

    package init(
        head: ResponseHead? = nil, updateInterval: Int64? = nil, quietTimes: QuietTimes = QuietTimes(),
        published: [Int64] = [], rhythm: ReleaseRhythm? = nil, failures: Int = 0
    ) {
        self.rhythm = rhythm
        self.head = head
        self.updateInterval = updateInterval
        self.quietTimes = quietTimes
        self.published = published
        self.failures = failures
    }
}

/// When a show is refreshed next. Pure: the clock and the dice are the caller's.
///
/// In this order, each outranking those below it:
/// 1. the server's word: Retry-After in full up to a week, freshness (`max-age`, `Expires`) up to `maximum`;
/// 2. `minimum` and `maximum`, which the user may configure;
/// 3. after failures an exponential back-off;
/// 4. `ttl` and the other intervals of the document, as the least between two looks, up to six hours;
/// 5. the show's own rhythm.
package struct RefreshSchedule: Sendable, Equatable {
    /// `refresh.min` and `refresh.max`, in seconds.
    package let minimum: Int64
    package let maximum: Int64

    /// The defaults are those of the configuration: a quarter of an hour is what news shows need, and a day is what a
    /// person waits at most for an episode of a show that was silent.
    package init(minimum: Int64 = 15 * 60, maximum: Int64 = 24 * 3_600) {
        self.minimum = max(1, minimum)
        self.maximum = max(self.minimum, maximum)
    }

    /// How far a document's own interval is obeyed. Generators write `ttl` 1440 or `weekly` to say how often episodes
    /// come, and an episode is not to be a day late for it; six hours are at most four requests a day.
    private static let longestInterval: Int64 = 6 * 3_600

    /// The time of the next refresh, in seconds since 1970.
    ///
    /// Never before `now` + `minimum` or before the server's word, never after `now` + `maximum` unless the server's
    /// word demands it (then at most a tenth later than that).
    ///
    /// - Parameter random: uniform in 0..<1. Spreads what was due together by 10 % each way, and what waits for a server
    ///   or an episode by a little to the later side.
    package func next(_ facts: RefreshFacts, now: Int64, random: Double) -> Int64 {
        let word = serverWord(facts.head, now: now)
        let window = window(facts, word: word, now: now)
        let part = min(max(random, 0), 1)
        let delay = window.lowerBound + Int64(Double(window.upperBound - window.lowerBound) * part)
        let latest = now + max(maximum, window.upperBound)
        return Self.avoiding(facts, from: now + delay, latest: latest)
    }

    /// Seconds before which the server is not to be asked again.
    private func serverWord(_ head: ResponseHead?, now: Int64) -> Int64 {
        guard let head else { return 0 }
        let freshness = min(Freshness.seconds(head, now: now) ?? 0, maximum)
        return max(freshness, Freshness.retryAfter(head, now: now) ?? 0)
    }

    /// The delays from which one is drawn.
    private func window(_ facts: RefreshFacts, word: Int64, now: Int64) -> ClosedRange<Int64> {
        var low: Int64
        var high: Int64
        switch wish(facts, now: now) {
        case .after(let interval):
            let interval = within(interval, facts)
            low = interval - interval / 10
            high = interval + interval / 10
        case .appointment(let interval):
            low = within(interval, facts)
            high = low + minimum
        }
        if high > maximum {
            high = maximum
            low = min(low, maximum - maximum / 10)
        }
        if low < minimum {
            low = minimum
            high = max(high, min(maximum, minimum + minimum / 10))
        }
        if low < word {
            low = word
            high = max(high, word + word / 10)
        }
        return low...max(low, high)
    }

    private func within(_ interval: Int64, _ facts: RefreshFacts) -> Int64 {
        let asked = min(facts.updateInterval ?? 0, Self.longestInterval)
        return min(max(interval, minimum, asked), maximum)
    }

    private func wish(_ facts: RefreshFacts, now: Int64) -> ReleaseRhythm.Wish {
        if facts.failures > 0 {
            // A refusal for good (401, 404…) is mostly a feed that moved or was taken down: it starts two steps later.
            let isPermanent = facts.head.map { Self.isPermanent($0.status) } ?? false
            let steps = min(facts.failures - 1 + (isPermanent ? 2 : 0), 20)
            let (product, overflow) = minimum.multipliedReportingOverflow(by: 1 << Int64(steps))
            return .after(overflow ? maximum : min(product, maximum))
        }
        let rhythm = facts.rhythm ?? ReleaseRhythm(published: facts.published, now: now)
        return rhythm.wish(now: now, minimum: minimum)
    }

    /// Whether the same request will be refused again: 4xx but 408, 425 and 429 (RFC 9110 §15.5, RFC 8470, RFC 6585).
    private static func isPermanent(_ status: Int) -> Bool {
        (400...499).contains(status) && ![408, 425, 429].contains(status)
    }

    /// The first allowed hour from a time on, at the same minute; the time itself when there is none up to `latest`.
    ///
    /// Whole hours are added, so that what was spread stays so.
    private static func avoiding(_ facts: RefreshFacts, from time: Int64, latest: Int64) -> Int64 {
        guard facts.quietTimes != QuietTimes() else { return time }
        var candidate = time
        while candidate <= latest {
            let hour = Int(candidate / 3_600 % 24)
            // 1970-01-01 was a Thursday.
            let day = Int((candidate / 86_400 + 4) % 7)
            if !facts.quietTimes.hours.contains(hour), !facts.quietTimes.days.contains(day) { return candidate }
            candidate += 3_600
        }
        return time
    }
}
