import Testing

@testable import PodcastFeed
@testable import PodcastLibrary

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
