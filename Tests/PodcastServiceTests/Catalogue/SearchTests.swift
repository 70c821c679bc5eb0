import Testing

@testable import PodcastService

struct SearchTermTests {
    @Test(arguments: [
        ("  high   tide ", "high tide"), ("high\u{A0}\u{3000}tide\n", "high tide"), ("a\u{0}b\u{7}", "a b"),
        ("u\u{308}ber", "über"),
    ])
    func spellingsAreNormalized(written: String, text: String) {
        let term = SearchTerm(written)
        #expect(term?.text == text)
        // Swift considers both forms of ü equal; a server does not.
        #expect(term.map { Array($0.text.utf8) } == Array(text.utf8))
    }

    @Test func aTermHasAtMostTwoHundredCharacters() {
        #expect(SearchTerm(String(repeating: "ä", count: 200)) != nil)
        #expect(SearchTerm(String(repeating: "ä", count: 201)) == nil)
        // A letter with 10,000 combining accents is a single character, and is refused nevertheless.
        #expect(SearchTerm("a" + String(repeating: "\u{301}", count: 10_000)) == nil)
    }

    @Test func caseAndUnicodeFormDoNotMatter() {
        #expect(SearchTerm("Über STRASSE") == SearchTerm("u\u{308}BER straße "))
        #expect(SearchTerm("Über")?.hashValue == SearchTerm("üBER")?.hashValue)
        #expect(SearchTerm("uber") != SearchTerm("über"))
    }
}
