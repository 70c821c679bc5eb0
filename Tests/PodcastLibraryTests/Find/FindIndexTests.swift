import Foundation
import GRDB
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFeed
@testable import PodcastLibrary

/// The search index of a library, written and read as the daemon and a command do.
struct FindIndexTests {
    private var (folder, library) = makeLibrary()
    private let assets: String
    private let index: FindIndex

    init() throws {
        assets = folder.path + "/assets"
        try FileManager.default.createDirectory(atPath: assets, withIntermediateDirectories: true)
        index = FindIndex(path: folder.path + "/find.sqlite")
    }

    private func update() throws {
        let writer = try FindIndexWriter(path: index.path, transcripts: TranscriptFiles(folder: assets))
        var update = try writer.update(from: library)
        while try update.perform() {}
    }

    /// Returns the titles of the found episodes, the best first.
    private func found(_ term: String) throws -> [String] {
        let entries = try library.foundEntries(index.episodes(matching: try #require(FindTerm(term))), limit: 100)
        return try entries.compactMap { try library.episode(id: $0.id)?.title }
    }

    private func id(_ title: String) throws -> EpisodeID {
        let episodes = try library.podcasts().flatMap { try library.episodes(of: $0.id) }
        return try #require(episodes.first { $0.title == title }).id
    }

    private func item(_ title: String, notes: String? = nil) -> Item {
        var item = makeItem(title, guid: title, url: "https://e.com/\(abs(title.hashValue)).mp3")
        item.description = notes
        return item
    }

    private func write(_ transcript: String, of episode: EpisodeID, kind: String = "vtt") throws {
        try Data(transcript.utf8).write(
            to: URL(fileURLWithPath: "\(assets)/\(kind)-\(episode)"), options: .atomic)
    }

    /// Returns the number of all rows that the index has had.
    private func rows() throws -> Int? {
        try DatabaseQueue(path: index.path).read { db in
            try Int.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'document'")
        }
    }

    @Test func wordsOfTitlesAndNotesAreFound() throws {
        _ = try library.subscribe([
            item("Giant Squid", notes: "<p>About <b>ten</b>tacles &amp; ink.</p>"),
            item("Naïve Café", notes: "The squid is mentioned here."), item("Nothing"),
        ])
        try update()
        #expect(try found("squid") == ["Giant Squid", "Naïve Café"])
        #expect(try found("GIANT squid") == ["Giant Squid"])
        #expect(try found("\"squid giant\"") == [])
        #expect(try found("tentacles") == ["Giant Squid"])
        #expect(try found("tentac*") == ["Giant Squid"])
        #expect(try found("tentac") == [])
        #expect(try found("cafe naive") == ["Naïve Café"])
        #expect(try found("giant ink") == ["Giant Squid"])
        #expect(try found("p") == [])
        #expect(try index.count() == 3)
        #expect(try library.findableCount() == 3)
    }

    @Test func partsOfTextWithoutSpacesAreFound() throws {
        _ = try library.subscribe([item("日本語のポッドキャスト"), item("รายการพอดแคสต์ไทย"), item("한국어 팟캐스트에서")])
        try update()
        #expect(try found("本語") == ["日本語のポッドキャスト"])
        #expect(try found("キャスト") == ["日本語のポッドキャスト"])
        #expect(try found("語本") == [])
        #expect(try found("ไทย") == ["รายการพอดแคสต์ไทย"])
        #expect(try found("팟캐스트") == ["한국어 팟캐스트에서"])
    }

    @Test func hostileTermsAreNoErrors() throws {
        _ = try library.subscribe([item("One AND two")])
        try update()
        let words = [
            "AND", "OR", "NOT", "NEAR(", ")", "\"", "*", "^", "title:", "{", "}", "-", "+", "🦑", "語", "'", "\u{0}",
        ]
        for first in words {
            for second in words {
                for text in ["\(first)\(second)", "\(first) \(second)", "one \(first) two \(second)"] {
                    guard let term = FindTerm(text) else { continue }
                    _ = try index.episodes(matching: term)
                }
            }
        }
        for long in ["x", "語", "x ", "\"", "x*", "🦑", "AND "] {
            if let term = FindTerm(String(repeating: long, count: 10_000)) { _ = try index.episodes(matching: term) }
        }
        #expect(try found("one and TWO") == ["One AND two"])
    }

    @Test func changesAreFoundAfterAnUpdate() throws {
        let show = try library.subscribe([item("One", notes: "alpha"), item("Two", notes: "beta")]).podcast.id
        try update()
        var changed = item("One", notes: "gamma")
        changed.title = "Uno"
        _ = try library.merge([changed, item("Three", notes: "alpha")], into: show)
        try update()
        #expect(try found("alpha") == ["Three"])
        #expect(try found("gamma") == ["Uno"])
        #expect(try found("one") == [])
        // An episode that has left the feed stays.
        #expect(try found("beta") == ["Two"])
    }

    @Test func aSecondChangeInTheSameSecondIsIndexed() throws {
        let now = Int64(Date().timeIntervalSince1970) + 1_000
        let show = try library.subscribe([item("One", notes: "alpha")]).podcast.id
        for notes in ["beta", "gamma", "delta"] {
            _ = try library.merge([item("One", notes: notes)], into: show, now: now)
            try update()
            #expect(try found(notes) == ["One"])
        }
        #expect(try found("gamma") == [])
    }

    @Test func removedEpisodesAndShowsAreNotFound() throws {
        _ = try library.subscribe([item("One"), item("Two")])
        let one = try id("One")
        let other = try library.subscribe([item("One more")], url: "https://e.com/2", title: "Other").podcast.id
        try update()
        _ = try library.bury(episodes: [one], now: noon + 5)
        #expect(try found("one") == ["One more"])
        try update()
        #expect(try index.count() == 2)
        try library.unbury(episodes: [one], now: noon + 6)
        try update()
        #expect(try Set(found("one")) == ["One", "One more"])
        _ = try library.unsubscribe(podcast: other)
        #expect(try found("one") == ["One"])
        try update()
        #expect(try index.count() == 2)
    }

    @Test func searchResultsAreNotFound() throws {
        _ = try library.subscribe(feed: makeFeed([item("One")]), ephemeral: true)
        try update()
        #expect(try index.count() == 0)
        _ = try library.subscribe([item("One")])
        try update()
        #expect(try found("one") == ["One"])
    }

    @Test func transcriptsAreFoundWhileTheyAreCached() throws {
        _ = try library.subscribe([item("One"), item("Two")])
        let ids = [try id("One"), try id("Two")]
        try update()
        try write("WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>giant squid\n", of: ids[0])
        try write("1\n00:00:01,000 --> 00:00:02,000\nocto\u{0301}pus\n", of: ids[1], kind: "srt")
        try update()
        #expect(try found("squid") == ["One"])
        #expect(try found("octopus") == ["Two"])
        #expect(try found("ann") == [])
        #expect(try found("one squid") == ["One"])
        try write("WEBVTT\n\n00:01.000 --> 00:02.000\nonly a cuttlefish\n", of: ids[0])
        try update()
        #expect(try found("squid") == [])
        #expect(try found("cuttlefish") == ["One"])
        try FileManager.default.removeItem(atPath: "\(assets)/vtt-\(ids[0])")
        try update()
        #expect(try found("cuttlefish") == [])
        #expect(try found("one") == ["One"])
    }

    @Test func transcriptsOfArchivedEpisodesStayFound() throws {
        let archive = folder.path + "/archive"
        try FileManager.default.createDirectory(atPath: archive + "/Show", withIntermediateDirectories: true)
        let id = try #require(try library.subscribe([item("One")]).inserted.first)
        let name = try #require(try library.entry(id: id)).name
        try library.record(ArchiveFolderRecord(path: archive, marker: "m", owner: "o"))
        let file = ArchivedFile(path: "Show/\(name)", episode: id, size: 5, sha256: "ab", fileState: nil)
        _ = try library.archive(file, as: id, now: noon)
        let transcript = "WEBVTT\n\n00:01.000 --> 00:02.000\ngiant squid\n"
        try write(transcript, of: id)
        try update()
        #expect(try found("squid") == ["One"])
        // The archive has it too, so that the cache may drop it.
        let archived = "\(archive)/Show/\(FileName.stem(ofFile: name)).vtt"
        try Data(transcript.utf8).write(to: URL(fileURLWithPath: archived))
        try FileManager.default.removeItem(atPath: "\(assets)/vtt-\(id)")
        try update()
        #expect(try found("squid") == ["One"])
        // An index that is made anew finds it in the archive.
        try FileManager.default.removeItem(atPath: index.path)
        try update()
        #expect(try found("squid") == ["One"])
        // It stays indexed while the archive is away.
        try library.record(ArchiveFolderRecord(path: archive, marker: "m", owner: "o", problem: "away"))
        try FileManager.default.removeItem(atPath: archived)
        try library.setPlayed(episode: id, true, now: noon + 20)
        try update()
        #expect(try found("squid") == ["One"])
    }

    @Test func theShowsTitleIsFoundNewestFirstAfterOtherMatches() throws {
        let show = try library.subscribe(
            (1...5).map { number in
                let words = String(repeating: "many words ", count: number)
                return item("Title \(number)", notes: number == 2 ? "A squid." : words)
            }, title: "The Giant Squid"
        ).podcast.id
        try update()
        #expect(try found("squid") == ["Title 2", "Title 1", "Title 3", "Title 4", "Title 5"])
        #expect(try found("squid many words").count == 4)
        #expect(try found("\"squid title\"") == [])
        // The name that a person has given the folder is found as well.
        _ = try library.renamePodcast(id: show, to: "Cephalopods", now: noon + 5)
        try update()
        #expect(try found("giant cephalopods").count == 5)
        _ = try library.renamePodcast(id: show, to: "The Giant Squid", now: noon + 6)
        try update()
        #expect(try found("cephalopods") == [])
    }

    @Test func anUpdateContinuesWhereAKilledOneEnded() throws {
        _ = try library.subscribe((1...400).map { item("Title \($0)", notes: "word\($0)") })
        let writer = try FindIndexWriter(path: index.path, transcripts: TranscriptFiles(folder: assets))
        var first = try writer.update(from: library)
        _ = try first.perform()
        let partial = try index.count()
        #expect(partial > 0)
        try update()
        #expect(try index.count() == 400)
        #expect(try found("word\(399)") == ["Title 399"])
        // The episodes of the first step were not indexed again.
        #expect(try rows() == 400)
    }

    @Test func anEpisodeWithTheSameTextIsNotIndexedAgain() throws {
        let ids = try library.subscribe([item("One")]).inserted
        try update()
        try library.setPlayed(episode: ids[0], true, now: noon + 9)
        try library.confirm(episode: ids[0], size: 5, now: noon + 10)
        try update()
        #expect(try rows() == 1)
    }

    @Test(arguments: ["not a database, but some text that is long enough to be taken for one", "empty", "version"])
    func anUnusableIndexIsReplaced(_ kind: String) throws {
        _ = try library.subscribe([item("One")])
        try update()
        switch kind {
        case "empty": try Data().write(to: URL(fileURLWithPath: index.path))
        case "version":
            try DatabaseQueue(path: index.path).write { db in try db.execute(sql: "PRAGMA user_version = 77") }
            #expect(try index.count() == 0)
        default:
            try Data(String(repeating: kind, count: 200).utf8).write(to: URL(fileURLWithPath: index.path))
        }
        try update()
        #expect(try found("one") == ["One"])
    }

    @Test func withoutAnIndexNothingIsFound() throws {
        _ = try library.subscribe([item("One")])
        #expect(try found("one") == [])
        #expect(try index.count() == 0)
    }

    @Test func anIndexOfManyFormerTextsIsReplaced() throws {
        _ = try library.subscribe([item("One")])
        try update()
        try DatabaseQueue(path: index.path).write { db in
            try db.execute(sql: "UPDATE sqlite_sequence SET seq = 20000 WHERE name = 'document'")
        }
        try update()
        #expect(try found("one") == ["One"])
        #expect(try rows() == 1)
    }
}
