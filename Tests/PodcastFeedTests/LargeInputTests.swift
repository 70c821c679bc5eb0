import PodcastFeed
import Testing

/// Documents that are too large or too deep for fixture files. A parser whose time is quadratic in their size would
/// take hours for them. The time limit applies to each test, and is several times what the whole suite takes on a busy
/// machine.
@Suite(.timeLimit(.minutes(10))) struct LargeInputTests {
    /// Parses generated pieces of text.
    private func parse(_ pieces: some Sequence<String>, limits: FeedLimits = .standard) throws -> Feed {
        let parser = FeedParser(limits: limits)
        for piece in pieces { parser.parse(Array(piece.utf8)) }
        return try parser.finish()
    }

    private let start = "<rss><channel><title>Large</title>\n<item><guid>1</guid><title>First</title></item>\n"
    private let last = "<item><guid>2</guid><title>Last</title></item>\n"
    private let end = "</channel></rss>"

    /// About half a mebibyte of elements that the parser ignores.
    private let padding = String(
        repeating: "<x:padding a=\"1\">" + String(repeating: "z", count: 475) + "</x:padding>\n", count: 1024)

    @Test func documentOf64MebibytesIsReadCompletelyAndOneByteMoreIsCut() throws {
        #expect(FeedLimits.standard.bytes == 64 << 20)
        let room = (64 << 20) - start.utf8.count - last.utf8.count - end.utf8.count
        let padding = self.padding.utf8.count
        let filler = { (count: Int) in String(repeating: " ", count: count) }
        let rest = room - room / padding * padding
        let whole = Array(repeating: self.padding, count: room / padding) + [filler(rest)]
        let fitting = try parse([start] + whole + [last, end])
        #expect(fitting.items.map(\.guid) == ["1", "2"])
        #expect(fitting.diagnostics.map(\.message).contains { $0.contains("larger") } == false)
        let cut = try parse([start] + whole + [filler(1), last, end])
        #expect(cut.items.map(\.guid) == ["1", "2"])
        #expect(cut.diagnostics.contains { $0.message.contains("larger than 67108864 bytes") })
        let farTooLarge = try parse([start] + whole + whole + [last, end])
        #expect(farTooLarge.items.map(\.guid) == ["1"])
    }

    @Test func elementsNestedTenThousandDeepDoNotHideTheEpisodes() throws {
        let count = 10_000
        let open = String(repeating: "<a>", count: count)
        let close = String(repeating: "</a>", count: count)
        for middle in [open + close, open, close, "<b>" + open + close + "</b>", open + "text" + close] {
            let feed = try parse([start, middle, last, end])
            #expect(feed.items.map(\.guid) == ["1", "2"])
            #expect(feed.title == "Large")
        }
        let inside = try parse([
            start, "<item><description>\(open)x\(close)</description><guid>3</guid></item>", last, end,
        ])
        #expect(inside.items.map(\.guid) == ["1", "3", "2"])
        #expect(inside.diagnostics.contains { $0.message.contains("nested deeper") })
    }

    @Test func manyAttributesAndLongNamesAreSkipped() throws {
        let attributes = (0..<10_000).map { " a\($0)=\"\($0)\"" }.joined()
        let name = String(repeating: "n", count: 40_000)
        let feed = try parse(
            [start, "<x\(attributes)/><\(name)/>", "<enclosure\(attributes)/>", last, end])
        #expect(feed.items.map(\.guid) == ["1", "2"])
    }

    @Test func shortReferencesToALongBaseDoNotFillTheMemory() throws {
        var limits = FeedLimits.standard
        limits.bytes = 1 << 20
        let base = "https://x.example/" + String(repeating: "b", count: 10_000) + "/"
        let items = String(repeating: "<item><enclosure url=\"a\"/><link>b</link></item>", count: 1000)
        let feed = try parse(["<rss xml:base=\"\(base)\"><channel>", items, end], limits: limits)
        #expect(feed.items.count == 1000)
        let addresses = feed.items.flatMap { $0.enclosures.map(\.url) + [$0.link].compactMap(\.self) }
        #expect(addresses.count > 50 && addresses.allSatisfy { $0.hasPrefix(base) })
        #expect(addresses.reduce(0) { $0 + $1.utf8.count } <= limits.bytes + 2_000)

        let json = "{\"items\":[" + String(repeating: "{\"url\":\"a\"},", count: 1000) + "{}]}"
        let list = try FeedParser.parse(Array(json.utf8), base: base, limits: limits)
        #expect(list.items.count == 1001)
        #expect((50...110).contains(list.items.count { $0.link != nil }))
    }

    @Test func nestedBasesAreBounded() throws {
        let part = String(repeating: "p", count: 1000)
        let open = String(repeating: "<channel xml:base=\"\(part)/\">", count: 200)
        let feed = try parse(["<rss xml:base=\"https://x.example/\">", open, "<item><link>a</link></item>", "</rss>"])
        let link = try #require(feed.items.first?.link)
        #expect(link.hasPrefix("https://x.example/ppp") && link.hasSuffix("/a"))
        #expect(link.utf8.count <= FeedLimits.standard.url)
    }

    /// Inputs that take minutes or gibibytes of memory in a parser that stores every construct, or that scans the same
    /// bytes again for each tag.
    static let inputsDesignedToTakeLong: [(String, String, String)] = [
        ("", "<a xmlns:n=\"u\">", ""), ("", "<!-- -- ", "-->"), ("<x", " a=\"\"", "/>"), ("", "< ", ""),
        ("", "<a b='<c d=\"", ""), ("<![CDATA[", "]]]", "]]>"), ("<?x", "?", "?>"), ("", "</a", ">"), ("", "&a", ";"),
        ("<item><description>", "&;", "</description></item>"), ("<item><title>", "&#", "</title></item>"),
        ("<item><title>", "<b>", "</title></item>"), ("", "<a/b=", ">"), ("<x", " b='<c'", "/>"), ("<x", "/b=", ">"),
        ("", "<a b=\"", ""), ("", "<a b=\" ", ""), ("<a b='", "<c ", "'>"), ("</a", " b", ">"), ("<!D", "<a '", ">"),
    ]

    @Test(.timeLimit(.minutes(2)), arguments: inputsDesignedToTakeLong)
    func inputDesignedToTakeLongIsParsed(before: String, unit: String, after: String) throws {
        let piece = String(repeating: unit, count: (64 << 10) / unit.utf8.count)
        let feed = try parse([start + before] + Array(repeating: piece, count: 30) + [after + "\n" + last, end])
        #expect(feed.items.first?.guid == "1" && feed.items.last?.guid == "2")
        #expect(feed.diagnostics.count <= FeedLimits.standard.diagnostics + 1)
    }

    /// Each attribute's value is a reference to a character that XML does not allow, so the value decodes to nothing.
    /// If the parser reserved memory for each value nevertheless, each of these tags would take seconds.
    @Test(.timeLimit(.minutes(1))) func manyAttributesThatDecodeToNothingAreRead() throws {
        let tag = "<x" + String(repeating: " a=\"&#0;\"", count: 25_000) + "/>"
        let feed = try parse([start] + Array(repeating: tag, count: 20) + [last, end])
        #expect(feed.items.map(\.guid) == ["1", "2"])
    }

    /// If the parser searched the rest of the line for the `>` that closes each `<`, these items would take minutes.
    /// Each line has about `FeedLimits.line` bytes.
    @Test(.timeLimit(.minutes(1))) func bracketsWithoutAnEndInNamesTakeLinearTime() throws {
        let title = String(repeating: "<b ", count: 1_300)
        let author = "@" + String(repeating: "<", count: 4_000)
        let item = "<item><title><![CDATA[\(title)]]></title><author><![CDATA[\(author)]]></author></item>\n"
        let feed = try parse(["<rss><channel>"] + Array(repeating: item, count: 300) + [last, end])
        #expect(feed.items.count == 301)
        #expect(feed.items.first?.title?.hasPrefix("<b <b ") ?? false)
        #expect(feed.items.first?.author == author)
    }

    @Test func oneItemOfManyJSONValuesDoesNotFillTheMemory() throws {
        let item = "{\"id\":\"1\",\"x\":[" + String(repeating: "{},", count: 50_000) + "0],\"title\":\"T\"}"
        let feed = try parse(["{\"items\":[", item, ",{\"id\":\"2\"}]}"])
        #expect(feed.items.map(\.guid) == ["1", "2"])
    }

    @Test func jsonBeyondTheLimitIsCutWithADiagnostic() throws {
        var limits = FeedLimits.standard
        limits.bytes = 10_000
        let items = String(repeating: "{\"id\":\"an identifier\"},\n", count: 1000)
        let feed = try parse(["{\"title\":\"T\",\"items\":[", items, "{}]}"], limits: limits)
        #expect((300..<450).contains(feed.items.count))
        #expect(feed.items.allSatisfy { $0.guid == "an identifier" })
        #expect(feed.diagnostics.map(\.message).contains { $0.contains("larger than 10000 bytes") })
    }

    @Test func theParserReportsThatItIgnoresTheRest() {
        var limits = FeedLimits.standard
        limits.bytes = start.utf8.count + 1
        let parser = FeedParser(limits: limits)
        for isFull in [false, true] {
            parser.parse(Array(start.utf8))
            #expect(parser.isFull == isFull)
        }
    }

    @Test func jsonWrittenInPiecesEqualsTheJSONOfTheFeed() throws {
        let notes = String(repeating: "é\\", count: 500)
        let item = "<item><title>A \"title\"</title><description>\(notes)</description></item>"
        var inspected = InspectedItems()
        let parser = FeedParser { inspected.append($0) }
        let document = "<rss><channel><title>T</title>" + String(repeating: item, count: 500) + end
        parser.parse(Array(document.utf8))
        let feed = try parser.finish()
        var pieces: [[UInt8]] = []
        feed.writeInspectJSON(items: inspected) { pieces.append($0) }
        #expect(pieces.count > 4)
        #expect(try Array(pieces.joined()) == parse([document]).inspectJSON())
    }

    /// The parser divides a document into blocks of 64 KiB. Within a block, diagnostics about invalid bytes come before
    /// those about XML, so the order of all diagnostics depends on where the blocks end. That must not depend on how
    /// the document was split into pieces.
    @Test(
        arguments: [[0xE9, 0x20], [0x00], [0xC3, 0xA9], [0xF0, 0x9F, 0x8E, 0x99], [0xE2, 0x82, 0x20]] as [[UInt8]])
    func bytesAtABlockBoundaryAreReadTheSameForEverySplit(bytes: [UInt8]) throws {
        let head = Array("\n \n<?xml version=\"1.0\"?><rss><channel><title>T</title><!--".utf8)
        let mistakes = (0..<30).map { "&e\($0);" }.joined()
        for distance in -3...4 {
            let filler = [UInt8](repeating: UInt8(ascii: "x"), count: (64 << 10) - head.count - 100 + distance)
            let document =
                head + filler + Array("--><item><title>".utf8) + bytes + Array("\(mistakes)</title></item>".utf8)
                + bytes + Array("<!-- é -->".utf8) + [0xE9, 0x01, 0x20] + Array("</channel></rss>".utf8)
            let whole = try FeedParser.parse(document)
            #expect(whole.diagnostics.count > 30)
            for size in [1, 3, 7, 4096, 65_537] {
                let parser = FeedParser()
                parser.parse(document, pieces: size)
                #expect(try parser.finish() == whole, "\(distance), pieces of \(size)")
            }
        }
    }

    /// The scanner gets the document in blocks of 64 KiB.
    @Test func aMisplacedDeclarationAcrossABlockBoundaryIsReported() throws {
        let head = "<rss><channel><title>T</title>"
        for distance in 0...7 {
            let filler = String(repeating: " ", count: (64 << 10) - head.utf8.count - distance)
            let feed = try parse([head + filler + "<?xml version=\"1.0\"?>", last, end])
            let messages = feed.diagnostics.map(\.message)
            #expect(messages == ["an XML declaration is not at the start of the document"], "\(distance)")
            #expect(feed.items.map(\.guid) == ["2"])
        }
    }

    @Test func utf16MayBeSplitAnywhere() throws {
        let text = start + String(repeating: "<item><title>漢字 🎙 é</title></item>\n", count: 8000) + end
        let bytes: [UInt8] = [0xFE, 0xFF] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        let parser = FeedParser()
        parser.parse(bytes, pieces: 997)
        let feed = try parser.finish()
        #expect(feed.items.count == 8001)
        #expect(feed.items.dropFirst().allSatisfy { $0.title == "漢字 🎙 é" })
        #expect(feed.diagnostics.isEmpty)
    }
}
