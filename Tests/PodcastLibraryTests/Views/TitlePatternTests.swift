import Testing

@testable import PodcastLibrary

/// Tests of the regular expressions that select episodes by title.
@Suite(.timeLimit(.minutes(2))) struct TitlePatternTests {
    @Test(arguments: [
        ("interview", "An INTERVIEW with X", true), ("interview", "An inter-view", false), ("", "anything", true),
        ("^news", "The news", false), ("day$", "News of the day", true), ("straße", "STRASSE", false),
        ("über", "ÜBER alles", true), ("[ä-ü]ber", "Über", true), ("\\w+", "日本", true), ("e\u{301}", "é", true),
        ("^(?!.*rerun).*news", "News (rerun)", false),
    ])
    func matches(_ pattern: String, _ title: String, _ isMatch: Bool) throws {
        #expect(try TitlePattern(pattern).matches(title) == isMatch, "\(pattern) in \(title)")
    }

    /// Expressions for which backtracking needs exponential time.
    @Test func matchingNeedsNoExponentialTime() throws {
        let title = String(repeating: "a", count: 500) + "b"
        for pattern in ["(a+)+$", "(a|aa)+$", "(a*)*c", "(.*)(.*)(.*)(.*)c", "(x+x+)+y"] {
            #expect(try !TitlePattern(pattern).matches(title))
        }
    }
}
