import Foundation
import PodcastFeed
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastLibrary

/// Hundreds of titles designed to produce bad or equal file names, in a show that grows.
struct HostileTitleTests {
    /// Parts of titles. Some differ only in case, some have an unexpected upper or lower case.
    private static let pieces = [
        "a", "B", "News", "NEWS", "news", "/", "../", ".", "..", " ", "\u{A0}", "\t", "\n", "\0", "\u{1B}[2J", "\u{7F}",
        "\u{202E}", "\u{2066}", "\u{2069}", "\u{200F}", "\u{FEFF}", "\u{2028}", "\u{FFFE}", "Straße", "STRASSE",
        "STRA\u{1E9E}E", "ſ", "s", "\u{212A}", "k", "µ", "Μ", "ΣΑΣ", "σας", "İ", "i", "ı", "I", "é", "e\u{301}", "É",
        "ǆ",
        "ǅ", "Ǆ", "ŉ", "ﬁ", "FI", "\u{301}", "👩‍👩‍👧‍👦", "🇩🇪", "שלום", "مرحبا", "(2)", " (2)", "cover", "playlist", "index",
        ".mp3",
        "\\", ":", "*", "|", "%2F", "~", "-",
    ]

    private static func title(using dice: inout SeededGenerator) -> String? {
        switch Int.random(in: 0..<20, using: &dice) {
        case 0: return nil
        case 1..<5: return dice.pick("Same", "SAME", "same", "Same (2)", "cover", "Index")
        case 5..<7: return dice.pick("Straße", "STRASSE", "STRA\u{1E9E}E", "strasse")
        case 7..<9:
            // About 4 KiB each. These titles are equal, or differ only after the position at which they are cut.
            let letter = dice.pick("x", "X", "é", "ß", "\u{301}", "👩‍👩‍👧‍👦", "/", ".", "\u{202E}")
            let count = 4096 / letter.utf8.count
            return String(repeating: letter, count: count - 1) + dice.pick(letter, "1", "2")
        default:
            let count = Int.random(in: 0...6, using: &dice)
            return (0..<count).map { _ in Self.pieces.randomElement(using: &dice) ?? "" }.joined()
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func hostileTitlesBecomeNamesThatDifferInMoreThanCase(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        let library = try Library.openForWriting(at: folder.library)
        var dice = SeededGenerator(seed: seed)
        let items = (0..<600).map { number in
            // A name without a date contains only the title. There are only three different dates, so that many names
            // begin with the same date.
            makeItem(
                Self.title(using: &dice), guid: "\(number)", url: "https://e.com/\(number).mp3",
                published: dice.chance(50) ? nil : noon + day * Int64.random(in: 0...2, using: &dice),
                type: dice.pick("audio/mpeg", "audio/ogg", "video/mp4"))
        }
        let podcast = try library.subscribe(Array(items.prefix(200))).podcast.id
        var names: [EpisodeID: String] = [:]
        for count in [200, 201, 350, 600] {
            let result = try library.merge(items.prefix(count).shuffled(using: &dice), into: podcast)
            #expect(result.updated.isEmpty && result.unlisted.isEmpty)
            let entries = try library.entries(of: podcast)
            #expect(entries.count == count)
            for entry in entries {
                let old = names.updateValue(entry.name, forKey: entry.id)
                #expect(old == nil || old?.utf8.elementsEqual(entry.name.utf8) == true, "a name changed")
            }
            try expectDistinct(entries.map(\.name))
            for entry in entries { #expect(try library.entry(of: podcast, named: entry.name)?.id == entry.id) }
        }
    }

    private func expectDistinct(_ names: [String]) throws {
        // Names are distinct even where case and normalization are ignored: on Linux (with casefold), SMB and exFAT.
        let stems = names.map { FileName.stem(ofFile: $0) }
        #expect(Set(stems.map { $0.precomposedStringWithCanonicalMapping.uppercased() }).count == names.count)
        #expect(Set(stems.map { $0.precomposedStringWithCanonicalMapping.lowercased() }).count == names.count)
        #expect(Set(stems.map(FileName.folded)).count == names.count)
        for (name, stem) in zip(names, stems) {
            #expect(FileName.objection(to: stem) == nil, "\(stem)")
            #expect(stem.utf8.count <= 235 && name.utf8.count <= 255)
            #expect(!UniqueNames.reservedInShow.contains(FileName.folded(stem)), "\(stem)")
        }
    }

    @Test func allCasesOfALetterFoldToTheSameName() {
        var cased = 0
        for value in (0x80 as UInt32)...0x1_FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let properties = scalar.properties
            guard properties.changesWhenUppercased || properties.changesWhenLowercased else { continue }
            cased += 1
            let folded = FileName.folded(String(scalar))
            for form in [properties.uppercaseMapping, properties.lowercaseMapping, properties.titlecaseMapping] {
                #expect(FileName.folded(form) == folded, "U+\(String(value, radix: 16))")
            }
            #expect(FileName.folded(folded) == folded, "U+\(String(value, radix: 16))")
        }
        #expect(cased > 2000)
    }
}

struct LargeShowTests {
    @Test func mergingTenThousandUnchangedEpisodesWritesNoEpisode() throws {
        let folder = try TemporaryFolder()
        let library = try Library.openForWriting(at: folder.library)
        let items = (0..<10_000).map { number in
            var item = makeItem(
                "Episode \(number % 700)", guid: number.isMultiple(of: 4) ? nil : "urn:\(number % 9_000)",
                url: "https://e.com/\(number).mp3?token=\(number)",
                published: number.isMultiple(of: 11) ? nil : noon - Int64(number) * 1800, duration: 1800,
                length: 30_000_000)
            item.description = "<p>Notes of \(number)</p>"
            item.transcripts = [Transcript(url: "https://e.com/\(number).vtt", type: "text/vtt")]
            item.chapters = [Chapter(start: 0, title: "Start"), Chapter(start: 60)]
            return item
        }
        let first = try library.subscribe(items)
        let podcast = first.podcast.id
        #expect(first.inserted.count == 10_000)
        let before = try library.episodes(of: podcast)
        let extras = try library.extras(of: before[77].id)
        // Empties the WAL, so that it then contains only what the merge writes.
        try library.checkpoint()
        try #require(try size(folder.library + "-wal") == 0)

        let again = try library.merge(items, into: podcast)
        #expect(again.inserted.isEmpty && again.updated.isEmpty && again.unlisted.isEmpty)
        #expect(try library.episodes(of: podcast) == before)
        #expect(try library.extras(of: before[77].id) == extras)
        // Only the show's own row changes, so the WAL has a few frames, not those of 10,000 rows.
        let written = try size(folder.library + "-wal")
        #expect(written > 0 && written < 64 << 10)
        #expect(try library.identifiers()["episode"] == 10_000)

        // A different order of the items is no change.
        let shuffled = try library.merge(items.reversed(), into: podcast, now: noon + 2 * day)
        #expect(shuffled.inserted.isEmpty && shuffled.updated.isEmpty && shuffled.unlisted.isEmpty)
        #expect(try library.identifiers()["episode"] == 10_000)
        #expect(Set(try library.entries(of: podcast).map { FileName.folded($0.name) }).count == 10_000)
    }

    private func size(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.size] as? Int)
    }
}
