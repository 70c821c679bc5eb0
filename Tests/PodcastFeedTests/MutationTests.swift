import PodcastFeed
import TestSupport
import Testing

/// Damaged documents. For any bytes, the parser must return a feed or an error, never crash.
@Suite struct MutationTests {
    private static let pieces = [
        "<", ">", "&", "\"", "]]>", "<![CDATA[", "<!--", "-->", "</item>", "<item>", "</channel>", "<?", "?>",
        "<!DOCTYPE x [", "]>", "&#x0;", "&lt;", "xmlns=\"\"", "\u{0}", "\u{FEFF}", "/>", "<!ENTITY a \"b\">", "&a;",
        "</", "< ",
    ].map { Array($0.utf8) }

    private static func mutate(_ bytes: inout [UInt8], _ dice: inout SeededGenerator) {
        for _ in 0..<Int.random(in: 1...8, using: &dice) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &dice)
            let end = min(bytes.count, place + Int.random(in: 1...40, using: &dice))
            switch Int.random(in: 0..<6, using: &dice) {
            case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &dice)
            case 1: bytes.removeSubrange(place..<end)
            case 2: bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &dice))
            case 3: bytes.insert(contentsOf: pieces.randomElement(using: &dice) ?? [], at: place)
            case 4: bytes.removeSubrange(place...)
            default: bytes.swapAt(place, end - 1)
            }
        }
    }

    /// Splits the bytes into pieces of random size.
    static func pieces(of bytes: [UInt8], _ dice: inout SeededGenerator, _ parse: (UnsafeRawBufferPointer) -> Void) {
        let most = [5, 100, 3000, 100_000].randomElement(using: &dice) ?? 100
        bytes.withUnsafeBytes { all in
            var start = 0
            while start < all.count {
                let end = min(all.count, start + Int.random(in: 1...most, using: &dice))
                parse(UnsafeRawBufferPointer(rebasing: all[start..<end]))
                start = end
            }
        }
    }

    @Test(arguments: try FixtureTests.documents)
    func damageNeverCrashesTheParser(name: String) throws {
        let original = try FixtureTests.bytes(name)
        var dice = SeededGenerator(seed: UInt64(original.count))
        var feeds = 0
        for _ in 0..<50 {
            var bytes = original
            Self.mutate(&bytes, &dice)
            let parser = FeedParser(base: FixtureTests.base)
            Self.pieces(of: bytes, &dice) { parser.parse($0) }
            let inPieces = try? parser.finish()
            let whole = try? FeedParser.parse(bytes, base: FixtureTests.base)
            #expect(inPieces == whole)
            if let feed = whole {
                feeds += 1
                #expect(feed.items.allSatisfy { $0.enclosures.allSatisfy { !$0.url.isEmpty } })
                #expect(!feed.inspectJSON().isEmpty)
            }
        }
        // A parser that always fails must not pass. Most damage affects only a part of a document, so many damaged
        // documents are still feeds. Exceptions are JSON, which must be complete, and documents that consist mostly of
        // a document type declaration.
        let isXML = name.hasSuffix(".xml") && original.firstRange(of: Array("<!DOCTYPE".utf8)) == nil
        if isXML { #expect(feeds > 12) }
    }

    private static func lines(of list: OPML) -> [String] {
        list.subscriptions.map { "\($0.url) \($0.title ?? "-")" }.sorted()
    }

    @Test(arguments: try OPMLTests.documents)
    func damageNeverCrashesTheReaderOfLists(name: String) throws {
        let original = try OPMLTests.bytes(name)
        var dice = SeededGenerator(seed: UInt64(original.count))
        for _ in 0..<50 {
            var bytes = original
            Self.mutate(&bytes, &dice)
            let parser = FeedParser()
            Self.pieces(of: bytes, &dice) { parser.parse($0) }
            let inPieces = try? parser.finishSubscriptions()
            let whole = try? OPML.parse(bytes)
            #expect(inPieces == whole)
            guard let list = whole else { continue }
            let again = try OPML.parse(list.document())
            // Subscriptions without folders are written first, so the order may change.
            #expect(Self.lines(of: again) == Self.lines(of: list))
            #expect(again.diagnostics.isEmpty)
        }
    }
}
