import TestSupport
import Testing

@testable import PodcastService

struct ReleaseRhythmTests {
    private static let hour: Int64 = 3_600
    private static let day: Int64 = 86_400
    private static let week: Int64 = 7 * 86_400
    /// A Friday, 2026-11-20 10:00 UTC.
    private static let now: Int64 = 1_795_168_800
    private static let minimum: Int64 = 900

    private func rhythm(_ published: [Int64], at now: Int64 = now) -> ReleaseRhythm {
        ReleaseRhythm(published: published, now: now)
    }

    private static func every(_ gap: Int64, _ count: Int, last: Int64) -> [Int64] {
        (0..<Int64(count)).map { last - $0 * gap }
    }

    @Test func twoEpisodesAreNoRhythm() {
        #expect(rhythm([]).wish(now: Self.now, minimum: Self.minimum) == .after(4 * Self.hour))
        let two = rhythm([Self.now - Self.week, Self.now])
        #expect(two.gap == nil && two.windows.isEmpty && two.newest == Self.now)
        #expect(two.wish(now: Self.now, minimum: Self.minimum) == .after(4 * Self.hour))
    }

    @Test func theMedianGapIsNotMovedByAHolidayOrABatch() {
        var dates = Self.every(Self.week, 10, last: Self.now)
        dates.remove(at: 4)
        // A bonus episode ten minutes after a regular one, a date in the future, and invalid dates.
        dates += [Self.now - Self.week + 600, Self.now + Self.day, 0, -5, .max, .min]
        let rhythm = rhythm(dates.shuffled())
        #expect(rhythm.gap == Self.week && rhythm.newest == Self.now)
    }

    @Test func aShowOfThreeDaysAWeekHasThreeWindowsOfItsHours() {
        var dates: [Int64] = []
        for week in 0..<6 {
            for day in [0, 2, 4] as [Int64] {
                // Publishers are a little early or late: here twenty minutes.
                let wobble = Int64(week % 3 - 1) * 1_200
                dates.append(Self.now - Int64(week) * Self.week - day * Self.day + wobble)
            }
        }
        let rhythm = rhythm(dates, at: Self.now + Self.hour)
        #expect(rhythm.windows.count == 3)
        #expect(rhythm.windows.allSatisfy { $0.length == 2 * Self.hour + 2_400 })
        // Friday's episode is published. The next is Monday's: its window begins 1,200 s before 10:00.
        let sunday = Self.now + 2 * Self.day + 12 * Self.hour
        #expect(rhythm.wish(now: sunday, minimum: Self.minimum) != .after(Self.minimum))
        let monday = Self.now + 3 * Self.day
        #expect(rhythm.wish(now: monday, minimum: Self.minimum) == .after(Self.minimum))
    }

    @Test func theWindowSurvivesTheChangeFromSummerTime() {
        let dates = (0..<10).map { Self.now - Int64($0) * Self.week - ($0 > 4 ? Self.hour : 0) }
        let rhythm = rhythm(dates)
        #expect(rhythm.windows.count == 1)
        #expect(rhythm.windows.first?.length == 3 * Self.hour)
    }

    @Test func aShowWithoutUsualHoursHasNoWindow() {
        var dice = SeededGenerator(seed: 7)
        let dates = (0..<12).map { Self.now - Int64($0) * 5 * Self.day + Int64.random(in: -60_000...0, using: &dice) }
        let rhythm = rhythm(dates)
        #expect(rhythm.windows.isEmpty)
        #expect(rhythm.gap != nil)
    }

    @Test func aDueEpisodeIsAwaitedAndThenCheckedClosely() {
        let rhythm = rhythm(Self.every(Self.week, 8, last: Self.now))
        let due = Self.now + Self.week
        #expect(rhythm.wish(now: due - 3 * Self.hour, minimum: Self.minimum) == .appointment(3 * Self.hour))
        #expect(rhythm.wish(now: due + 60, minimum: Self.minimum) == .after(Self.minimum))
        #expect(rhythm.wish(now: due + 90 * 60, minimum: Self.minimum) == .after(Self.minimum))
        // The episode is late: it is still expected, but no longer checked at the minimum interval.
        #expect(rhythm.wish(now: due + 3 * Self.hour, minimum: Self.minimum) == .after(Self.week / 24))
        // The episode has just been published.
        let next = ReleaseRhythm(published: Self.every(Self.week, 9, last: due), now: due + 60)
        #expect(next.wish(now: due + 60, minimum: Self.minimum) == .after(Self.week / 8))
    }

    @Test func aShowIsRefreshedLessOftenTheLongerItIsSilent() {
        let rhythm = rhythm(Self.every(Self.week, 8, last: Self.now))
        var last: Int64 = 0
        for weeks in 3..<60 {
            guard case .after(let wish) = rhythm.wish(now: Self.now + Int64(weeks) * Self.week, minimum: Self.minimum)
            else {
                Issue.record("an appointment after \(weeks) weeks")
                return
            }
            #expect(wish == Int64(weeks) * Self.week / 8 && wish > last)
            last = wish
        }
    }
}
