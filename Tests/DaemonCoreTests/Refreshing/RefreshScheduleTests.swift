import Platform
import TestSupport
import Testing

@testable import PodcastService
@testable import Transfers

struct RefreshScheduleTests {
    private static let hour: Int64 = 3_600
    private static let day: Int64 = 86_400
    private static let week: Int64 = 7 * 86_400
    /// A Friday, 2026-11-20 10:00 UTC.
    private static let now: Int64 = 1_795_168_800

    private let schedule = RefreshSchedule()

    private func delay(_ facts: RefreshFacts, random: Double = 0.5, now: Int64 = now) -> Int64 {
        schedule.next(facts, now: now, random: random) - now
    }

    private static func head(_ status: Int = 200, _ fields: [String: String] = [:]) -> ResponseHead {
        ResponseHead(status: status, fields: fields)
    }

    @Test func theDefaultDelayIsFourHoursWithAJitterOfTenPercent() {
        #expect(delay(RefreshFacts(head: Self.head())) == 4 * Self.hour)
        #expect(delay(RefreshFacts(), random: 0) == 4 * Self.hour * 9 / 10)
        let latest = delay(RefreshFacts(), random: 0.999_999)
        #expect(latest > 4 * Self.hour * 109 / 100 && latest <= 4 * Self.hour * 11 / 10)
    }

    @Test func aThousandSimultaneousSubscriptionsAreSpread() {
        var dice = SeededGenerator(seed: 1)
        for facts in [
            RefreshFacts(), RefreshFacts(head: Self.head(200, ["cache-control": "max-age=3600"])),
            RefreshFacts(published: [1_000_000, 2_000_000, 3_000_000, 4_000_000]),
            RefreshFacts(head: Self.head(200, ["cache-control": "max-age=86400"])),
            RefreshFacts(updateInterval: 86_400), RefreshFacts(failures: 1), RefreshFacts(failures: 30),
        ] {
            var perMinute: [Int64: Int] = [:]
            for _ in 0..<1_000 {
                perMinute[delay(facts, random: .random(in: 0..<1, using: &dice)) / 60, default: 0] += 1
            }
            // After one failure the random spread is smallest, a tenth of a quarter of an hour.
            let most = facts.failures == 1 ? 900 : 250
            #expect((perMinute.values.max() ?? .max) < most, "\(facts)")
        }
    }

    @Test func freshnessIsObeyedUpToTheMaximum() {
        func delay(_ field: String, random: Double) -> Int64 {
            self.delay(RefreshFacts(head: Self.head(200, ["cache-control": field])), random: random)
        }
        #expect(delay("max-age=21600", random: 0) == 6 * Self.hour)
        #expect(delay("max-age=86400", random: 0) == Self.day)
        // A mistaken max-age of a year does not stop the refreshes of a show.
        #expect(delay("max-age=31536000", random: 0) == Self.day)
        #expect(delay("max-age=31536000", random: 0.999) < Self.day * 11 / 10)
        // A short max-age does not make refreshes more frequent.
        #expect(delay("max-age=60", random: 0.5) == 4 * Self.hour)
        #expect(delay("no-cache", random: 0.5) == 4 * Self.hour)
    }

    @Test func theIntervalInTheFeedIsTheMinimumUpToSixHours() {
        #expect(delay(RefreshFacts(updateInterval: 60)) == 4 * Self.hour)
        #expect(delay(RefreshFacts(updateInterval: 5 * Self.hour)) == 5 * Self.hour)
        #expect(delay(RefreshFacts(updateInterval: Self.week)) == 6 * Self.hour)
        #expect(delay(RefreshFacts(updateInterval: -1)) == 4 * Self.hour)
        #expect(delay(RefreshFacts(updateInterval: .max)) == 6 * Self.hour)
    }

