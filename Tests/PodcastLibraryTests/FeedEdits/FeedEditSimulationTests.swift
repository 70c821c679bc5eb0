import Foundation
import PodcastFeed
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

/// Two weeks of typical edits by publishers and hosting companies. After each refresh, the library's rows are compared
/// with a model that knows each item's identity.
///
/// The seed determines all random choices. `PODFS_EDIT_SEEDS=1000..<1200` in the environment selects other seeds.
struct FeedEditSimulationTests {
    static let seeds: [UInt64] = {
        let usual = Array<UInt64>(1...6)
        guard let text = ProcessInfo.processInfo.environment["PODFS_EDIT_SEEDS"] else { return usual }
        let bounds = text.split(separator: "..<").compactMap { UInt64($0) }
        guard let first = bounds.first else { return usual }
        return bounds.count == 2 && first < bounds[1] ? Array(first..<bounds[1]) : [first]
    }()

    @Test(arguments: seeds)
    func noFileIsLostDuplicatedOrRenamedInAFortnightOfEdits(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        let library = try Library.openForWriting(at: folder.library)
        var fortnight = ModelFortnight(seed: seed)
        var expected = ExpectedLibrary()
        var podcast: ShowID?
        for hour in 0..<ModelFortnight.hours {
            let now = ModelFortnight.time(hour)
            guard let (items, isWhole) = fortnight.answer(hour: hour) else { continue }
            let feed = makeFeed(items.map(\.item))
            var response = ok
            response.isWhole = isWhole
            let change = expected.merge(items, isWhole: isWhole, now: now)
            let result =
                if let podcast {
                    try library.merge(feed: feed, into: podcast, response: response, now: now)
                } else {
                    try library.subscribe(feed: feed, response: response, now: now)
                }
            podcast = result.podcast.id
            do throws(ExpectedLibrary.Mistake) {
                let rows: [Episode]
                do { rows = try library.episodes(of: result.podcast.id) } catch {
                    throw ExpectedLibrary.Mistake(text: "\(error)")
                }
                try expected.compare(rows, result, change)
            } catch {
                let subject = error.identity.map { "episode \($0)" } ?? "the show"
                let history = fortnight.events.suffix(60).joined(separator: "\n")
                Issue.record("seed \(seed), hour \(hour), \(subject): \(error.text)\n\(history)")
                return
            }
            try useLibrary(library, &expected, &fortnight.dice, now: now)
        }
        #expect(expected.entries.count > 2)
    }

    /// Simulates podfs's other changes: sizes confirmed by servers, and episodes removed from the listings (`bury`).
    private func useLibrary(
        _ library: Library, _ expected: inout ExpectedLibrary, _ dice: inout SeededGenerator, now: Int64
    ) throws {
        let shown = expected.entries.filter { !$0.value.buried }.keys.sorted()
        if dice.chance(15), let identity = shown.randomElement(using: &dice), let id = expected.entries[identity]?.id {
            let size = Int64.random(in: 1_000_000...90_000_000, using: &dice)
            try library.confirm(episode: id, size: size, now: now)
            expected.confirm(identity, size: size, now: now)
        }
        if dice.chance(5), let identity = shown.randomElement(using: &dice), let id = expected.entries[identity]?.id {
            _ = try library.bury(episodes: [id], now: now)
            expected.bury(identity, now: now)
        }
    }

    @Test func theModelMakesEveryKindOfEdit() {
        var made: [String: Int] = [:]
        for seed: UInt64 in 1...6 {
            var fortnight = ModelFortnight(seed: seed)
            for hour in 0..<ModelFortnight.hours { _ = fortnight.answer(hour: hour) }
            made.merge(fortnight.made) { $0 + $1 }
        }
        for name in ModelFortnight.names { #expect(made[name, default: 0] >= 2, "\(name)") }
    }
}
