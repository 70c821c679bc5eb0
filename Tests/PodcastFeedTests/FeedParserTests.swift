import PodcastFeed
import Testing

@Suite struct FeedParserTests {
    private func parse(
        _ text: String, contentType: String? = nil, base: String? = nil, limits: FeedLimits = .standard
    ) throws -> Feed {
        try FeedParser.parse(Array(text.utf8), contentType: contentType, base: base, limits: limits)
    }

    private func item(_ inside: String) throws -> Item {
        try #require(try parse("<rss><channel><item>\(inside)</item></channel></rss>").items.first)
    }

    // MARK: Documents that are not feeds

    @Test(arguments: ["", "  \n\t ", "\u{FEFF}", String(repeating: "\n", count: 50_000)])
    func documentWithoutContentIsEmpty(text: String) {
        #expect(throws: DocumentError(.empty, expected: .feed)) { try parse(text) }
    }

    @Test func webPageIsAnErrorThatNamesItsTitle() {
        let pages = [
            "<!DOCTYPE html><html><head><title>Please &amp;\n log in</title></head><body><rss/></body></html>",
            "<!-- x --><HTML lang=en><HEAD><TITLE>Please & log in</TITLE></HEAD>",
            "<?xml version=\"1.0\"?><!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Strict//EN\" \"http://x\"><html "
                + "xmlns=\"http://www.w3.org/1999/xhtml\"><head><title>Please &amp; log in</title></head></html>",
        ]
        for page in pages {
            #expect(throws: DocumentError(.html(title: "Please & log in"), expected: .feed)) { try parse(page) }
        }
        #expect(throws: DocumentError(.html(title: nil), expected: .feed)) {
            try parse("<html><body>502</body></html>")
        }
        #expect(DocumentError(.html(title: "Log in"), expected: .feed).description.contains("“Log in”"))
    }

    @Test func otherXMLIsAnErrorThatNamesItsRoot() {
        #expect(throws: DocumentError(.root("rxx"), expected: .feed)) {
            try parse("<?xml version='1.0'?><rxx><item/></rxx>")
        }
        #expect(throws: DocumentError(.root("opml"), expected: .feed)) {
            try parse("<opml version='2.0'><body/></opml>")
        }
        #expect(DocumentError(.root("opml"), expected: .feed).description.contains("podfs import"))
    }

    @Test func plainTextIsAnErrorThatQuotesIt() {
        #expect(throws: DocumentError(.notXML(beginning: "error code: 1020"), expected: .feed)) {
            try parse("error code: 1020\n")
        }
    }

    @Test func jsonWithoutItemsIsAnError() {
        for text in ["{}", "[1,2]", "{\"items\":", "{\"error\":\"no such show\"}"] {
            let error = #expect(throws: DocumentError.self) { try parse(text) }
            guard case .json = error?.problem else {
                Issue.record("\(text): \(String(describing: error))")
                continue
            }
        }
    }

    // MARK: Encodings

    @Test func theCharsetOfTheResponseOverridesTheDocuments() throws {
        // “Ω” in ISO 8859-7, in a document that declares Latin-2.
        let text = "<?xml version=\"1.0\" encoding=\"iso-8859-2\"?><rss><channel><title>"
        let bytes = Array(text.utf8) + [0xD9] + Array("</title></channel></rss>".utf8)
        let feed = try FeedParser.parse(bytes, contentType: "text/xml; Charset=\"ISO-8859-7\"")
        #expect(feed.title == "Ω")
        #expect(try FeedParser.parse(bytes).title == "Ů")
    }

    @Test func unknownCharsetIsReadAsUTF8WithADiagnostic() throws {
        let feed = try parse("<rss><channel><title>é</title></channel></rss>", contentType: "text/xml; charset=x-wat")
        #expect(feed.title == "é")
        #expect(feed.diagnostics.count == 1)
    }

    @Test func aGuessedEncodingHasADiagnostic() throws {
        // The letters а to п of Windows-1251, eight times.
        let words = Array(repeating: (0xE0...0xEF as ClosedRange<UInt8>).map(\.self) + [0x20], count: 8).joined()
        let bytes = Array("<rss><channel><title>".utf8) + words + Array("</title></channel></rss>".utf8)
        for (type, problem) in [
            ("text/xml", "the text is not UTF-8 and declares no encoding"),
            ("text/xml; charset=utf-8", "the document is labelled “utf-8”, but its text is not UTF-8"),
        ] {
            let feed = try FeedParser.parse(bytes, contentType: type)
            #expect(feed.title?.hasPrefix("абвгдежзийклмноп абв") == true)
            #expect(feed.diagnostics.map(\.message) == ["\(problem): it is read as CP1251, which is a guess"])
        }
    }

    @Test func lettersOfUTF8AmongWindows1252AreNotTakenForPolish() throws {
        // A feed of two generators: one writes Windows-1252, the other UTF-8.
        let latin = Array("Stra".utf8) + [0xDF] + Array("e caf".utf8) + [0xE9] + Array(" d".utf8) + [0xE9, 0x20]
        let bytes =
            Array("<rss><channel><title>".utf8) + latin + latin + Array("für müde</title></channel></rss>".utf8)
        let feed = try FeedParser.parse(bytes, contentType: "text/xml; charset=utf-8")
        #expect(feed.title == "Straße café dé Straße café dé für müde")
    }

    @Test func textUpToTheLimitIsNotCutAndAnOmittedTagCountsAsACut() throws {
        var limits = FeedLimits()
        limits.text = 10
        for (inside, text, isCut) in [
            ("<![CDATA[0123456789]]>", "0123456789", false), ("0123456789<![CDATA[]]>", "0123456789", false),
            ("<![CDATA[0123456789a]]>", "0123456789", true),
            ("0123456789<img src='a'/>", "0123456789", true), ("<b>012345678</b>", "<b>0123456</b>", true),
            ("<b>0123&amp;&amp;&amp;&amp;&amp;</b>", "<b>0123&amp;</b>", true),
            ("<b>0123456</b>", "<b>0123456</b>", false), ("<b>012345ü</b>x", "<b>012345</b>", true),
        ] {
            let feed = try parse(
                "<rss><channel><item><content:encoded>\(inside)</content:encoded></item></channel></rss>",
                limits: limits)
            #expect(feed.items.first?.description == text, "\(inside)")
            #expect(
                feed.diagnostics.contains { $0.message == "a text is longer than 10 bytes and is cut" } == isCut,
                "\(inside)")
        }
    }

    @Test func anItemIsCompleteWithTheNameOfItsEndTag() throws {
        let item = "<item><title>a</title><enclosure url='http://host.example/1.mp3'/>"
        #expect(try parse("<rss><channel>\(item)</item").items.map(\.title) == ["a"])
        #expect(try parse("<rss><channel>\(item)</ite").items.isEmpty)
    }

    @Test func anIgnoredGUIDDoesNotDecideWhetherTheFirstIsALink() throws {
        let (link, identifier) = (
            "<guid>https://x.example/1</guid>", "<guid isPermaLink=\"false\">https://x.example/2</guid>"
        )
        #expect(try item(link + identifier).link == "https://x.example/1")
        let other = try item(identifier + link)
        #expect(other.guid == "https://x.example/2" && other.link == nil)
        // An empty element supplies no guid, so its attribute has no effect either.
        #expect(try item("<guid isPermaLink=\"false\"/>" + link).link == "https://x.example/1")
    }

    // MARK: Limits

    @Test func itemsBeyondTheLimitAreLeftOut() throws {
        var limits = FeedLimits.standard
        limits.items = 3
        let feed = try parse(
            "<rss><channel>" + String(repeating: "<item/>", count: 9) + "</channel></rss>", limits: limits)
        #expect(feed.items.count == 3)
        #expect(feed.diagnostics.map(\.message) == ["there are more than 3 items; the rest is ignored"])
    }

    @Test func longTextsAreCutAtACharacter() throws {
        var limits = FeedLimits.standard
        limits.line = 10
        limits.url = 30
        limits.text = 5
        let feed = try parse(
            "<rss><channel><title>123456789é</title><link>https://x.example/too/long/for/this/limit</link>"
                + "<description>éééé</description></channel></rss>", limits: limits)
        #expect(feed.title == "123456789")
        #expect(feed.description == "éé")
        #expect(feed.link == nil)
        #expect(feed.diagnostics.count == 3)
    }

    @Test func repeatedMistakesDoNotFillTheDiagnostics() throws {
        let text = "<rss><channel>" + String(repeating: "<item><title>a & b</title></item>", count: 500)
        let feed = try parse(text + "</channel></rss>")
        #expect(feed.items.count == 500)
        #expect(feed.diagnostics.count == FeedLimits.standard.diagnostics + 1)
        #expect(feed.diagnostics.last?.message.contains("more diagnostics") == true)
    }

    // MARK: Details

    @Test func authorIsKeptOnlyWhereItDiffersFromTheShows() throws {
        let feed = try parse(
            "<rss><channel><item><itunes:author>Us</itunes:author></item><item><itunes:author>Guest</itunes:author>"
                + "</item><itunes:author>Us</itunes:author></channel></rss>")
        #expect(feed.items.map(\.author) == [nil, "Guest"])
    }

    @Test func updateIntervalIsTheLongestOneStated() throws {
        let feed = try parse(
            "<rss xmlns:sy=\"http://purl.org/rss/1.0/modules/syndication/\"><channel><ttl>60</ttl><sy:updatePeriod>"
                + " Daily </sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency></channel></rss>")
        #expect(feed.updateInterval == 43_200)
    }

    @Test func misspeltNamespacesAreUnderstood() throws {
        let feed = try parse(
            "<rss xmlns:itunes=\"https://www.itunes.com/DTDs/Podcast-1.0.dtd/\" "
                + "xmlns:media=\"http://search.yahoo.com/mrss\" xmlns:podcast=\"urn:guessed\"><channel><itunes:author>A</itunes:author><podcast:guid>g</podcast:guid>"
                + "<item><media:content url=\"https://x.example/a.mp3\"/></item></channel></rss>")
        #expect(feed.author == "A")
        #expect(feed.guid == "g")
        #expect(feed.items.first?.enclosures.count == 1)
    }

    @Test func playlistsAndPagesInAVideoListAreNoFiles() throws {
        let list = """
            [{"title": "1", "url": "https://e/1"}, {"title": "2", "movie": "https://e/2.m3u8"},
            {"title": "3", "url": "https://e/3.pdf"}, {"title": "4", "url": "https://e/4", "type": "text/html"}]
            """
        let feed = try FeedParser.parse(Array(list.utf8))
        #expect(feed.items.map { $0.enclosures.map(\.kind) } == [[.media], [.stream], [], []])
        #expect(feed.items.map(\.attachments.count) == [0, 0, 1, 1] && feed.unplayable == 2)
    }

    // MARK: Types, plain text and markup

    @Test func parametersOfAMIMETypeDoNotMatter() throws {
        let documents = try item("<enclosure url='http://e.com/b.pdf' type='application/pdf; name=b.pdf'/>")
        #expect(documents.enclosures.isEmpty && documents.attachments.map(\.type) == ["application/pdf"])
        let stream = "<enclosure url='http://e.com/live' type='Application/x-mpegURL ; charset=\"utf-8\"'/>"
        let media = try item(stream + "<enclosure url='http://e.com/a.mp3' type='audio/mpeg;x=1'/>").enclosures
        #expect(media.map(\.type) == ["audio/mpeg", "application/x-mpegurl"])
        let transcript = "<podcast:transcript url='http://e.com/a.vtt' type='text/plain; charset=utf-8'/>"
        #expect(try item(transcript).transcripts.map(\.type) == ["text/plain"])
    }

    /// The description is HTML, whatever the format of the feed.
    @Test func plainTextIsEscaped() throws {
        let expected = "&lt;T> is a type &amp; not a tag\n\nsee"
        let plain = "&lt;T&gt; is a type &amp; not a tag\n\nsee"
        func entry(_ inside: String) throws -> String? {
            let feed = "<feed xmlns='http://www.w3.org/2005/Atom'><entry>\(inside)</entry></feed>"
            return try parse(feed).items.first?.description
        }
        #expect(try entry("<content type='text'>\(plain)</content>") == expected)
        #expect(
            try entry("<content type='text/plain; x=1'><![CDATA[<T> is a type & not a tag\n\nsee]]></content>")
                == expected)
        #expect(try entry("<summary type='text'>\(plain)</summary>") == expected)
        #expect(try entry("<content type='html'>\(plain)</content>") == "<T> is a type & not a tag\n\nsee")
        #expect(try entry("<content>\(plain)</content>") == "<T> is a type & not a tag\n\nsee")
        let base64 = "PFQ+IGlzIGEgdHlwZSAmIG5vdCBhIHRhZwoKc2Vl"
        #expect(try entry("<content type='text/plain' mode='base64'>\(base64)</content>") == expected)
        #expect(
            try parse(
                "<rss xmlns:media='http://search.yahoo.com/mrss/'><channel><item><media:description type='plain'>"
                    + "\(plain)</media:description></item></channel></rss>"
            ).items.first?.description == expected)
        for member in ["content_text", "summary"] {
            let json = #"{"items": [{"id": "1", "\#(member)": "<T> is a type & not a tag\n\nsee"}]}"#
            #expect(try parse(json).items.first?.description == expected)
        }
        let html = #"{"items": [{"id": "1", "content_html": "<b>x</b>", "content_text": "x"}]}"#
        #expect(try parse(html).items.first?.description == "<b>x</b>")
    }

    // MARK: Namespaces

    @Test func aPrefixBoundInsideXHTMLIsBoundThere() throws {
        let feed = try parse(
            """
            <feed xmlns="http://www.w3.org/2005/Atom"><entry><content type="xhtml">
            <x:div xmlns:x="http://www.w3.org/1999/xhtml"><x:br xmlns:y="y"/><y:p xmlns:y="y">a</y:p></x:div>
            </content></entry><entry><title>b</title></entry></feed>
            """)
        #expect(feed.items.count == 2 && feed.diagnostics.isEmpty)
        let unbound = try parse(
            "<feed xmlns='http://www.w3.org/2005/Atom'><entry><content type='xhtml'><p xmlns:y='y'/><y:p/></content>"
                + "</entry></feed>")
        #expect(unbound.diagnostics.map(\.message).filter { $0.contains("“y”") }.count == 1)
    }

    /// The start tag of an item also ends an item that was not closed, and with it the declarations of that item.
    @Test func theDeclarationsOfAnItemOutliveTheItemBeforeIt() throws {
        let feed = try parse(
            """
            <rss><channel><item xmlns:a="http://www.itunes.com/dtds/podcast-1.0.dtd"><a:title>1</a:title>
            <item xmlns:b="http://www.itunes.com/dtds/podcast-1.0.dtd"><b:episode>2</b:episode></item></channel></rss>
            """)
        #expect(feed.items.map(\.episode) == [nil, 2])
        #expect(!feed.diagnostics.contains { $0.message.contains("“b”") })
    }
}
