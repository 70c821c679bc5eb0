import Foundation
import GRDB
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFeed
@testable import PodcastLibrary

/// Alternates in the library, which are further encodings of an episode: their names, their selection and their rows.
struct AlternateTests {
    private var (folder, library) = makeLibrary()

    private func item(_ alternates: [AlternateEnclosure], title: String = "One") -> Item {
        var item = makeItem(
            title, guid: "1", url: "https://x.example/1.mp3", duration: 600, length: 9_600_000, type: "audio/mpeg")
        item.alternates = alternates
        return item
    }

    private func main(_ show: ShowID) throws -> Episode {
        let episodes = try library.episodes(of: show)
        #expect(episodes.count == 1)
        return try #require(episodes.first)
    }

    private func names(_ show: ShowID) throws -> [String] {
        try library.alternates(of: main(show).id).map(\.fileName)
    }

    // MARK: Names

    @Test(arguments: [
        (nil as String?, nil as Double?, nil as Int?, nil as String?, "audio/opus", "Audio.opus"),
        ("Low", 32_000, nil, nil, "audio/opus", "Low 32k.opus"),
        ("Low 32k", 32_000, nil, nil, "audio/opus", "Low 32k.opus"),
        (nil, 2_500_000, 720, "de", "video/mp4", "Video 720p 2500k de.mp4"),
        ("A: B/C?", nil, nil, nil, "audio/opus", "A - B-C.opus"),
        (nil, 1.5, nil, nil, "audio/opus", "Audio 1.opus"), (nil, -.infinity, nil, nil, "audio/opus", "Audio.opus"),
        ("con", nil, nil, nil, "audio/opus", "con_.opus"), ("...", nil, nil, nil, "audio/opus", "Untitled.opus"),
        (nil, nil, nil, nil, "application/x-mpegurl", "Stream.m3u8"),
        (String(repeating: "x", count: 500), nil, nil, nil, "audio/opus", String(repeating: "x", count: 100) + ".opus"),
    ])
    func namesSayWhatDistinguishesTheEncoding(
        title: String?, bitRate: Double?, height: Int?, language: String?, type: String, name: String
    ) throws {
        let alternate = alternate(type, "a", title: title, bitRate: bitRate, height: height, language: language)
        let show = try library.subscribe([item([alternate])]).podcast.id
        #expect(try names(show) == [name])
    }

    @Test func equalNamesGetNumbersInTheFeedsOrder() throws {
        let alternates = (1...3).map { alternate("audio/opus", "\($0).opus") }
        let show = try library.subscribe([item(alternates)]).podcast.id
        #expect(try names(show) == ["Audio.opus", "Audio (2).opus", "Audio (3).opus"])
    }

    // MARK: Selection

    @Test func defaultsDuplicatesAndUnplayableFilesAreNotAlternates() throws {
        let show = try library.subscribe([
            item([
                alternate("audio/mpeg", "1-again.mp3", isDefault: true), alternate("audio/opus", "a.opus"),
                alternate("audio/opus", "a.opus", title: "Again"), alternate("application/pdf", "a.pdf"),
                alternate("audio/opus"), alternate("application/x-bittorrent", "a.torrent"),
            ])
        ]).podcast.id
        #expect(try names(show) == ["Again.opus"], "duplicates are merged, and the title stays")
    }

    /// Returns undated items with an MP3 and eight further enclosures each.
    private func items(_ numbers: Range<Int>) -> [Item] {
        numbers.map { number in
            var item = makeItem(
                "Item \(number)", guid: "\(number)", url: "https://x.example/\(number).mp3", published: nil)
            item.enclosures += (1...8).map { Enclosure(url: "https://x.example/\(number)/\($0)", type: "audio/opus") }
            return item
        }
    }

