internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import Transfers

/// The input of `RefreshSchedule`, known when a refresh has ended.
struct RefreshFacts: Sendable, Equatable {
    /// The head of the final response; `nil` if there was none.
    var head: ResponseHead?
    /// `Feed.updateInterval` in seconds, of this document or, after a 304, of the last one.
    var updateInterval: Int64?
    /// The hours and days without refreshes, of this document or, after a 304, of the last one.
    var quietTimes: QuietTimes = QuietTimes()
    /// The publication dates of the show's episodes in seconds since 1970, in any order. The newest 100 suffice.
    var published: [Int64] = []
    /// The release rhythm, if the caller has computed it from the publication dates; `published` is then ignored. If
    /// `nil`, the schedule computes the rhythm from `published`.
    var rhythm: ReleaseRhythm?
    /// The number of consecutive failed refreshes, including this one; 0 after a success.
    var failures: Int = 0
}

extension RefreshFacts {
    /// The facts of a newly fetched document.
    init(head: ResponseHead, feed: Feed) {
        self.init(
            head: head, updateInterval: feed.updateInterval.map(Int64.init), quietTimes: feed.quietTimes,
            published: feed.items.compactMap { $0.published?.seconds })
    }

    /// The facts without a new document: those of the last one.
    init(head: ResponseHead?, _ record: RefreshRecord) {
        self.init(
            head: head, updateInterval: record.updateInterval, quietTimes: record.quietTimes,
            published: record.published)
    }
}

