import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastService

struct EpisodeRemovalsTests {
    private static let day: Int64 = 86_400
    fileprivate static let now: Int64 = 1_000 * day

    /// Returns an episode with the id 100 - `number`. Number 1 is the newest; each higher number is a day older.
    fileprivate static func episode(_ number: Int64, _ change: (inout RetainedEpisode) -> Void = { _ in })
        -> RetainedEpisode
    {
        var episode = RetainedEpisode(id: EpisodeID(100 - number), moment: now - number * day, cachedBytes: 10)
        change(&episode)
        return episode
    }

    private func removed(_ episodes: [RetainedEpisode], _ keep: Keep) -> [EpisodeID] {
        keep.removals(from: episodes, now: Self.now)
    }

    @Test func keepAllRetainsEveryReadableEpisode() {
        let episodes = (1...5).map { number in
            Self.episode(number) {
                $0.listed = number < 3
                $0.isMediaGone = number == 1 || number == 4 || number == 5
                $0.complete = number == 5
            }
        }
        // The media of 1, 4 and 5 are gone from the server. But 1 is still in the feed, and 5 has a complete copy in
        // the cache. So only 4 is removed.
        #expect(removed(episodes, .all) == [96])
    }

    @Test func theNewestAreKeptAndProtectedOnesCountAmongThem() {
        #expect(removed((1...6).map { Self.episode($0) }.shuffled(), .episodes(4)) == [95, 94])
        #expect(removed((1...3).map { Self.episode($0) }, .episodes(4)).isEmpty)
        // Among simultaneous episodes the highest id is the newest.
        #expect(removed([7, 9, 8].map { RetainedEpisode(id: $0, moment: 5) }, .episodes(1)) == [8, 7])
        let episodes = [Self.episode(1) { $0.pinned = true }, Self.episode(2), Self.episode(3)]
        #expect(removed(episodes, .episodes(2)) == [97])
    }

    @Test(
        arguments: [
            ("5 episodes", "all", true), ("all", "5 episodes", false), ("5 episodes", "6 episodes", true),
            ("6 episodes", "5 episodes", false), ("5 days", "5 days", true), ("6 days", "5 days", false),
            ("listed", "all", true), ("listed", "5 days", false), ("5 days", "listed", false),
            ("5 days", "5 episodes", false), ("all", "all", true),
        ])
    func oneKeepIsWithinAnother(narrow: String, wide: String, isWithin: Bool) throws {
        #expect(try #require(Keep(narrow)).isWithin(#require(Keep(wide))) == isWithin)
    }

    @Test func theLastDaysOrTheListedEpisodesAreKept() {
        #expect(removed((1...6).map { Self.episode($0) }, .days(4)) == [95, 94])
        #expect(removed([Self.episode(4) { $0.moment -= 1 }], .days(4)) == [96])
        let episodes = (1...4).map { number in Self.episode(number) { $0.listed = number.isMultiple(of: 2) } }
        #expect(removed(episodes, .listed) == [99, 97])
    }

    @Test func pinnedOpenAndStartedEpisodesStay() {
        let needed: [(inout RetainedEpisode) -> Void] = [
            { $0.pinned = true }, { $0.isOpen = true }, { $0.position = 30 },
        ]
        for change in needed {
            for keep in [Keep.episodes(1), .days(1), .listed, .all] {
                let episodes = [1, 9].map { number in
                    Self.episode(number) {
                        if number == 9 { change(&$0) }
                        ($0.listed, $0.isMediaGone) = (false, true)
                    }
                }
                #expect(!removed(episodes, keep).contains(91))
            }
        }
        // An episode that was played to the end, or whose position is below 30 seconds, is not protected.
        let heard = Self.episode(9) {
            $0.position = 120
            $0.played = true
        }
        #expect(removed([Self.episode(1), heard], .episodes(1)) == [91])
        #expect(removed([Self.episode(1), Self.episode(9) { $0.position = 29 }], .episodes(1)) == [91])
    }
}

struct KeepTests {
    @Test(arguments: [
        ("all", Keep.all), (" All ", .all), ("listed", .listed), ("1 episode", .episodes(1)),
        ("20 episodes", .episodes(20)), ("20EPISODES", .episodes(20)), ("30 days", .days(30)), ("1 day", .days(1)),
    ])
    func formsAreRead(text: String, keep: Keep) {
        #expect(Keep(text) == keep)
        #expect(Keep(keep.description) == keep)
    }

    @Test(arguments: ["", "20", "0 episodes", "-1 days", "1.5 days", "20 weeks", "none", "1e3 days", "100001 episodes"])
    func everythingElseIsRefused(text: String) {
        #expect(Keep(text) == nil)
    }
}

struct AutoDownloadTests {
    private static func episode(_ number: Int64, _ change: (inout RetainedEpisode) -> Void = { _ in })
        -> RetainedEpisode
    {
        EpisodeRemovalsTests.episode(number) {
            $0.cachedBytes = 0
            change(&$0)
        }
    }

    /// An episode that was enqueued automatically.
    private static func automatic(_ number: Int64, _ change: (inout RetainedEpisode) -> Void) -> RetainedEpisode {
        episode(number) {
            $0.isAutomatic = true
            change(&$0)
        }
    }

    private func plan(_ episodes: [RetainedEpisode], _ count: Int) -> AutoDownload {
        AutoDownload(episodes.shuffled(), newest: count, keep: .all, now: EpisodeRemovalsTests.now)
    }

    @Test func trailersAndBonusItemsDoNotCountUnlessThereIsNothingElse() {
        let trailer = Self.episode(1) { $0.type = "trailer" }
        let bonus = Self.episode(2) { $0.type = "bonus" }
        #expect(plan([trailer, bonus, Self.episode(3), Self.episode(4) { $0.type = "full" }], 2).enqueue == [97, 96])
        #expect(plan([trailer, bonus], 1).enqueue == [99])
    }

    @Test func automaticDownloadsThatAreNoLongerAmongTheNewestAreDropped() {
        let episodes = [
            Self.episode(1), Self.automatic(2) { $0.complete = true }, Self.automatic(3) { $0.complete = true },
            Self.automatic(4) { $0.hasTask = true }, Self.automatic(5) { $0.cachedBytes = 7 },
            Self.episode(6) { $0.complete = true }, Self.episode(7) { $0.hasTask = true },
        ]
        let plan = plan(episodes, 2)
        #expect(plan.enqueue == [99] && plan.evict == [97] && plan.cancel == [96, 95])
    }

    @Test func turningItOffCancelsDownloadsAndKeepsCompleteFiles() {
        let complete = Self.automatic(1) { $0.complete = true }
        let running = Self.automatic(2) { $0.hasTask = true }
        let plan = plan([complete, running, Self.episode(3)], 0)
        #expect(plan.enqueue.isEmpty && plan.cancel == [98] && plan.evict.isEmpty)
    }
}
