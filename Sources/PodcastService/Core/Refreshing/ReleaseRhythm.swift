/// The times at which a show publishes episodes, inferred from past dates. Pure.
///
/// Most shows publish at a fixed hour of the week, around which refreshes are frequent. For others the median gap
/// determines the interval. All times are in seconds and UTC: daylight saving time shifts the hour by one, which the
/// tolerance covers.
struct ReleaseRhythm: Sendable, Equatable {
    /// A part of the week in which an episode is expected: from the earliest usual release until `lateness` after the
    /// latest one.
    struct Window: Sendable, Hashable {
        /// Seconds since the start of a week that begins on Thursday, 0:00 UTC, as 1970 did.
        let start: Int64
        let length: Int64
    }

    /// The preferred time of the next refresh.
    enum Wish: Sendable, Equatable {
        /// After about this many seconds.
        case after(Int64)
        /// In this many seconds, when an episode is due, and not earlier.
        case appointment(Int64)
    }

    /// The date of the newest published episode; `nil` if there is none.
    let newest: Int64?
    /// The median of the newest 20 gaps between releases; `nil` with fewer than two gaps. Robust against a holiday
    /// or a double issue.
    let gap: Int64?
    let windows: [Window]

    private static let hour: Int64 = 3_600
    private static let day: Int64 = 86_400
    private static let week: Int64 = 7 * 86_400
    /// The interval below which episodes count as one release, such as a batch of episodes, or an episode and its bonus
    /// episode.
    private static let batchSpan: Int64 = 30 * 60
    /// The length of the history used: enough weeks to distinguish a habit, a usual time in the week, from chance, and
    /// few enough to follow a new habit.
    private static let historyLength: Int64 = 12 * week
    private static let maxReleases = 60
    /// The maximum distance of an episode from the center of its habit, including the change to daylight saving time.
    private static let tolerance: Int64 = 2 * hour
    /// The time after the latest usual release during which checks stay frequent, since the episode may be late.
    private static let lateness: Int64 = 2 * hour

    /// - Parameter published: publication dates in any order; those after `now` are announcements or mistakes, and are
    ///   ignored.
    init(published: [Int64], now: Int64) {
        var releases: [Int64] = []
        for date in published.filter({ $0 > 0 && $0 <= now }).sorted(by: >) {
            if let last = releases.last, last - date < Self.batchSpan { continue }
            releases.append(date)
            if releases.count == Self.maxReleases { break }
        }
        newest = releases.first
        // Include releases older than `historyLength`: a yearly show has a gap, too. A single gap may be chance.
        let gaps = zip(releases, releases.dropFirst()).prefix(20).map { $0 - $1 }.sorted()
        gap = gaps.count >= 2 ? gaps[gaps.count / 2] : nil
        guard let newest else {
            windows = []
            return
        }
        windows = Self.windows(of: releases.filter { newest - $0 < Self.historyLength })
    }

    private static func windows(of releases: [Int64]) -> [Window] {
        guard let newest = releases.first, let oldest = releases.last else { return [] }
        let weeks = Int((newest - oldest + week / 2) / week) + 1
        // Each date with its position in the week.
        var rest = releases.map { (date: $0, place: modulo($0, week)) }
        var windows: [Window] = []
        while !rest.isEmpty {
            // The date with the most others near it; the newest in case of a tie.
            var best = (index: 0, count: 0)
            for (index, center) in rest.enumerated() {
                let count = rest.count { abs(Self.offset($0.place, from: center.place)) <= tolerance }
                if count > best.count { best = (index, count) }
            }
            let middle = rest[best.index].place
            let cluster = rest.filter { abs(Self.offset($0.place, from: middle)) <= tolerance }
            guard let center = cluster.first else { break }
            // A habit needs releases in at least three weeks, and in at least half of all weeks. Each week counts once.
            let offsets = cluster.map { Self.offset($0.place, from: center.place) }
            let times = Set(zip(cluster, offsets).map { ($0.date - center.date - $1) / week }).count
            if times >= 3, times * 2 >= weeks {
                let first = offsets.min() ?? 0
                let last = offsets.max() ?? 0
                windows.append(Window(start: modulo(center.place + first, week), length: last - first + lateness))
            }
            rest.removeAll { abs(Self.offset($0.place, from: middle)) <= tolerance }
        }
        return windows.sorted { $0.start < $1.start }
    }

    /// Returns the distance in seconds between two positions in the week, from −3.5 to 3.5 days.
    private static func offset(_ place: Int64, from center: Int64) -> Int64 {
        modulo(place - center + week / 2, week) - week / 2
    }

    private static func modulo(_ value: Int64, _ divisor: Int64) -> Int64 {
        (value % divisor + divisor) % divisor
    }

    /// Returns when the feed should be checked next.
    ///
    /// - Parameter minimum: seconds between two checks while an episode is due.
    func wish(now: Int64, minimum: Int64) -> Wish {
        guard let newest, let gap else { return .after(Self.unknown) }
        let silence = max(0, now - newest)
        let idle = Self.idle(gap: gap, silence: silence)
        // A silence longer than two and a half gaps, and longer than ten days, means that more than one episode has
        // been skipped: ignore the usual hours until the next episode. No gap of a weekly habit exceeds ten days.
        guard silence * 2 <= gap * 5 || silence <= 10 * Self.day else { return .after(idle) }
        var appointment = Int64.max
        for window in windows {
            let sinceStart = Self.modulo(now - window.start, Self.week)
            let isReleased = newest >= now - sinceStart - Self.tolerance
            if sinceStart < window.length, !isReleased { return .after(minimum) }
            appointment = min(appointment, Self.week - sinceStart)
        }
        // A check shortly before an episode is due is wasted. So if the next window starts within one and a half
        // intervals, the next check waits for it.
        return appointment <= idle + idle / 2 ? .appointment(appointment) : .after(idle)
    }

    /// The interval when no gap is known, for a new show or one without dates: four hours.
    private static let unknown: Int64 = 4 * hour

    /// Returns the interval outside the usual hours. Eight checks per gap find an episode after a sixteenth of the gap
    /// on average; from three quarters of the gap on, three times as many are worthwhile. After twice the gap the show
    /// has paused, and checks become rarer with time.
    private static func idle(gap: Int64, silence: Int64) -> Int64 {
        if silence > gap * 2 { return silence / 8 }
        return silence * 4 >= gap * 3 ? gap / 24 : gap / 8
    }
}
