/// When a show's episodes come out, learned from those that did. Pure.
///
/// Most shows keep an hour of the week: those hours are looked at closely. For the others the gap between episodes
/// says how often a look is worth it. All in seconds, and all in UTC: where clocks are changed twice a year the hour
/// wanders by one, which the tolerance covers.
package struct ReleaseRhythm: Sendable, Equatable {
    /// A part of the week in which episodes use to come out.
    package struct Window: Sendable, Hashable {
        /// Seconds from the beginning of a week that begins on a Thursday at 0:00 UTC, as 1970 did.
        package let start: Int64
        package let length: Int64
    }

    /// What a rhythm says about the next look.
    package enum Wish: Sendable, Equatable {
        /// After about so many seconds.
        case after(Int64)
        /// In so many seconds, when an episode is due: not earlier.
        case appointment(Int64)
    }

    /// The newest episode that is out.
    package let newest: Int64?
    /// The median of the gaps between episodes: a holiday or a double issue does not move it.
    package let gap: Int64?
    package let windows: [Window]

    private static let hour: Int64 = 3_600
    private static let day: Int64 = 86_400
    private static let week: Int64 = 7 * 86_400
    /// Episodes that are closer together came out as one: a batch, a bonus beside its episode.
    private static let batch: Int64 = 30 * 60
    /// What is looked back on: enough weeks to tell a habit from chance, few enough that a new habit is learned.
    private static let memory: Int64 = 12 * week
    private static let mostReleases = 60
    /// How far from each other two episodes of one habit come out; with it the change to summer time.
    private static let tolerance: Int64 = 2 * hour
    /// How long an episode that is late is looked for closely.
    private static let patience: Int64 = 2 * hour

    /// - Parameter published: dates of episodes in any order; those after `now` are announcements or mistakes, and are
    ///   passed over.
    package init(published: [Int64], now: Int64) {
        var releases: [Int64] = []
        for date in published.filter({ $0 > 0 && $0 <= now }).sorted(by: >) {
            if let last = releases.last, last - date < Self.batch { continue }
            releases.append(date)
            if releases.count == Self.mostReleases { break }
        }
        newest = releases.first
        // A yearly show has a gap, too, hence the whole list; one gap alone is chance.
        let gaps = zip(releases, releases.dropFirst()).prefix(20).map { $0 - $1 }.sorted()
        gap = gaps.count >= 2 ? gaps[gaps.count / 2] : nil
        guard let newest else {
            windows = []
            return
        }
        windows = Self.windows(of: releases.filter { newest - $0 < Self.memory })
    }

    private static func windows(of releases: [Int64]) -> [Window] {
        guard let newest = releases.first, let oldest = releases.last else { return [] }
        let weeks = Int((newest - oldest + week / 2) / week) + 1
        // With their places in the week.
        var rest = releases.map { (date: $0, place: modulo($0, week)) }
        var windows: [Window] = []
        while !rest.isEmpty {
            // The date that has most others near it, the newest of several.
            var best = (index: 0, count: 0)
            for (index, center) in rest.enumerated() {
                let count = rest.count { abs(Self.offset($0.place, from: center.place)) <= tolerance }
                if count > best.count { best = (index, count) }
            }
            let middle = rest[best.index].place
            let cluster = rest.filter { abs(Self.offset($0.place, from: middle)) <= tolerance }
            guard let center = cluster.first else { break }
            // Three times is a habit, and so is every second week. Each week counts once.
            let offsets = cluster.map { Self.offset($0.place, from: center.place) }
            let times = Set(zip(cluster, offsets).map { ($0.date - center.date - $1) / week }).count
            if times >= 3, times * 2 >= weeks {
                let first = offsets.min() ?? 0
                let last = offsets.max() ?? 0
                windows.append(Window(start: modulo(center.place + first, week), length: last - first + patience))
            }
            rest.removeAll { abs(Self.offset($0.place, from: middle)) <= tolerance }
        }
        return windows.sorted { $0.start < $1.start }
    }

    /// How far a place in the week lies from another, from −3.5 to 3.5 days.
    private static func offset(_ place: Int64, from center: Int64) -> Int64 {
        let distance = place - center
        if distance >= week / 2 { return distance - week }
        return distance < -week / 2 ? distance + week : distance
    }

    private static func modulo(_ value: Int64, _ divisor: Int64) -> Int64 {
        let rest = value % divisor
        return rest < 0 ? rest + divisor : rest
    }

    /// When the feed is worth a look again.
    ///
    /// - Parameter minimum: seconds between two looks while an episode is due.
    package func wish(now: Int64, minimum: Int64) -> Wish {
        guard let newest, let gap else { return .after(Self.unknown) }
        let silence = max(0, now - newest)
        let idle = Self.idle(gap: gap, silence: silence)
        // A pause of ten days is longer than any gap of a habit that is kept each week, and two and a half times the
        // gap is more than one episode left out: then the hours mean nothing until the next episode.
        guard silence * 2 <= gap * 5 || silence <= 10 * Self.day else { return .after(idle) }
        var appointment = Int64.max
        for window in windows {
            let sinceStart = Self.modulo(now - window.start, Self.week)
            let isOut = newest >= now - sinceStart - Self.tolerance
            if sinceStart < window.length, !isOut { return .after(minimum) }
            appointment = min(appointment, Self.week - sinceStart)
        }
        // A look shortly before an episode is due is wasted.
        return appointment <= idle + idle / 2 ? .appointment(appointment) : .after(idle)
    }

    /// Four hours where nothing is known: a new show, or one without dates.
    private static let unknown: Int64 = 4 * hour

    /// Eight looks from one episode to the next find it after a sixteenth of the gap on average; from three quarters
    /// of the gap on it is due and three times as many are worth it. After twice the gap the show is on a pause, and
    /// looks become rarer the longer that lasts.
    private static func idle(gap: Int64, silence: Int64) -> Int64 {
        if silence > gap * 2 { return silence / 8 }
        return silence * 4 >= gap * 3 ? gap / 24 : gap / 8
    }
}
