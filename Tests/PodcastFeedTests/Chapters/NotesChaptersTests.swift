import Foundation
import PodcastFeed
import TestSupport
import Testing

/// Chapters read from show notes. Each fixture is a pair of files: the notes (HTML) and their chapters (JSON).
struct NotesChaptersTests {
    private static var folder: URL { FixtureTests.folder.appendingPathComponent("Chapters") }

    static var notes: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".html") }.sorted()
        }
    }

    private static func text(_ name: String) throws -> String {
        try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }

    @Test(arguments: try notes)
    func notesHaveTheChaptersOfTheirPair(name: String) throws {
        let pair = Data(try Self.text(name.replacing(".html", with: ".json")).utf8)
        let expected = try #require(try JSONSerialization.jsonObject(with: pair) as? [[Any]]).map { entry in
            Chapter(start: (entry[0] as? NSNumber)?.doubleValue ?? -1, title: entry[1] as? String)
        }
        #expect(NotesChapters.chapters(in: try Self.text(name), duration: nil) == expected)
    }

    @Test func theFixturesAreThere() throws { #expect(try Self.notes.count >= 8) }

    @Test func timesAfterTheEndAreNotChapters() throws {
        let notes = try Self.text("trailing.html")
        #expect(NotesChapters.chapters(in: notes, duration: 3_600).map(\.start) == [0, 245, 3_599])
        // Fewer than three times are within the duration, which is too few for a list of chapters.
        #expect(NotesChapters.chapters(in: notes, duration: 300).isEmpty)
    }

    @Test(arguments: ["00:00 A\n00:10 B\n00:20 C", "(0:05) A\n(1:10) B\n(2:20) C", "1:00:00 A\n2:00:00 B\n3:00:00 C"])
    func listsOfOtherFormsAreReadUnlessTheyBeginLate(_ notes: String) {
        let isLate = notes.hasPrefix("1:00:00")
        #expect(NotesChapters.chapters(in: notes, duration: nil).count == (isLate ? 0 : 3))
    }

    @Test(arguments: [
        "Et maintenant…", "CT scans", "H. G. Wells", "Mt. Everest", "Pt. 2", "Est-ce que", "Am Anfang",
    ])
    func aTitleMayBeginLikeATimeZone(_ title: String) {
        let chapters = NotesChapters.chapters(in: "00:00 A\n12:34 \(title)\n20:00 B", duration: nil)
        #expect(chapters.map(\.title) == ["A", title, "B"])
    }

    @Test(arguments: ["ET", "PT", "PT!", "ct.", "h", "EST", "EST Opening", "AM Opening", "Uhr Anfang", "Am"])
    func aTimeOfDayIsNotAChapter(_ rest: String) {
        let chapters = NotesChapters.chapters(in: "00:00 A\n05:00 B\n10:20 \(rest)\n12:00 C", duration: nil)
        #expect(chapters.map(\.title) == ["A", "B", "C"])
    }

    @Test func alteredNotesYieldSortedChapters() throws {
        var dice = SeededGenerator(seed: 11)
        for name in try Self.notes {
            let bytes = Array(try Self.text(name).utf8)
            for _ in 1...200 {
                var altered = bytes
                for _ in 1...4 {
                    altered[.random(in: 0..<bytes.count, using: &dice)] = .random(in: 0...255, using: &dice)
                }
                let chapters = NotesChapters.chapters(in: String(decoding: altered, as: UTF8.self), duration: 7_200)
                let starts = chapters.map(\.start)
                #expect(starts == starts.sorted() && starts.allSatisfy { (0..<7_200).contains($0) })
            }
        }
    }
}

/// The chapters that players get: sorted, and only those within the episode.
struct ChapterOrderingTests {
    private func chapters(_ starts: [Double]) -> [Chapter] { starts.map { Chapter(start: $0, title: "\($0)") } }

    @Test func chaptersAreSortedAndEndWithTheEpisode() {
        #expect(chapters([60, 0, 30, 30, 100, -1, .nan, .infinity]).playable(until: 100).map(\.start) == [0, 30, 60])
        #expect(chapters([5, 1]).playable(until: nil).map(\.start) == [1, 5])
        #expect(chapters([]).playable(until: 10).isEmpty)
    }

    @Test func anImplausiblyShortDurationIsIgnored() {
        #expect(chapters([0, 600, 1_200, 1_800]).playable(until: 30).count == 4)
        #expect(chapters([0, 600, 1_200, 1_800]).playable(until: 0).count == 4)
    }
}