/// The rules for the time of a show's next refresh. Pure: the caller supplies the time and a random number.
///
/// In order of precedence:
/// 1. the server's demands: Retry-After up to a week, freshness (`max-age`, `Expires`) up to `maximum`;
/// 2. `minimum` and `maximum`, which the user may configure;
/// 3. `ttl` and the document's other intervals, as the minimum between two refreshes, up to six hours;
/// 4. after failures, exponential back-off;
/// 5. the show's release rhythm.
///
/// A refresh in the document's quiet hours or days is postponed by whole hours until after them, unless it would then
/// be later than rules 1 and 2 allow.
package struct RefreshSchedule: Sendable, Equatable {
    /// `refresh.min` and `refresh.max`, in seconds.
    package var minimum: Int64
    package var maximum: Int64

    /// The defaults are those of the configuration: news shows need a refresh every quarter of an hour, and a day is
    /// the longest that a person should wait for an episode of a show that was inactive.
    package init(minimum: Int64 = 15 * 60, maximum: Int64 = 24 * 3_600) {
        self.minimum = max(1, minimum)
        self.maximum = max(self.minimum, maximum)
    }

    /// The upper bound on the document's own interval. Generators write `ttl` 1440 or `weekly` for the publication
    /// frequency, which must not delay an episode by a day. An interval of six hours causes at most four requests a
    /// day.
    private static let longestInterval: Int64 = 6 * 3_600

    /// The longest time until the next refresh: `maximum`, or the longest Retry-After plus the tenth that is added to
    /// it.
    var longestDelay: Duration { max(.seconds(maximum), Freshness.longest + Freshness.longest / 10) }

    /// Returns the time of the next refresh, in seconds since 1970.
    ///
    /// Never before `now` + `minimum` or the time the server demands, and never after `now` + `maximum` unless the
    /// server demands it (then at most a tenth later).
    ///
    /// - Parameter random: uniform in 0..<1. Spreads simultaneous refreshes: a delay becomes up to 10 % shorter or
    ///   longer. A delay that the server demands becomes up to 10 % longer, never shorter. A refresh for the time when
    ///   an episode is due is up to `minimum` later than that time, if `maximum` permits this.
    func next(_ facts: RefreshFacts, now: Int64, random: Double) -> Int64 {
        let serverDelay = serverDelay(facts.head, now: now)
        let window = window(facts, serverDelay: serverDelay, now: now)
        let part = min(max(random, 0), 1)
        let delay = window.lowerBound + Int64(Double(window.upperBound - window.lowerBound) * part)
        let latest = now + max(maximum, window.upperBound)
        return Self.avoidingQuietTimes(facts, from: now + delay, latest: latest)
    }

    /// Returns the number of seconds until the server may be sent another request.
    private func serverDelay(_ head: ResponseHead?, now: Int64) -> Int64 {
        guard let head else { return 0 }
        let freshness = min(Freshness.lifetime(head, now: now)?.seconds ?? 0, maximum)
        return max(freshness, Freshness.retryAfter(head, now: now)?.seconds ?? 0)
    }

    /// Returns the range from which the delay is drawn.
    private func window(_ facts: RefreshFacts, serverDelay: Int64, now: Int64) -> ClosedRange<Int64> {
        var low: Int64
        var high: Int64
        switch wish(facts, now: now) {
        case .after(let interval):
            let interval = bounded(interval, facts)
            low = interval - interval / 10
            high = interval + interval / 10
        case .appointment(let interval):
            low = bounded(interval, facts)
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
        if low < serverDelay {
            low = serverDelay
            high = max(high, serverDelay + serverDelay / 10)
        }
        return low...max(low, high)
    }

    /// Returns the interval, raised to at least `minimum` and the document's own interval, but at most `maximum`.
    private func bounded(_ interval: Int64, _ facts: RefreshFacts) -> Int64 {
        let asked = min(facts.updateInterval ?? 0, Self.longestInterval)
        return min(max(interval, minimum, asked), maximum)
    }

    private func wish(_ facts: RefreshFacts, now: Int64) -> ReleaseRhythm.Wish {
        if facts.failures > 0 {
            // A permanent refusal (401, 404…) usually means that the feed moved or was removed, so the back-off
            // skips its first two steps.
            let isPermanent = facts.head.map { Self.isPermanent($0.status) } ?? false
            let steps = min(facts.failures - 1 + (isPermanent ? 2 : 0), 20)
            let (product, overflow) = minimum.multipliedReportingOverflow(by: 1 << Int64(steps))
            return .after(overflow ? maximum : min(product, maximum))
        }
        let rhythm = facts.rhythm ?? ReleaseRhythm(published: facts.published, now: now)
        return rhythm.wish(now: now, minimum: minimum)
    }

    /// Returns whether the same request will be refused again: 4xx except 408, 425 and 429 (RFC 9110 §15.5, RFC 8470,
    /// RFC 6585).
    private static func isPermanent(_ status: Int) -> Bool {
        (400...499).contains(status) && ![408, 425, 429].contains(status)
    }

    /// Returns the first time outside the quiet hours and days, by adding whole hours to `time`, which preserves the
    /// random spread; `time` itself if there is none up to `latest`.
    private static func avoidingQuietTimes(_ facts: RefreshFacts, from time: Int64, latest: Int64) -> Int64 {
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

/// The delay of scheduled refreshes, or of the scheduled exchange with the sync server, after the library could not
/// record a result, for example because its disk is full.
///
/// A show whose refresh is not recorded stays due, and so does an exchange. Without a delay, the feed would be fetched,
/// or the exchange repeated, every second.
struct RecordingBackoff: Sendable {
    /// The number of consecutive delays, including the current one.
    private var failures = 0
    /// The end of the last delay; `nil` after a success.
    private(set) var until: Instant?

    /// The delay after the first failure, doubled after each further one.
    private static let firstDelay = Duration.seconds(60)
    /// The longest delay: the default of `refresh.min`, so that a show whose row cannot be written is fetched no more
    /// often than any other.
    private static let longestDelay = Duration.seconds(15 * 60)

    /// Whether scheduled refreshes wait.
    func isWaiting(at now: Instant) -> Bool { until.map { now < $0 } ?? false }

    /// Records that a refresh could not be recorded. Failures during a delay belong to the same round: they postpone
    /// its end and do not double it.
    ///
    /// - Returns: whether to log the failure, since it is the first one.
    mutating func failed(at now: Instant) -> Bool {
        let isFirst = failures == 0
        if !isWaiting(at: now) { failures += 1 }
        until = now + min(Self.firstDelay * (1 << min(failures - 1, 4)), Self.longestDelay)
        return isFirst
    }

    /// Records that a refresh was recorded. Ignored during a delay: other shows of the same round have failed, and
    /// would be fetched again at once.
    mutating func succeeded(at now: Instant) { if !isWaiting(at: now) { reset() } }

    /// Ends the delay, at a person's request.
    mutating func reset() { self = RecordingBackoff() }
}

/// The hosts that have answered last. A host that cannot be reached is in trouble only if others can: otherwise the
/// network is away.
struct AnsweringHosts: Sendable {
    /// The last two different hosts, and when each answered, in seconds since 1970.
    private var answers: [(host: String, time: Int64)] = []

    /// The time for which an answer shows that the network is there. Long, since some shows are refreshed once a day.
    private static let validity: Int64 = 86_400

    /// Records that a host has answered.
    mutating func answered(_ host: String, at time: Int64) {
        answers.removeAll { $0.host == host }
        answers.append((host, time))
        if answers.count > 2 { answers.removeFirst() }
    }

    /// Whether a host other than this one has answered in the last day.
    func hasOther(than host: String, at now: Int64) -> Bool {
        answers.contains { $0.host != host && $0.time <= now && now - $0.time < Self.validity }
    }
}
