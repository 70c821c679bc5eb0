import Foundation
import FoundationXML
import Platform
import PodcastFeed
import Testing

/// Lists of subscriptions. Each fixture is a list exported by some program, or a damaged one, with the expected result.
@Suite struct OPMLTests {
    static var folder: URL {
        FixtureTests.folder.appendingPathComponent("Subscriptions")
    }

    static var documents: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".opml") }.sorted()
        }
    }

    static func bytes(_ name: String) throws -> [UInt8] {
        try Array(Data(contentsOf: folder.appendingPathComponent(name)))
    }

    private func parse(_ text: String, limits: FeedLimits = .standard) throws -> OPML {
        try OPML.parse(Array(text.utf8), limits: limits)
    }

    private func written(_ list: OPML) -> String {
        let subscriptions = list.subscriptions.map { subscription in
            OrderedJSON.object([
                ("url", .string(subscription.url)), ("title", .string(orNull: subscription.title)),
                ("link", .string(orNull: subscription.link)), ("line", .int(Int64(subscription.line))),
            ])
        }
        let diagnostics = list.diagnostics.map { diagnostic in
            OrderedJSON.object([("line", .int(Int64(diagnostic.line))), ("message", .string(diagnostic.message))])
        }
        let value = OrderedJSON.object([
            ("title", .string(orNull: list.title)), ("subscriptions", .array(subscriptions)),
            ("diagnostics", .array(diagnostics)),
        ])
        return String(decoding: value.encoded(), as: UTF8.self) + "\n"
    }

    @Test(arguments: try documents)
    func listIsParsedToItsExpectedJSON(name: String) throws {
        let list = try OPML.parse(Self.bytes(name))
        let stem = name.prefix { $0 != "." }
        if let target = ProcessInfo.processInfo.environment["PODFS_WRITE_FIXTURES"] {
            let path = "\(target)/Subscriptions/\(stem).json"
            try written(list).write(toFile: path, atomically: true, encoding: .utf8)
            return
        }
        #expect(try written(list) == String(decoding: Self.bytes("\(stem).json"), as: UTF8.self))
    }

    @Test(arguments: try documents)
    func listDoesNotDependOnTheSizeOfThePieces(name: String) throws {
        let bytes = try Self.bytes(name)
        let whole = try OPML.parse(bytes)
        for size in [1, 7, 64, 4096] {
            let parser = FeedParser()
            parser.parse(bytes, pieces: size)
            #expect(try parser.finishSubscriptions() == whole, "pieces of \(size) bytes")
        }
    }

    @Test(arguments: try documents)
    func aListSurvivesWritingAndReading(name: String) throws {
        let list = try OPML.parse(Self.bytes(name))
        let again = try OPML.parse(list.document())
        #expect(again.title == list.title)
        // Subscriptions without folders are written first, so the order may change.
        let ordered = [again, list].map { $0.subscriptions.sorted { $0.url < $1.url } }
        #expect(ordered[0].map(\.url) == ordered[1].map(\.url))
        #expect(ordered[0].map(\.title) == ordered[1].map(\.title))
        #expect(ordered[0].map(\.link) == ordered[1].map(\.link))
        #expect(ordered[0].map { Set($0.folders) } == ordered[1].map { Set($0.folders) })
        #expect(again.diagnostics.isEmpty)
    }

    @Test func foldersOfAFeedAreAllThatContainIt() throws {
        let text = """
            <opml version="2.0"><body><outline text="Top" xmlUrl="https://e.com/top"/>
            <outline text="News"><outline text="Daily &amp; more"><outline xmlUrl="https://e.com/a"/></outline>
            <outline xmlUrl="https://e.com/b"/></outline>
            <outline text="Other"><outline xmlUrl="https://e.com/a"/></outline>
            <outline xmlUrl="https://e.com/last"/></body></opml>
            """
        let list = try OPML.parse(Array(text.utf8))
        #expect(
            list.subscriptions.map(\.folders) == [[], ["News", "Daily & more", "Other"], ["News"], []])
        let written = String(decoding: list.document(), as: UTF8.self)
        #expect(written.components(separatedBy: "<outline text=").count == 4)
        #expect(written.contains("<outline text=\"Daily &amp; more\">\n      <outline type=\"rss\""))
    }

    // MARK: Documents that are not lists

    @Test func unusableAndRepairedSubscriptionsAreDistinguished() throws {
        let list = try OPML.parse(Self.bytes("wrong-addresses.opml"))
        #expect(list.unusable.count >= 8 && list.unusable.allSatisfy { list.diagnostics.contains($0) })
        #expect(try OPML.parse(Self.bytes("bare-ampersands.opml")).unusable.isEmpty)
        // Entries that are not subscriptions are not reported.
        #expect(try OPML.parse(Self.bytes("overcast.opml")).unusable.isEmpty)
    }

    @Test func otherDocumentsAreErrorsThatNameTheirKind() {
        let cases: [(String, DocumentError.Problem, String)] = [
            ("", .empty, "empty"),
            (" \n", .empty, "empty"),
            ("<!DOCTYPE html><title>Log in</title>", .html(title: "Log in"), "a web page (“Log in”)"),
            ("<html><body/></html>", .html(title: nil), "a web page"),
            ("<rss><channel><title>T</title></channel></rss>", .feed(title: "T"), "a feed (“T”)"),
            ("<feed xmlns=\"http://www.w3.org/2005/Atom\"/>", .feed(title: nil), "podfs subscribe"),
            ("{\"items\":[]}", .json(""), "JSON"),
            ("<plist version=\"1.0\"><dict/></plist>", .root("plist"), "<plist>"),
            (
                "https://one.example/rss\nhttps://two.example/rss\n",
                .notXML(beginning: "https://one.example/rss https://two.example/rss"), "begins with"
            ),
        ]
        for (text, problem, part) in cases {
            let error = DocumentError(problem, expected: .subscriptions)
            #expect(throws: error) { try parse(text) }
            #expect(error.description.contains(part))
        }
        let error = #expect(throws: DocumentError.self) { try parse("<?xml version=\"1.0\"?>\n<>") }
        guard case .unreadable = error?.problem else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.description.contains("cannot be read") == true)
    }

    @Test func listGivenAsAFeedIsAnErrorThatNamesImport() {
        for text in ["<opml><body/></opml>", "<OPML/>"] {
            let error = #expect(throws: DocumentError.self) { try FeedParser.parse(Array(text.utf8)) }
            #expect(error?.description.contains("podfs import") == true)
        }
    }

    // MARK: Limits

    @Test func subscriptionsBeyondTheLimitAreLeftOut() throws {
        #expect(FeedLimits.standard.items == 100_000)
        var limits = FeedLimits.standard
        limits.items = 10_000
        let outlines = (0...10_000).map { "<outline type=\"rss\" xmlUrl=\"https://x.example/\($0)\"/>\n" }
        let list = try parse("<opml><body>\n\(outlines.joined())</body></opml>", limits: limits)
        #expect(list.subscriptions.count == 10_000)
        #expect(list.subscriptions.last == .init(url: "https://x.example/9999", line: 10_001))
        #expect(list.diagnostics.map(\.line) == [10_002])
        #expect(list.diagnostics.first?.message.contains("more than 10000") == true)
    }

    @Test func subscriptionsInTenThousandNestedFoldersAreFound() throws {
        let outlines = (1...3).map { "<outline type=\"rss\" xmlUrl=\"https://x.example/\($0)\"/>" }
        let folders = String(repeating: "<outline text=\"f\">", count: 10_000)
        for ends in ["", String(repeating: "</outline>", count: 10_000)] {
            let list = try parse(
                "<opml><body>\(outlines[0])\(folders)\(outlines[1])\(ends)\(outlines[2])</body></opml>")
            #expect(list.subscriptions.map(\.url) == (1...3).map { "https://x.example/\($0)" })
            #expect(list.diagnostics.contains { $0.message.contains("nested deeper") })
        }
    }

    @Test func longNamesAreCutAndLongAddressesLeftOut() throws {
        var limits = FeedLimits.standard
        limits.line = 10
        limits.url = 30
        let list = try parse(
            "<opml><body><outline text=\"123456789é\" xmlUrl=\"https://x.example/\"/>"
                + "<outline text=\"Long\" xmlUrl=\"https://x.example/too/long/for/this\"/></body></opml>",
            limits: limits)
        #expect(list.subscriptions.map(\.title) == ["123456789"])
        #expect(list.diagnostics.count == 1)
    }

    // MARK: Writing

    @Test func everyCharacterAllowedInXMLSurvives() throws {
        let scalars =
            (0..<0x3000).compactMap { Unicode.Scalar(UInt32($0)) } + ["\u{FFFD}", "\u{FFFE}", "\u{FFFF}", "🎙"]
        for start in stride(from: 0, to: scalars.count, by: 256) {
            let part = scalars[start..<min(start + 256, scalars.count)]
            let title = "x" + String(String.UnicodeScalarView(part)) + "]]> <!-- &amp; &#0; x"
            let link = "https://x.example/?q=%00&amp;amp;x=\"'<>"
            let document = OPML.document(
                title: title, subscriptions: [.init(url: "https://x.example/&?a=b&c", title: title, link: link)])
            #expect(!document.contains { $0 < 0x20 && $0 != 0x0A })
            let list = try OPML.parse(document)
            // Characters that XML does not allow, and C1 controls, are removed; white space, including the no-break
            // space, becomes one space.
            let expected = title.unicodeScalars
                .filter { $0.value >= 0x20 || "\t\n\r".unicodeScalars.contains($0) }
                .filter { $0 != "\u{FFFE}" && $0 != "\u{FFFF}" && !(0x7F...0x9F).contains($0.value) }
                .map { " \t\n\r\u{A0}".unicodeScalars.contains($0) ? " " : String($0) }
                .joined().split(separator: " ").joined(separator: " ")
            #expect(list.subscriptions.first?.title?.unicodeScalars.elementsEqual(expected.unicodeScalars) == true)
            #expect(list.subscriptions.first?.url == "https://x.example/&?a=b&c")
            #expect(list.diagnostics.isEmpty)
        }
    }

    /// A terminal that displays the list obeys U+009B; U+202E and U+2066 turn the text after a title.
    @Test func noCharacterControlsATerminal() throws {
        let title = "a\u{9B}2Jb\u{202E}c\u{2066}d\u{200F}e"
        let document = OPML.document(
            title: title, subscriptions: [OPML.Subscription(url: "https://example.com/", title: title)])
        let text = String(decoding: document, as: UTF8.self)
        #expect(text.contains("<title>a2Jb&#8238;c&#8294;d&#8207;e</title>"))
        #expect(!text.unicodeScalars.contains { $0.value >= 0x7F && PlainText.isHarmful($0) })
        #expect(try OPML.parse(document).subscriptions.map(\.title) == [title.replacing("\u{9B}", with: "")])
    }

    @Test func documentIsWhatOtherProgramsExpect() {
        let document = OPML.document(
            title: "podfs", created: PublicationDate(seconds: 1795_168_800, offset: 3600),
            subscriptions: [
                .init(url: "https://a.example/?x&y", title: "A “b”\n& <c>"), .init(url: "https://b.example/"),
            ])
        #expect(
            String(decoding: document, as: UTF8.self) == """
                <?xml version="1.0" encoding="UTF-8"?>
                <opml version="2.0">
                  <head>
                    <title>podfs</title>
                    <dateCreated>Fri, 20 Nov 2026 10:00:00 GMT</dateCreated>
                  </head>
                  <body>
                    <outline type="rss" text="A “b”&#10;&amp; &lt;c&gt;" title="A “b”&#10;&amp; &lt;c&gt;" xmlUrl="https://a.example/?x&amp;y"/>
                    <outline type="rss" text="https://b.example/" xmlUrl="https://b.example/"/>
                  </body>
                </opml>

                """)
    }

    @Test func escapedTextSurvives() throws {
        // `text` is the name of the show's folder. It keeps characters that are normalized in a title.
        let names = ["A  B", "\u{A0}x", "&amp;", "e\u{301}", "100 % \"x\" 'y' <z>"]
        let list = names.indices.map {
            OPML.Subscription(url: "https://x.example/\($0)", title: "T", text: names[$0])
        }
        let again = try OPML.parse(OPML.document(subscriptions: list))
        #expect(again.subscriptions.map { $0.text.map { Array($0.utf8) } } == names.map { Array($0.utf8) })
        #expect(again.subscriptions.map(\.title) == names.map { _ in "T" })
    }

    @Test func documentIsReadByAnotherParser() throws {
        let scalars = (0..<0x300).compactMap { Unicode.Scalar(UInt32($0)) } + ["\u{FFFE}", "\u{FFFF}"]
        let title = String(String.UnicodeScalarView(scalars))
        let document = OPML.document(title: title, subscriptions: [.init(url: "https://x.example/", title: title)])
        // Foundation's parser is strict: it stops at the first violation of XML.
        let parser = XMLParser(data: Data(document))
        #expect(parser.parse(), "\(String(describing: parser.parserError))")
    }
}

extension OPML {
    func document() -> [UInt8] { OPML.document(title: title, subscriptions: subscriptions) }
}
