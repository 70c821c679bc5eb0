import Platform
import PodcastProtocol
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

    @Test(arguments: ["", "   ", "\n\t", "\u{0}"]) func blankTextIsNoTerm(text: String) {
        #expect(SearchTerm(text) == nil)
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

struct SearchCacheTests {
    private func term(_ text: String) throws -> SearchCache.Key {
        SearchCache.Key(catalogue: "iTunes", count: 50, term: try #require(SearchTerm(text)))
    }

    private static func entries(_ number: Int) -> [FoundShow] {
        [FoundShow(title: "Show \(number)", url: "https://a.example/\(number)")]
    }

    @Test func resultsAreCachedForAnHour() throws {
        var cache = SearchCache()
        cache.store(Self.entries(1), for: try term("Tide"), now: .seconds(1_000))
        #expect(cache.entries(for: try term("tide "), now: .seconds(1_000)) == Self.entries(1))
        #expect(cache.entries(for: try term("TIDE"), now: .seconds(4_599)) == Self.entries(1))
        #expect(cache.entries(for: try term("tide"), now: .seconds(4_600)) == nil)
        #expect(cache.count == 0)
        #expect(cache.entries(for: try term("other"), now: .seconds(1_000)) == nil)
    }

    @Test func anEmptyResultIsCached() throws {
        var cache = SearchCache()
        cache.store([], for: try term("xyzzy"), now: .seconds(0))
        #expect(cache.entries(for: try term("xyzzy"), now: .seconds(1)) == [])
    }

    @Test func laterResultsReplaceEarlierOnes() throws {
        var cache = SearchCache()
        cache.store(Self.entries(1), for: try term("tide"), now: .seconds(0))
        cache.store(Self.entries(2), for: try term("Tide"), now: .seconds(3_000))
        #expect(cache.count == 1)
        #expect(cache.entries(for: try term("tide"), now: .seconds(4_000)) == Self.entries(2))
    }

    @Test func theLeastRecentlyUsedOfAHundredTermsIsEvicted() throws {
        var cache = SearchCache()
        for number in 0..<100 { cache.store(Self.entries(number), for: try term("t\(number)"), now: .seconds(number)) }
        #expect(cache.entries(for: try term("t0"), now: .seconds(200)) != nil)
        // Replacing an existing entry evicts no other.
        cache.store(Self.entries(5), for: try term("t5"), now: .seconds(200))
        #expect(cache.count == 100)
        cache.store(Self.entries(100), for: try term("t100"), now: .seconds(201))
        #expect(cache.count == 100)
        #expect(cache.entries(for: try term("t1"), now: .seconds(202)) == nil)
        #expect(cache.entries(for: try term("t0"), now: .seconds(202)) == Self.entries(0))
        #expect(cache.entries(for: try term("t2"), now: .seconds(202)) == Self.entries(2))
        #expect(cache.entries(for: try term("t100"), now: .seconds(202)) == Self.entries(100))
    }

    @Test func expiredResultsAreEvictedFirst() throws {
        var cache = SearchCache()
        for number in 0..<100 { cache.store(Self.entries(number), for: try term("t\(number)"), now: .seconds(number)) }
        cache.store(Self.entries(100), for: try term("new"), now: .seconds(3_649))
        #expect(cache.count == 51)
    }
}