    @Test func failuresBackOffExponentiallyUpToTheMaximum() {
        let delays = (1...10).map { delay(RefreshFacts(failures: $0)) }
        let quarters: [Int64] = [1, 2, 4, 8, 16, 32, 64].map { $0 * 900 }
        #expect(zip(delays.dropFirst(), quarters.dropFirst()).allSatisfy { abs($0 - $1) <= 1 })
        // The first delay is the minimum, a quarter of an hour, plus at most a tenth: jitter cannot shorten it.
        #expect(delays[0] >= 900 && delays[0] <= 990)
        #expect(delays.suffix(3).allSatisfy { $0 > Self.day * 9 / 10 && $0 <= Self.day })
        #expect(delay(RefreshFacts(failures: .max)) <= Self.day)
    }

    @Test func aPermanentRefusalStartsWithAnHour() {
        for status in [401, 403, 404] {
            #expect(delay(RefreshFacts(head: Self.head(status), failures: 1)) == Self.hour)
        }
        for status in [408, 425, 429, 500, 503] {
            #expect(delay(RefreshFacts(head: Self.head(status), failures: 1)) < Self.hour / 2)
        }
    }

    @Test func aMaximumBelowTheMinimumIsRaised() {
        let fixed = RefreshSchedule(minimum: 3_600, maximum: 60)
        #expect(fixed.minimum == 3_600 && fixed.maximum == 3_600)
        #expect(fixed.next(RefreshFacts(), now: 0, random: 0.7) == 3_600)
    }

    @Test func skippedHoursAndDaysAreLeftOut() {
        // Without quiet times the refresh would be at 14:00 on a Friday.
        #expect(delay(RefreshFacts(quietTimes: QuietTimes(hours: [14]))) == 5 * Self.hour)
        #expect(delay(RefreshFacts(quietTimes: QuietTimes(hours: [14, 15, 16]))) == 7 * Self.hour)
        #expect(delay(RefreshFacts(quietTimes: QuietTimes(hours: [3]))) == 4 * Self.hour)
        #expect(delay(RefreshFacts(quietTimes: QuietTimes(days: [5]))) == 14 * Self.hour)
        // Quiet times that cover all hours, or last beyond the maximum delay, are ignored: a publisher cannot stop the
        // refreshes of a show.
        #expect(delay(RefreshFacts(quietTimes: QuietTimes(hours: Set(0..<24)))) == 4 * Self.hour)
        #expect(delay(RefreshFacts(quietTimes: QuietTimes(days: [5, 6, 0]))) == 4 * Self.hour)
    }

    /// Simulates a year of a weekly show. Checks the number of refreshes, and the delay until a new episode is found.
    @Test func episodesOfAWeeklyShowAreFoundSoonWithFewRequests() throws {
        var dice = SeededGenerator(seed: 42)
        let start = Self.now
        // Fridays at ten, up to twenty minutes late, and sometimes up to two hours.
        let episodes = (-10..<52).map { number in
            start + Int64(number) * Self.week
                + Int64.random(in: 0...(number % 5 == 0 ? 7_000 : 1_200), using: &dice)
        }
        var time = start + 3 * Self.hour
        var requests = 0
        var found = episodes.filter { $0 <= time }.count
        var delays: [Int64] = []
        while time < start + 51 * Self.week {
            let out = episodes.filter { $0 <= time }
            requests += 1
            delays += out[found...].map { time - $0 }
            found = out.count
            let facts = RefreshFacts(
                head: Self.head(304, ["cache-control": "max-age=300"]), published: Array(out.suffix(30)))
            let next = schedule.next(facts, now: time, random: .random(in: 0..<1, using: &dice))
            #expect(next >= time + 900 && next <= time + Self.day)
            time = next
        }
        let sorted = delays.sorted()
        #expect(sorted.count >= 50)
        #expect(sorted[sorted.count / 2] < 20 * 60, "median \(sorted[sorted.count / 2]) s")
        #expect(try #require(sorted.last) < 75 * 60, "longest \(sorted.last ?? 0) s")
        #expect(requests < 51 * 16, "\(requests) requests in 51 weeks")
    }

