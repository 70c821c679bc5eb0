import Foundation
import PodcastFeed
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary

/// Views, which are saved selections of episodes, and the episodes that the library stores for each of them.
struct LibraryViewsTests {
    private var (folder, library) = makeLibrary()
    /// The current time. Tests need it because views compare dates with the clock.
    private let today = Int64(Date().timeIntervalSince1970)

    /// Subscribes to a show with one episode per day, the newest published now. The durations are 10, 20, 30 … minutes.
    @discardableResult
    private func subscribe(_ title: String, _ count: Int) throws -> MergeResult {
        let items = (1...count).map { number in
            makeItem(
                "\(title) \(number)", url: "https://e.com/\(title)/\(number).mp3",
                published: today - Int64(count - number) * day, duration: Double(number) * 600)
        }
        return try library.subscribe(items, url: "https://e.com/\(title)", title: title)
    }

    private func titles(_ view: String) throws -> [String] {
        try library.episodes(in: view).map { try library.episode(id: $0)?.title ?? "" }
    }

    private func revision(_ view: String) throws -> Int64? { try library.viewFolder(named: view)?.revision }

    @Test func thePredefinedViewsFollowEveryChange() throws {
        #expect(try library.viewFolders().map(\.name) == ["Downloaded", "In Progress", "Latest", "Unplayed"])
        let one = try subscribe("One", 3).podcast.id
        #expect(try titles("Latest") == ["One 3", "One 2", "One 1"] && titles("Unplayed") == titles("Latest"))
        #expect(try titles("Downloaded").isEmpty && titles("In Progress").isEmpty)
        let ids = try library.entries(of: one).map(\.id)
        try library.setPosition(episode: ids[0], 29, now: noon)
        #expect(try titles("In Progress").isEmpty)
        try library.setPosition(episode: ids[0], 30, now: noon)
        #expect(try titles("In Progress") == ["One 3"])
        let before = try #require(try revision("Latest"))
        try library.setPlayed(episode: ids[0], true, now: noon)
        #expect(try titles("In Progress").isEmpty && titles("Unplayed") == ["One 2", "One 1"])
        #expect(try titles("Latest").count == 3)
        #expect(try #require(try revision("Latest")) > before, "a displayed fact of an episode has changed")
        try library.setPlayed(episode: ids[0], false, now: noon)
        #expect(try titles("Unplayed") == ["One 3", "One 2", "One 1"] && titles("In Progress") == ["One 3"])
        try library.pin(Rendition(episode: ids[1], generation: 1, file: "f"), now: noon)
        #expect(try titles("Downloaded").isEmpty)
        try library.complete(episode: ids[1], generation: 1, size: 9, sha256: "", now: noon)
        #expect(try titles("Downloaded") == ["One 2"])
        try library.dropRendition(episode: ids[1], now: noon)
        #expect(try titles("Downloaded").isEmpty)
        _ = try library.bury(episodes: [ids[2]], now: noon)
        #expect(try titles("Unplayed") == ["One 3", "One 2"])
        try library.unbury(episodes: [ids[2]], now: noon)
        #expect(try titles("Unplayed").count == 3)
        _ = try library.unsubscribe(podcast: one)
        #expect(try titles("Latest").isEmpty && titles("Unplayed").isEmpty)
        #expect(try library.viewFolders().allSatisfy { $0.count == 0 })
    }

    @Test func aLimitedViewIsRefilledInItsOrder() throws {
        try subscribe("One", 8)
        try library.setView(named: "Three", ["unplayed=true", "limit=3"], now: noon)
        #expect(try titles("Three") == ["One 8", "One 7", "One 6"])
        try library.setPlayed(episode: try library.episodes(in: "Three")[1], true, now: noon)
        #expect(try titles("Three") == ["One 8", "One 6", "One 5"])
        for (order, expected) in [
            ("oldest", ["One 1", "One 2", "One 3"]), ("longest", ["One 8", "One 6", "One 5"]),
            ("shortest", ["One 1", "One 2", "One 3"]),
        ] {
            try library.setView(named: "three", ["order=\(order)"], now: noon)
            #expect(try titles("Three") == expected, "\(order)")
        }
    }

    @Test func conditionsSelectEpisodes() throws {
        let one = try subscribe("One", 8).podcast.id
        try subscribe("Two", 4)
        try library.setTags(["News", "Daily"], of: one)
        for (assignments, expected) in [
            (["title=^one [12]$"], ["One 2", "One 1"]), (["show=two", "limit=1"], ["Two 4"]),
            (["tag=daily, other", "max_duration=20m"], ["One 2", "One 1"]),
            (["min_duration=70m"], ["One 8", "One 7"]), (["newer_than=36h", "show=One"], ["One 8", "One 7"]),
            (["older_than=6 days"], ["One 2", "One 1"]), (["type=video"], []), (["pinned=true"], []),
            (["unplayed=false"], []), (["show=Nothing"], []),
        ] as [([String], [String])] {
            try library.setView(named: "V", assignments, now: today)
            #expect(try titles("V") == expected, "\(assignments)")
            _ = try library.removeView(named: "v")
        }
        #expect(throws: SettingError.self) { try library.removeView(named: "V") }
    }