    /// Nearly all rows are copies made in SQL, because merging 50,000 alternates takes many times as long.
    @Test func aShowHasAtMostFiftyThousandAlternates() throws {
        #expect(Alternate.maxInShow == 50_000)
        let show = try library.subscribe([item([alternate("audio/opus", "a.opus")])]).podcast.id
        let full = try main(show)
        let first = try #require(try library.alternates(of: full.id).first).id
        try library.write { db in
            let columns = """
                title, published, published_offset, moment, duration, url, type, length, author, first_seen, changed,
                buried, confirmed_size, digest, visible_digest
                """
            try db.execute(
                sql: """
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
                    INSERT INTO episode (podcast, name, folded, \(columns))
                    SELECT podcast, name || i, folded || i, \(columns) FROM episode, n WHERE id = ?
                    """, arguments: [Alternate.maxInShow - 11, first])
            try db.execute(
                sql: """
                    INSERT INTO alternate (medium, episode, position, name, key)
                    SELECT e.id, a.episode, e.id, e.name, a.key FROM episode e, alternate a
                    WHERE e.buried = 2 AND a.medium = ? AND e.id <> a.medium
                    """, arguments: [first])
        }
        func count() throws -> Int? { try library.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM alternate") } }
        #expect(try count() == Alternate.maxInShow - 10)

        // The next feed no longer lists the episode that has nearly all alternates.
        let merged = try library.merge(items(3..<6), into: show)
        #expect(try count() == Alternate.maxInShow)
        // `inserted` begins with the oldest item, which is last in the feed. Items 5, 4 and 3 get 8, 2 and 0
        // alternates.
        #expect(merged.inserted.count == 3 && merged.skipped == 0 && merged.unlisted == [full.id])
        #expect(try merged.inserted.map { try library.alternates(of: $0).count } == [8, 2, 0])
        let episodes = try library.episodes(of: show)
        #expect(episodes.map(\.title) == ["Item 3", "Item 4", "Item 5", "One"])
        #expect(episodes.allSatisfy { $0.name.hasSuffix(".mp3") })
        let newest = try #require(merged.inserted.last)
        #expect(try library.source(of: newest)?.sources.map(\.url) == ["https://x.example/3.mp3"])

        // The episodes that have alternates retain them, and item 2, which this feed adds, gets none.
        let again = try library.merge(items(2..<6), into: show, now: noon + 2 * day)
        #expect(again.inserted.count == 1 && again.updated.isEmpty)
        #expect(try (merged.inserted + again.inserted).map { try library.alternates(of: $0).count } == [8, 2, 0, 0])
        #expect(try count() == Alternate.maxInShow)
    }

    /// A zero-width joiner after the slash of the stored path forms one `Character` with it.
    @Test func aNameMayBeginWithACombiningCharacter() throws {
        let title = "\u{200D}\u{301}Small"
        let show = try library.subscribe([item([alternate("audio/opus", "a.opus", title: title)])]).podcast.id
        let found = try #require(try library.alternates(of: main(show).id).first)
        #expect(found.fileName.utf8.elementsEqual((title + ".opus").utf8), "\(found)")
    }

    @Test func aPreferredAlternateAndTheMainEncodingExchangeRoles() throws {
        let show = try library.subscribe([makeItem("Zero", guid: "0", url: "https://x.example/0.mp3")]).podcast.id
        try library.set(podcast: show, key: "prefer", value: "audio/opus")
        _ = try library.merge([item([alternate("audio/opus", "a.opus")])], into: show)
        let episode = try #require(try library.episodes(of: show).first { $0.guid == "1" })
        #expect(episode.name.hasSuffix(".opus"))
        #expect(try library.alternates(of: episode.id).map(\.fileName) == ["Audio.mp3"])
    }

    /// The addresses of the two encodings differ only in their queries.
    @Test func aPreferredEncodingIsFoundByItsQuery() throws {
        let show = try library.subscribe([makeItem("Zero", guid: "0", url: "https://x.example/0.mp3")]).podcast.id
        try library.set(podcast: show, key: "prefer", value: "<=64k")
        func item(_ title: String, token: String = "") -> Item {
            var item = makeItem(
                title, guid: "1", url: "https://x.example/get?q=high\(token)", duration: 600, length: 9_600_000,
                type: "audio/mpeg")
            item.alternates = [alternate("audio/mpeg", "get?q=low\(token)", bitRate: 32_000)]
            return item
        }
        _ = try library.merge([item("One")], into: show)
        func url() throws -> String? { try library.episodes(of: show).first { $0.guid == "1" }?.url }
        #expect(try url() == "https://x.example/get?q=low")
        _ = try library.merge([item("New title")], into: show)
        #expect(try url() == "https://x.example/get?q=low")
        _ = try library.merge([item("New title", token: "&t=2")], into: show)
        #expect(try url() == "https://x.example/get?q=low&t=2")
    }

    // MARK: Rows

    @Test func anAlternateIsInNoListingOfEpisodes() throws {
        let show = try library.subscribe([item([alternate("audio/opus", "a.opus")])]).podcast.id
        let id = try #require(try library.alternates(of: main(show).id).first).id
        #expect(try library.entries(of: show).count == 1 && library.tracks(of: show).count == 1)
        #expect(try library.podcast(id: show)?.episodes == 1)
        #expect(try library.newestEpisodes(limit: 9).count == 1 && library.titles(limit: 9).count == 1)
        #expect(try library.unplayedCounts() == [show: 1] && library.identities(of: show).count == 1)
        for view in try library.viewFolders() {
            #expect(try !library.entries(of: view.id).contains { $0.id == id }, "\(view.name)")
        }
        // With an alternate stored, an item of the next document is still matched to its own episode.
        let result = try library.merge([item([alternate("audio/opus", "a.opus")], title: "New")], into: show)
        let own = try main(show).id
        #expect(result.inserted.isEmpty && result.updated == [own])
        #expect(try library.entries(of: show).count == 1)
    }

    @Test func anAlternateKeepsItsRowAndNameWhenTheFeedChanges() throws {
        let opus = alternate("audio/opus", "a.opus?t=1", bitRate: 32_000)
        let show = try library.subscribe([item([opus, alternate("audio/flac", "a.flac")])]).podcast.id
        let first = try library.alternates(of: main(show).id)
        #expect(first.map(\.fileName) == ["Audio 32k.opus", "Audio.flac"])
        // The Opus alternate changes its token, then its title, then its address. The two alternates have also
        // exchanged their places in the feed.
        for changed in [
            alternate("audio/opus", "a.opus?t=2", bitRate: 32_000), alternate("audio/opus", "a.opus", title: "Small"),
            alternate("audio/opus", "b.opus", title: "Small"),
        ] {
            _ = try library.merge([item([alternate("audio/flac", "a.flac"), changed])], into: show)
            let now = try library.alternates(of: main(show).id)
            #expect(now.map(\.fileName) == ["Audio.flac", "Audio 32k.opus"])
            #expect(now.map(\.id) == first.reversed().map(\.id))
        }
        #expect(try library.source(of: first[0].id)?.sources == [MediaSource(url: "https://x.example/b.opus")])
        #expect(try library.alternate(id: first[0].id)?.title == "Small")
        // The alternate leaves the feed, and is listed again.
        _ = try library.merge([item([])], into: show)
        #expect(try names(show).isEmpty && library.entry(id: first[0].id) == nil)
        #expect(try !main(show).sidecars.contains(.alternates))
        _ = try library.merge([item([alternate("audio/opus", "b.opus", title: "Small")])], into: show)
        #expect(try library.alternates(of: main(show).id).map(\.id) == [first[0].id])
    }

    @Test func thePathOfAnAlternateFollowsTheEpisodesName() throws {
        let show = try library.subscribe([item([alternate("audio/opus", "a.opus")])]).podcast.id
        let id = try main(show).id
        let file = try #require(try library.alternates(of: id).first)
        #expect(file.name == ".alternates/2026-11-20 One/Audio.opus")
        try library.renameEpisode(id: id, to: "Other", now: noon + 5)
        #expect(try library.alternates(of: id).first?.name == ".alternates/Other/Audio.opus")
        let place = try #require(try library.place(of: file.id))
        #expect(place.alternateOf == id && place.fileName == "Audio.opus" && !place.isBuried)
        #expect(try library.alternate(of: show, path: ".alternates/Other/Audio.opus") == file.id)
        #expect(try library.places(of: show, changedSince: noon + 5).count == 2)
        #expect(throws: LibraryError.noSuchEpisode(file.id)) { try library.renameEpisode(id: file.id, to: "x") }
    }

    @Test func anAlternateHasItsOwnRenditionsSourcesAndHash() throws {
        let sri = "sha256-" + Data(repeating: 1, count: 32).base64EncodedString()
        let show = try library.subscribe([
            item([
                alternate("audio/opus", "a.opus", "m.opus", hash: sri),
                alternate("audio/flac", "a.flac", hash: "md5-AAAA"),
            ])
        ]).podcast.id
        let id = try main(show).id
        let files = try library.alternates(of: id)
        let hash = "sha256-" + String(repeating: "01", count: 32)
        let expected = ["a.opus", "m.opus"].map { MediaSource(url: "https://x.example/\($0)", hash: hash) }
        #expect(try library.mediaSources(of: files[0].id) == expected)
        #expect(try library.mediaSources(of: files[1].id) == [MediaSource(url: "https://x.example/a.flac")])
        for (file, size) in [(id, Int64(10)), (files[0].id, 20)] {
            try library.pin(Rendition(episode: file, generation: 1, file: "f\(file)", size: size), now: noon)
            _ = try library.enqueue(episode: file, session: "s", now: noon)
            try library.complete(episode: file, generation: 1, size: size, sha256: "aa", now: noon)
        }
        #expect(try library.entry(id: id)?.size == 10 && library.entry(id: files[0].id)?.size == 20)
        #expect(try library.podcast(id: show)?.cached == 1, "episodes are counted, not files")
        // An alternate has the played state of its episode. Eviction candidates are ordered by this state.
        try library.setPlayed(episode: id, true, now: noon)
        #expect(try library.evictionCandidates().allSatisfy(\.played))
        #expect(try library.mainEpisode(of: files[0].id) == id && library.mainEpisode(of: id) == id)
        // Burying an episode also removes the cached files of its alternates.
        let dropped = try library.bury(episodes: [id], now: noon)
        #expect(Set(dropped.map(\.episode)) == [id, files[0].id])
        #expect(try library.renditions().isEmpty && library.entry(id: files[0].id)?.generation == 2)
        let all = Set([id] + files.map(\.id))
        #expect(try Set(library.files(of: [id])) == all && Set(library.files(of: show)) == all)
        // The alternates are buried with their episode: they get neither downloads nor files until it is restored.
        let removed = LibraryError.noSuchEpisode(files[0].id)
        #expect(throws: removed) { _ = try library.enqueue(episode: files[0].id, session: "s", now: noon) }
        #expect(throws: removed) {
            try library.pin(Rendition(episode: files[0].id, generation: 2, file: "g", size: 20), now: noon)
        }
        try library.unbury(episodes: [id], now: noon)
        _ = try library.enqueue(episode: files[0].id, session: "s", now: noon)
    }

