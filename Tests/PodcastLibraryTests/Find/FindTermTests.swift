import Foundation
import Testing

@testable import PodcastFeed
@testable import PodcastLibrary

struct FindTermTests {
    @Test(arguments: [
        ("squid", "\"squid\""),
        ("giant squid", "\"giant\" AND \"squid\""),
        ("\"giant squid\" ink", "\"giant squid\" AND \"ink\""),
        ("“giant squid", "\"giant squid\""),
        ("don't", "\"don t\""),
        ("cephal*", "\"cephal\" *"),
        ("ce*", "\"ce\""),
        ("ce*ph", "\"ce\" AND \"ph\""),
        ("\"ce*ph\"", "\"ce ph\""),
        ("a AND NOT b", "\"a\" AND \"AND\" AND \"NOT\" AND \"b\""),
        (
            "title:x ^y (z) {q} -w + NEAR(a b, 2)",
            "\"title x\" AND \"y\" AND \"z\" AND \"q\" AND \"w\" AND \"NEAR a\" AND \"b\" AND \"2\""
        ),
        ("x\u{0}y", "\"x y\""),
        ("e\u{301}t\u{E9}", "\"e\u{301}t\u{E9}\""),
        ("日本語", "\"日 本 語\""),
        ("日本 語abc", "\"日 本\" AND \"語 abc\""),
        ("🦑 squid", "\"squid\""),
    ]) func termsBecomeWordsAndPhrases(_ text: String, _ expression: String) {
        #expect(FindTerm(text)?.all == expression)
    }

    @Test(arguments: ["", " ", "\"", "\"\"", "*", "🦑", "\u{0}", "-(){}:^", "\u{301}"])
    func textWithoutWordsIsNoTerm(_ text: String) { #expect(FindTerm(text) == nil) }

    @Test func longTermsAreCut() throws {
        let words = try #require(FindTerm(String(repeating: "word ", count: 2_000)))
        #expect(words.all.components(separatedBy: " AND ").count == 64)
        let characters = try #require(FindTerm(String(repeating: "語", count: 10_000)))
        #expect(characters.all.utf8.count < 64 * 5)
        #expect(FindTerm(String(repeating: "a", count: 10_000)) != nil)
    }
}

struct FindExcerptsTests {
    private func excerpts(_ term: String) throws -> FindExcerpts { try FindExcerpts(try #require(FindTerm(term))) }

    @Test func notesAreShownAroundTheMatch() throws {
        let words = (1...100).map { "word\($0)" }.joined(separator: " ")
        let excerpt = try #require(try excerpts("giant squid").notes("<p>\(words) the giant <b>squid</b> \(words)</p>"))
        #expect(excerpt.hasPrefix("…") && excerpt.hasSuffix("…") && excerpt.contains("the giant squid"))
        #expect(excerpt.split(separator: " ").count <= 16)
        #expect(try excerpts("octopus").notes("the squid") == nil)
    }

    @Test func textWithoutSpacesIsShownAsItIs() throws {
        #expect(try excerpts("本語").notes("日本語のポッドキャスト") == "日本語のポッドキャスト")
    }

    @Test func theCueWithTheWordsIsFound() throws {
        let cues = [
            SpokenCue(start: 1, text: "a squid"), SpokenCue(start: 2.5, text: "this is a giant"),
            SpokenCue(start: 4, text: "squid of the sea"), SpokenCue(start: 6, text: "the giant squid again"),
            SpokenCue(start: 8, text: "the giant squid, last"),
        ]
        #expect(try excerpts("sea").spoken(cues)?.start == 4)
        #expect(try excerpts("\"giant squid\"").spoken(cues)?.start == 6)
        #expect(try excerpts("\"a giant squid of\"").spoken(cues)?.start == 2.5)
        #expect(try excerpts("\"a giant squid of\"").spoken(cues)?.text == "this is a giant squid of the sea")
        #expect(try excerpts("octopus").spoken(cues) == nil)
        #expect(try excerpts("squid").spoken([]) == nil)
    }
}
