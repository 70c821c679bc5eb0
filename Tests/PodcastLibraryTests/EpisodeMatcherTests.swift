import PodcastFeed
import Testing

@testable import PodcastLibrary

struct EpisodeMatcherTests {
    private func facts(
        _ guid: String?, _ url: String, _ title: String? = nil, _ published: Int64? = nil,
        type: String? = "audio/mpeg", duration: Double? = nil
    ) -> EpisodeIdentity {
        EpisodeIdentity(
            guid: guid, url: "https://example.com/" + url, title: title,
            published: published.map { PublicationDate(seconds: $0, offset: 0) }, type: type, duration: duration)
    }

    /// A new generator may change all guids. The episodes are known by their files, even if they share one.
    @Test(arguments: [false, true]) func newGuidsAloneMakeNoNewEpisodes(isSharedURL: Bool) {
        func feed(_ generator: String) -> [EpisodeIdentity] {
            (0..<500).map { number in
                facts(
                    "\(generator)\(number)", isSharedURL ? "a.mp3" : "\(number).mp3", "Episode \(number)",
                    noon + Int64(number) * day)
            }
        }
        #expect(EpisodeMatcher.match(items: feed("new"), rows: feed("old")) == Array(0..<500))
    }

    @Test func aGuidThatEqualsTheURLMayRotateWithIt() {
        let base = "https://example.com/"
        let rows = ["a", "b"].map { facts("\(base)\($0).mp3?token=1", "\($0).mp3?token=1", "News", noon) }
        let items = ["b", "a"].map { facts("\(base)\($0).mp3?token=2", "\($0).mp3?token=2", "News", noon) }
        #expect(EpisodeMatcher.match(items: items, rows: rows) == [1, 0])
        // A different guid outweighs the equal path.
        let row = facts("1", "play?id=1", "News", noon)
        #expect(EpisodeMatcher.match(items: [facts("2", "play?id=2", "News at six", noon)], rows: [row]) == [nil])
    }

    @Test func aQueryThatDistinguishesEpisodesIsNotIgnored() {
        let rows = [facts(nil, "play?id=1", "One", noon), facts(nil, "play?id=2", "Two", noon + day)]
        let items = [facts(nil, "play?id=3", "Three", noon + 2 * day), facts(nil, "play?id=2", "Two", noon + day)]
        #expect(EpisodeMatcher.match(items: items, rows: rows) == [nil, 1])
        // A feed of one item does not show whether its episodes have different paths, so title and day decide.
        let single = [facts(nil, "play?id=2", "Two", noon + day)]
        #expect(EpisodeMatcher.match(items: single, rows: [rows[0]]) == [nil])
    }