    @Test func settingTheSameTagsConsumesNoIds() throws {
        let one = try subscribe("One", 1).podcast.id
        let two = try subscribe("Two", 1).podcast.id
        try library.setTags(["News", "Daily"], of: one)
        try library.write { db in
            for _ in 1...1_000 { try Library.setTags(["NEWS", "daily"], of: two, db) }
        }
        #expect(try library.tags().map(\.name) == ["Daily", "News"])
        try library.setTags(["Weekly"], of: one)
        #expect(try library.tag(named: "News")?.id == TagID(1) && library.tag(named: "Weekly")?.id == TagID(3))
    }

    @Test func tagsAndNamesOfAShowChangeItsViews() throws {
        let one = try subscribe("One", 2).podcast.id
        try library.setView(named: "Tagged News", ["tag=news"], now: noon)
        try library.setView(named: "Uno", ["show=uno"], now: noon)
        #expect(try titles("Tagged News").isEmpty && titles("Uno").isEmpty)
        try library.setTags(["NEWS"], of: one)
        #expect(try titles("Tagged News").count == 2 && library.tags().map(\.name) == ["NEWS"])
        let before = try revision("Tagged News")
        try library.setTags([], of: one)
        #expect(try titles("Tagged News").isEmpty && library.tags().isEmpty && revision("Tagged News") != before)
        #expect(throws: LibraryError.nameTaken("uno")) { try library.renamePodcast(id: one, to: "uno") }
        try library.renamePodcast(id: one, to: "Eins")
        try library.setView(named: "Uno", ["show=eins"], now: noon)
        #expect(try titles("Uno").count == 2)
        try library.renamePodcast(id: one, to: "Ein")
        #expect(try titles("Uno").isEmpty)
    }

    @Test func addedTagsAreLimitedInNumber() throws {
        let show = try subscribe("One", 1).podcast.id
        try library.addTags((11...40).map { "Tag \($0)" }, to: show)
        // A tag that the show has already does not count.
        try library.addTags(["TAG 40", "X1", "x1", "X2", "X3"], to: show)
        let expected = (11...40).map { "Tag \($0)" } + ["X1", "X2"]
        #expect(try library.tags(of: show) == expected && expected.count == 32)
        try library.addTags(["X4"], to: show)
        #expect(try library.tags(of: show) == expected)
    }

    @Test func viewsWithTimeConditionsAreUpdatedInTime() throws {
        try subscribe("One", 3)
        try library.setView(named: "New", ["newer_than=36h"], now: today)
        try library.setView(named: "Old", ["older_than=36h"], now: today)
        #expect(try titles("New") == ["One 3", "One 2"] && titles("Old") == ["One 1"])
        let next = try #require(try library.nextViewUpdate())
        #expect(next == today + day / 2)
        #expect(try library.updateViews(now: next - 1).isEmpty)
        #expect(try library.updateViews(now: next) == ["New", "Old"])
        #expect(try titles("New") == ["One 3"] && titles("Old") == ["One 2", "One 1"])
        #expect(try library.nextViewUpdate() == next + day)
        // An episode that arrives later schedules the update for the time at which it leaves or enters a view.
        _ = try library.updateViews(now: today + 9 * day)
        #expect(try titles("New").isEmpty && titles("Old").count == 3 && library.nextViewUpdate() == nil)
        try subscribe("Two", 1)
        #expect(try library.nextViewUpdate() == today + day * 3 / 2)
    }

    @Test func viewsAndShowsHaveDifferentNames() throws {
        try subscribe("One", 1)
        for (name, message) in [
            ("one", "'one' is the name of a show: choose another name for the view"),
            ("a/b", "'a/b' cannot be the name of a view: it contains a slash"),
            (".x", "'.x' cannot be the name of a view: it begins with a dot"),
            ("tags", "'tags' cannot be the name of a view: podfs has a folder or file of this name"),
            ("INDEX.html", "'INDEX.html' cannot be the name of a view: podfs has a folder or file of this name"),
        ] {
            #expect(throws: SettingError(message: message)) { try library.setView(named: name, [], now: noon) }
        }
        #expect(try subscribe("unplayed", 1).podcast.name == "unplayed (2)")
        try library.setView(named: "Café", [], now: noon)
        #expect(try subscribe("CAFE\u{301}", 1).podcast.name.hasSuffix(" (2)"))
        #expect(throws: LibraryError.nameTaken("Unplayed")) {
            _ = try library.subscribe([], url: "https://e.com/9", name: "Unplayed")
        }
    }
}