    @Test func summariesListAlternatesWithinTheirLimits() throws {
        let alternates = [
            alternate("audio/opus", "a.opus", title: "Small", language: "en"), alternate("video/mp4", "a.mp4"),
            alternate(nil, "a.flac"),
        ]
        var second = item(alternates, title: "Two")
        (second.guid, second.enclosures[0].url) = ("2", "https://x.example/2.mp3")
        second.published = nil
        let show = try library.subscribe([item(alternates), second]).podcast.id
        func found(_ limit: Int, inAll: Int) throws -> [[AlternateSummary]] {
            var found: [[AlternateSummary]] = []
            let limits = SummaryLimits(
                notes: 0, notesInAll: 0, chapters: 0, chaptersInAll: 0, alternates: limit, alternatesInAll: inAll)
            try library.summaries(of: show, limits: limits) { found.append($0.alternates) }
            return found
        }
        let all = try found(9, inAll: 99)
        #expect(all.map { $0.map(\.name) } == Array(repeating: ["Small en.opus", "Video.mp4", "Audio.flac"], count: 2))
        let size = EpisodeSize(confirmed: nil, length: nil, duration: 600, type: nil, name: "")
        #expect(
            all[0][0]
                == AlternateSummary(
                    name: "Small en.opus", type: "audio/opus", language: "en", size: size, changed: noon))
        #expect(try found(2, inAll: 3).map(\.count) == [2, 1] && found(0, inAll: 0).map(\.count) == [0, 0])
        // Summaries omit alternates that the feed no longer lists.
        _ = try library.merge([item([]), second], into: show)
        #expect(try found(9, inAll: 99).map(\.count).sorted() == [0, 3])
    }

    @Test func unsubscribingRemovesAlternates() throws {
        let show = try library.subscribe([item([alternate("audio/opus", "a.opus")])]).podcast.id
        _ = try library.unsubscribe(podcast: show)
        #expect(try library.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM alternate") } == 0)
    }
}
