import Platform
import Testing

@testable import PodcastFeed

@Suite struct FeedValuesTests {
    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 0), ("Wed, 31 Dec 1969 19:00:00 EST", 0, -18_000),
        ("29 Feb 2024 23:59:60 +0000", 1_709_251_199, 0), ("2024-02-29T24:00:00Z", 1_709_251_200, 0),
        ("1 Mar 1938 12:00 GMT", -1_004_702_400, 0), ("2024-02-29T00:00:00-00:30", 1_709_166_600, -1_800),
        ("Tue, 2 Jan 2024 3:04:05 PM CET", 1_704_204_245, 3_600), ("2 janvier 2024", 1_704_153_600, 0),
        ("13/01/2024", 1_705_104_000, 0), ("2024/01/13 00:00", 1_705_104_000, 0),
        ("Sat, 13 Jan 124 00:00:00 +0000", 1_705_104_000, 0), ("13 Jan 2024 00:00 +9900", 1_705_104_000, 0),
    ])
    func dateIsRead(text: String, seconds: Int64, offset: Int) {
        #expect(PublicationDate(parsing: text) == PublicationDate(seconds: seconds, offset: offset), "\(text)")
    }

    @Test(arguments: [
        "", "now", "34:00", "Fri, 20 Nov 2026 34:00:00 GMT", "Fri, 20 Nov 2026 10:61:00 GMT", "31 Nov 2026",
        "2026-13-01",
        "29 Feb 2023", "01/02/2024", "20 Xyz 2026 10:00", "5 lip 2020 10:00", "2024-W05-1", "1700000000000",
        "Nov 2026", "20 Nov 0026", "2026-11-20T13:00 pm am", "20 Nov 2026 0:10 PM",
        String(repeating: "1 ", count: 150),
    ])
    func invalidDateIsRejected(text: String) {
        #expect(PublicationDate(parsing: text) == nil, "\(text)")
    }

    @Test func isoTextOfADateGivesTheSameDate() {
        for seconds in stride(from: Int64(-2_000_000_000), to: 8_000_000_000, by: 86_413 * 997) {
            let date = PublicationDate(seconds: seconds, offset: 0)
            #expect(PublicationDate(parsing: date.iso8601) == date)
        }
    }

    @Test(
        arguments: [
            ("0:30", 30.0), ("1:02:03", 3723), ("01:02:03.5", 3723.5), ("90:00", 5400), ("12.34", 12.34), ("5.", 5),
            ("PT45M", 2700), ("PT1H0.5S", 3600.5), ("2 hours, 5 minutes", 7500), ("1h", 3600), ("::5", 5),
            ("00:00:00", 0), ("PT", 0),
        ] as [(String, Double)])
    func durationIsRead(text: String, seconds: Double) {
        #expect(FeedValues.seconds(Array(text.utf8)) == seconds, "\(text)")
    }

    @Test(arguments: [
        "", "-1", ":", "::", ".", "1:2:3:4", "nan", "inf", "0x10", "1e3", "5 apples", "12 34",
        "99999999999999999999", "1,5", "h",
    ])
    func invalidDurationIsRejected(text: String) {
        #expect(FeedValues.seconds(Array(text.utf8)) == nil, "\(text)")
    }

    @Test func lengthIsAPositiveNumberOfPlainDigits() {
        #expect(FeedValues.length("12345678901".utf8) == 12_345_678_901)
        for text in ["", "0", "000", "-5", "+5", "0x1F", "1.5", "1e6", "12,345", "99999999999999999999", "5 MB"] {
            #expect(FeedValues.length(text.utf8) == nil, "\(text)")
        }
    }

    @Test func booleansHaveManyNames() {
        for text in ["yes", "TRUE", "Explicit", "1"] { #expect(FeedValues.boolean(text.utf8) == true) }
        for text in ["no", "False", "clean", "0"] { #expect(FeedValues.boolean(text.utf8) == false) }
        for text in ["", "maybe", "2"] { #expect(FeedValues.boolean(text.utf8) == nil) }
    }

    @Test func seasonsAreIntegersAndEpisodesMayBeDecimal() {
        #expect(FeedValues.wholeNumber("02".utf8) == 2)
        #expect(FeedValues.wholeNumber("2.5".utf8) == nil)
        #expect(FeedValues.wholeNumber("-1".utf8) == nil)
        #expect(FeedValues.decimalNumber("315.5".utf8) == 315.5)
        #expect(FeedValues.decimalNumber("5a".utf8) == nil)
    }

    /// The examples of RFC 3986, section 5.4.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"), (".", "http://a/b/c/"), ("..", "http://a/b/"), ("../g", "http://a/b/g"),
        ("../..", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("/../g", "http://a/g"),
        ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g:h", "g:h"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
    ])
    func referenceIsResolvedAccordingToTheStandard(reference: String, result: String) {
        #expect(URLReference.resolve(reference, base: "http://a/b/c/d;p?q") == result)
    }

    @Test func referenceIsResolvedWithoutABasePathOrBase() {
        #expect(URLReference.resolve("a.mp3", base: "https://x.example") == "https://x.example/a.mp3")
        #expect(URLReference.resolve("a.mp3", base: "https://x.example?q") == "https://x.example/a.mp3")
        #expect(URLReference.resolve("a.mp3", base: nil) == "a.mp3")
        #expect(URLReference.resolve("a.mp3", base: "nonsense") == "a.mp3")
    }

    @Test(arguments: [
        ("http://x", true), ("https://x", true), ("HTTP://x/", true), ("http://u@x", true), ("http://", false),
        ("https://", false), ("http:///", false), ("http://u@", false), ("http://:80", false), ("ftp://x/", false),
        ("http://x y", false), ("", false),
    ])
    func anAddressHasASchemeAndAHost(url: String, isValid: Bool) { #expect(WebAddress.isValid(url) == isValid) }

    @Test func lineBreaksAndDoubleEscapingAreRemovedFromURLs() {
        #expect(URLReference.resolve("\n https://x/a b\n\t/c?d&amp;e ", base: nil) == "https://x/a%20b/c?d&e")
        #expect(URLReference.resolve("https://x/ä?&=%26", base: nil) == "https://x/ä?&=%26")
    }

    @Test(
        arguments: [
            ("https://x/a.mp3", "audio/mpeg", true), ("https://x/a", "video/mp4", true), ("https://x/a.mp3", nil, true),
            ("https://x/a.mp3?x=1.pdf", "application/octet-stream", true), ("https://x/a.pdf", nil, false),
            ("https://x.mp3", nil, false), ("https://x/a.mp3", "image/jpeg", false),
            ("https://x/a.OPUS#t=1", "mp3", true),
        ] as [(String, String?, Bool)])
    func mediaIsRecognizedByTypeThenByExtension(url: String, type: String?, isMedia: Bool) {
        #expect((Enclosure(url: url, type: type).kind == .media) == isMedia)
    }

    @Test func referencesInPlainTextAreReplacedOnce() {
        let text = "AT&amp;T &#8211; &#x1F399; &nbsp; &amp;lt; &unknown; &; & &#0; &#xD800;"
        let result = String(decoding: CharacterReferences.replaced(in: Array(text.utf8)), as: UTF8.self)
        #expect(result == "AT&T – 🎙 \u{A0} &lt; &unknown; &; & &#0; &#xD800;")
    }

    @Test func personIsTheNameAfterTheAddress() {
        #expect(PlainLine.person("a@x.example (Di Name)") == "Di Name")
        #expect(PlainLine.person("Di Name (host)") == "Di Name (host)")
        #expect(PlainLine.person("a@x.example ()") == "a@x.example ()")
    }
}
