import Foundation
import PodcastFeed
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastLibrary

/// Random changes of a library. After each, every view has the episodes that a complete search finds.
struct ViewUpkeepTests {
    @Test(arguments: 0..<4) func everyViewEqualsACompleteSearchAfterEachChange(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        var run = ViewUpkeepRun(try .openForWriting(at: folder.library), seed: seed)
        for _ in 0..<100 {
            try run.change()
            try run.compare()
        }
        #expect(run.differences == [])
        #expect(run.listed > 500)
    }
}

/// A run of random changes, whose results it compares with searches.
private struct ViewUpkeepRun {
    private struct RolledBack: Error {}

    private let library: Library
    private var generator: SeededGenerator
    /// The current time. Tests need it because views compare dates with the clock.
    private let now = Int64(Date().timeIntervalSince1970)
    /// The feeds of the shows, by address. An item keeps its number, which is part of its address.
    private var feeds: [String: [Item]] = [:]
    private var number = 0
    private var last = ""

    private(set) var differences: [String] = []
    /// The number of links compared so far.
    private(set) var listed = 0

    init(_ library: Library, seed: UInt64) {
        self.library = library
        generator = SeededGenerator(seed: seed)
    }

    // MARK: Random choices

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &generator)]
    }

    private mutating func some(_ values: [String]) -> [String] { values.filter { _ in chance(40) } }

    private mutating func anyShow() throws -> ShowID? {
        try library.folders().map(\.id).randomElement(using: &generator)
    }

    private mutating func anyEpisode() throws -> EpisodeID? {
        try anyShow().flatMap { try library.entries(of: $0).map(\.id).randomElement(using: &generator) }
    }

    // MARK: Changes

    mutating func change() throws {
        number += 1
        let names = ["feed", "view", "show", "listening", "file"]
        last = pick(feeds.isEmpty ? ["feed"] : names + ["feed", "view", "listening", "listening", "file"])
        switch last {
        case "feed": try changeFeed()
        case "view": try changeView()
        case "show": try changeShow()
        case "listening": try listen()
        default: try changeFile()
        }
    }

    private mutating func changeFeed() throws {
        let address = "https://e.com/\(pick([1, 2, 3, 4]))"
        var items = feeds[address] ?? []
        // One fact of an item at a time, so that no other one causes the update of the views.
        for index in items.indices where chance(30) {
            let other = item(items[index].enclosures[0].url)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: items[index].title = other.title
            case 1: items[index].published = other.published
            case 2: items[index].duration = other.duration
            default: items[index].enclosures = other.enclosures
            }
        }
        for _ in 0..<Int.random(in: 0...5, using: &generator) {
            number += 1
            items.append(item("\(address)/\(number).mp3"))
        }
        feeds[address] = items
        if let show = try library.podcast(url: address) {
            _ = try library.merge(items, into: show.id, now: now)
        } else {
            _ = try library.subscribe(items, url: address, title: "Show \(address.suffix(1))")
        }
    }

    private mutating func item(_ url: String) -> Item {
        let age = Int64.random(in: 0..<20, using: &generator) * day + day / 2
        return makeItem(
            pick(["News", "Talk", "Special"]) + " \(Int.random(in: 0..<3, using: &generator))", guid: url, url: url,
            published: chance(90) ? now - age : nil, duration: pick([nil, 0, 600, 1_200, 2_400]),
            type: chance(80) ? "audio/mpeg" : "video/mp4")
    }

    private mutating func changeView() throws {
        let name = "View \(pick([1, 2, 3, 4, 5]))"
        if chance(15), try library.view(named: name) != nil {
            _ = try library.removeView(named: name)
            return
        }
        let conditions = [
            ("unplayed", ["true", "false"]), ("in_progress", ["true", "false"]), ("pinned", ["true", "false"]),
            ("downloaded", ["true", "false"]), ("tag", ["red", "BLUE"]), ("show", ["show 1", "Renamed"]),
            ("title", ["news|special", "2$"]), ("type", ["audio", "video"]), ("newer_than", ["10 days"]),
            ("older_than", ["5 days"]), ("min_duration", ["15m"]), ("max_duration", ["30m"]),
        ]
        // With more conditions, few episodes would match.
        let set = (0..<Int.random(in: 0...2, using: &generator)).map { _ in pick(conditions) }
        try library.setView(
            named: name,
            conditions.map { "\($0.0)=" } + set.map { "\($0.0)=\(pick($0.1))" } + [
                "order=\(pick(["newest", "oldest", "shortest", "longest", "recently_played"]))",
                "limit=\(pick(["none", "1", "3", "10"]))",
            ], now: now)
    }

    private mutating func changeShow() throws {
        guard let show = try anyShow() else { return }
        switch Int.random(in: 0..<6, using: &generator) {
        case 0:
            _ = try library.unsubscribe(podcast: show)
            let known = try feeds.keys.filter { try library.podcast(url: $0) != nil }
            feeds = feeds.filter { known.contains($0.key) }
        case 1:
            let isFree = try !library.folders().contains { $0.name == "Renamed" }
            _ = try library.renamePodcast(id: show, to: isFree ? "Renamed" : "Other \(number)", now: now)
        case 2: _ = try library.setPlayed(podcast: show, chance(50), now: now)
        default: try library.setTags(some(["Red", "Blue", "Green"]), of: show)
        }
    }

    private mutating func listen() throws {
        guard let episode = try anyEpisode() else { return }
        let moment = now - Int64.random(in: 0..<1_000, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: try library.setPlayed(episode: episode, chance(60), now: moment)
        case 1: try library.setPosition(episode: episode, pick([nil, 0, 29, 30, 500]), now: moment)
        default: try library.setPinned(episode: episode, chance(60), now: moment)
        }
    }

    private mutating func changeFile() throws {
        guard let episode = try anyEpisode() else { return }
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: _ = try library.dropRendition(episode: episode, now: now)
        case 1:
            _ = try library.bury(episodes: [episode], now: now)
            if chance(50) { try library.unbury(episodes: [episode], now: now) }
        default:
            guard try library.rendition(of: episode) == nil, let entry = try library.entry(id: episode) else { return }
            let rendition = Rendition(episode: episode, generation: entry.generation, file: "f\(number)")
            try library.pin(rendition, now: now)
            if chance(80) {
                try library.complete(
                    episode: episode, generation: rendition.generation, size: 9, sha256: "", now: now)
            }
        }
    }

    // MARK: Comparison

    /// Compares each view with the result of a new search, which it then rolls back.
    mutating func compare() throws {
        for view in try library.viewFolders() {
            let found = try library.entries(of: view.id).map(\.id)
            var searched: (episodes: [EpisodeID], count: Int) = ([], 0)
            do {
                try library.group {
                    try library.setView(named: view.name, [], now: now)
                    searched.episodes = try library.entries(of: view.id).map(\.id)
                    searched.count = try library.view(named: view.name)?.count ?? 0
                    throw RolledBack()
                }
            } catch is RolledBack {}
            listed += found.count
            if found != searched.episodes || view.count != searched.count {
                differences.append(
                    "after \(number) \(last): \(view.definition.lines): \(found), \(view.count), not \(searched)"
                )
            }
        }
    }
}