    // MARK: Random facts

    private static func randomFacts(_ dice: inout SeededGenerator) -> RefreshFacts {
        func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &dice) < percent }
        func number() -> Int64 {
            let bits = Int.random(in: 0..<63, using: &dice)
            return Int64.random(in: 0...(1 << Int64(bits)), using: &dice)
        }
        var facts = RefreshFacts()
        if chance(80) {
            var fields: [String: String] = [:]
            if chance(40) {
                let kinds = ["max-age=\(number())", "no-cache", "s-maxage=\(number())", "max-age=x", "private"]
                fields["cache-control"] = kinds.randomElement(using: &dice)
            }
            if chance(30) { fields["age"] = String(number()) }
            if chance(20) { fields["retry-after"] = String(number()) }
            if chance(20) { fields["expires"] = "Sat, 21 Nov 2026 08:49:37 GMT" }
            facts.head = ResponseHead(
                status: [200, 304, 404, 429, 503].randomElement(using: &dice) ?? 200, fields: fields)
        }
        if chance(40) { facts.updateInterval = chance(10) ? -number() : number() }
        if chance(20) { facts.quietTimes.hours = Set((0..<24).filter { _ in Bool.random(using: &dice) }) }
        if chance(20) { facts.quietTimes.days = Set((0..<7).filter { _ in Bool.random(using: &dice) }) }
        let gap = number() % (60 * day) + 1
        facts.published = (0..<Int.random(in: 0..<40, using: &dice)).map {
            now - Int64($0) * gap - (Bool.random(using: &dice) ? number() % day : 0)
        }
        if chance(10) { facts.published.append(number()) }
        if chance(40) { facts.failures = Int(number() % 100) }
        return facts
    }

    @Test func theDelayIsWithinBoundsAndMonotonic() {
        var dice = SeededGenerator(seed: 2026)
        for _ in 0..<1_000 {
            let facts = Self.randomFacts(&dice)
            let minimum = Int64.random(in: 1...7_200, using: &dice)
            let schedule = RefreshSchedule(
                minimum: minimum, maximum: minimum + Int64.random(in: 0...200_000, using: &dice))
            let word =
                facts.head.map { head in
                    max(
                        min(Freshness.lifetime(head, now: Self.now)?.seconds ?? 0, schedule.maximum),
                        Freshness.retryAfter(head, now: Self.now)?.seconds ?? 0)
                } ?? 0
            let random = Double.random(in: 0..<1, using: &dice)
            func delay(_ facts: RefreshFacts, _ random: Double) -> Int64 {
                schedule.next(facts, now: Self.now, random: random) - Self.now
            }
            let result = delay(facts, random)
            #expect(result >= schedule.minimum && result >= word, "\(facts)")
            #expect(result <= max(schedule.maximum, word + word / 10), "\(facts)")
            #expect(result <= schedule.longestDelay.seconds, "\(facts)")

            // Quiet times lengthen the delay, and make it jump. Without them, the delay never falls when the random
            // number, the number of failures or Retry-After grows.
            var plain = facts
            plain.quietTimes = QuietTimes()
            #expect(delay(plain, random) <= result)
            #expect(delay(plain, random / 2) <= delay(plain, random), "by the random number: \(facts)")
            if plain.failures > 0 {
                var worse = plain
                worse.failures += 1
                #expect(delay(plain, random) <= delay(worse, random), "by failures: \(facts)")
            }
            var later = plain
            later.head = later.head ?? ResponseHead(status: 200)
            later.head?.fields["retry-after"] = String(word + Int64.random(in: 0...100_000, using: &dice))
            if word < Freshness.longest.seconds - 100_000 {
                #expect(delay(plain, random) <= delay(later, random), "by Retry-After: \(facts)")
            }
        }
    }
}
