import Foundation
import Testing

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

    @Test func charactersOfScriptsWithoutSpacesAreSeparated() {
        #expect(FindText.separated("plain café") == "plain café")
        #expect(FindText.separated("日本 ab") == "\u{200B}日\u{200B}本\u{200B} ab")
        for text in ["日本語のポッドキャスト", "ไทย", "한국어 팟캐스트", "a – b"] {
            #expect(FindText.joined(FindText.separated(text)) == text)
        }
    }
}