    @Test func aScriptThatServesADailyBulletinServesManyEpisodes() {
        // The feed has one item at a time, always with the same title and path.
        let row = facts(nil, "play?id=1", "News", noon)
        #expect(EpisodeMatcher.match(items: [facts(nil, "play?id=2", "News", noon + day)], rows: [row]) == [nil])
        let (old, new) = ("https://example.com/play?id=1", "https://example.com/play?id=2")
        #expect(
            EpisodeMatcher.match(
                items: [facts(new, "play?id=2", "News", noon + day)], rows: [facts(old, "play?id=1", "News", noon)])
                == [nil])
        // After a move to another host, the next bulletin is still a new episode.
        let moved = [row, EpisodeIdentity(url: "https://cdn.e.com/play?id=2", title: "News", published: row.published)]
        let next = PublicationDate(seconds: noon + 2 * day, offset: 0)
        let third = EpisodeIdentity(url: "https://cdn.e.com/play?id=3", title: "News", published: next)
        #expect(EpisodeMatcher.match(items: [third], rows: moved) == [nil])
        // A rotating token does not matter.
        #expect(EpisodeMatcher.match(items: [facts(nil, "play?id=1&t=2", "News", noon)], rows: [row]) == [0])
        let untitled = facts(nil, "play?id=1", nil, noon)
        #expect(EpisodeMatcher.match(items: [facts(nil, "play?id=1&t=2", nil, noon)], rows: [untitled]) == [0])
    }

    @Test func aNewGuidAtTheSameURLIsTheSameEpisodeIfTheOldGuidIsAbsent() {
        let rows = [facts("old", "a.mp3", "One", noon)]
        #expect(EpisodeMatcher.match(items: [facts("new", "a.mp3", "One (fixed)", noon + 3 * day)], rows: rows) == [0])
        // If the old guid is present, the row matches the item with that guid.
        let items = [facts("new", "a.mp3", "Rerun", noon + 9 * day), facts("old", "a.mp3", "One", noon)]
        #expect(EpisodeMatcher.match(items: items, rows: rows) == [nil, 0])
    }

    @Test func aReissuedEpisodeIsMatchedByTitleAndDay() {
        let rows = [facts("old", "a.mp3", "Ep. 12 – Hello!", noon, duration: 3600)]
        let anew = facts("new", "cdn/x.mp3", "ep 12: hello", noon + 3600, duration: 3900)
        #expect(EpisodeMatcher.match(items: [anew], rows: rows) == [0])
        let nextDay = facts("new", "cdn/x.mp3", "ep 12: hello", noon + day, duration: 3900)
        #expect(EpisodeMatcher.match(items: [nextDay], rows: rows) == [nil])
        let longer = facts("new", "cdn/x.mp3", "ep 12: hello", noon, duration: 4300)
        #expect(EpisodeMatcher.match(items: [longer], rows: rows) == [nil])
        let video = facts("new", "cdn/x.mp4", "ep 12: hello", noon, type: "video/mp4", duration: 3600)
        #expect(EpisodeMatcher.match(items: [video], rows: rows) == [nil])
        let untitled = [facts("old", "a.mp3", nil, noon)]
        #expect(EpisodeMatcher.match(items: [facts("new", "b.mp3", nil, noon)], rows: untitled) == [nil])
    }

    @Test func anotherTimeZoneMovesDaysButKeepsEpisodes() {
        // Published at 20:00 UTC and at 04:00 UTC of the next day. In the zone UTC+10 both are on the second day.
        func bulletins(_ guids: [String?], _ path: String, zone: Int) -> [EpisodeIdentity] {
            zip(guids, [0, 1]).map { guid, number in
                var bulletin = facts(guid, "\(path)\(number).mp3", "News", noon + Int64(number + 1) * 28_800)
                bulletin.published?.offset = zone
                return bulletin
            }
        }
        let rows = bulletins(["1", "2"], "", zone: 0)
        let moved = bulletins(["3", "4"], "cdn/", zone: 36_000)
        #expect(EpisodeMatcher.match(items: moved, rows: rows) == [0, 1])
        // The feed no longer lists the second bulletin.
        #expect(EpisodeMatcher.match(items: [moved[0]], rows: rows) == [0])
        // Both bulletins have the same guid.
        let shared = bulletins(["x", "x"], "", zone: 0)
        let rotated = bulletins(["x", "x"], "cdn/", zone: 36_000)
        #expect(EpisodeMatcher.match(items: rotated.reversed(), rows: shared) == [1, 0])
        #expect(EpisodeMatcher.match(items: [rotated[0]], rows: shared) == [0])
    }

    @Test(
        arguments: [(nil, 3..<6, [nil, nil, nil]), ("latest", 2..<5, [2, nil, nil])] as [(String?, Range<Int>, [Int?])])
    func bulletinsOfOneDayAreDifferentEpisodes(name: String?, later: Range<Int>, rowOfItem: [Int?]) {
        func bulletin(_ number: Int) -> EpisodeIdentity {
            facts("\(number)", "\(name ?? "\(number)").mp3", "News", noon + Int64(number) * 3600)
        }
        #expect(EpisodeMatcher.match(items: later.map(bulletin), rows: (0..<3).map(bulletin)) == rowOfItem)
    }

    @Test func twoItemsOfOneGuidAreTwoEpisodes() {
        let items = [facts("same", "b.mp3", "Two", noon + day), facts("same", "a.mp3", "One", noon)]
        #expect(EpisodeMatcher.match(items: items, rows: []) == [nil, nil])
        #expect(EpisodeMatcher.match(items: items, rows: items) == [0, 1])
        #expect(EpisodeMatcher.match(items: items.reversed(), rows: items) == [1, 0])
        // All items have the same guid. The feed still lists two items: the oldest was removed, and a new one added.
        let next = [facts("same", "c.mp3", "Three", noon + 2 * day), items[0]]
        #expect(EpisodeMatcher.match(items: next, rows: items) == [nil, 0])
        // The feed lists only one item. It matches the row with the same URL.
        #expect(EpisodeMatcher.match(items: [items[1]], rows: items) == [1])
    }

    @Test func identicalItemsAreTwoEpisodesAndStaySo() {
        let items = [facts("same", "a.mp3", "One", noon), facts("same", "a.mp3", "One", noon)]
        #expect(EpisodeMatcher.match(items: items, rows: [items[0]]) == [0, nil])
        #expect(EpisodeMatcher.match(items: items, rows: items) == [0, 1])
        let bare = [facts(nil, "a.mp3"), facts(nil, "a.mp3")]
        #expect(EpisodeMatcher.match(items: bare, rows: bare) == [0, 1])
    }

    @Test func twentyThousandItemsOfOneGuidAreMatched() {
        let rows = (0..<20_000).map { facts("same", "\($0).mp3", "Title", noon + Int64($0)) }
        let items = Array(rows.reversed())
        #expect(EpisodeMatcher.match(items: items, rows: rows) == (0..<20_000).reversed().map { $0 })
    }
}
