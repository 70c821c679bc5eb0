import Testing

@testable import PodcastLibrary

/// Tests of the regular expressions that select episodes by title.
@Suite(.timeLimit(.minutes(2))) struct TitlePatternTests {
    @Test(arguments: [
        ("interview", "An INTERVIEW with X", true), ("interview", "An inter-view", false), ("", "anything", true),
        ("^news", "News of the day", true), ("^news", "The news", false), ("day$", "News of the day", true),
        ("^$", "", true), ("^$", "x", false), ("a.c", "abc", true), ("a.c", "ac", false), ("ab*c", "ac", true),
        ("ab+c", "ac", false), ("ab?c$", "abbc", false), ("(ab|cd)ef", "xcdef", true), ("(?:ab|cd)+$", "abcdab", true),
        ("[a-c]x", "Bx", true), ("[^a-c]x", "bx", false), ("[^a-c]x", "dx", true), ("[]a]", "]", true),
        ("\\d{3}", "Episode 12", false), ("\\d{3}", "Episode 123", true), ("^\\d{2,3}$", "1234", false),
        ("\\bart\\b", "the art of", true), ("\\bart\\b", "the party", false), ("x{,2}", "x{,2}", true),
        ("C\\+\\+", "c++ 20", true), ("straße", "STRASSE", false), ("STRASSE", "Strasse", true),
        ("über", "ÜBER alles", true), ("[ä-ü]ber", "Über", true), ("\\w+", "日本", true), ("e\u{301}", "é", true),
        ("a{0}b", "b", true), ("(a|b)*c{2}", "ababcc", true), ("#(?:[1-9]\\d*)\\b", "Folge #42: x", true),
        ("[\\d-]+$", "2026-01-02", true), ("\\S\\s\\S", "a b", true), ("[.]mp3", "xmp3", false),
        ("^(?!.*rerun).*news", "News (rerun)", false), ("(\\w)\\1", "Book", true),
    ])
    func matches(_ pattern: String, _ title: String, _ isMatch: Bool) throws {
        #expect(try TitlePattern(pattern).matches(title) == isMatch, "\(pattern) in \(title)")
    }

    @Test(arguments: [
        ("(", "missing closing parenthesis at offset 1"), (")", "unmatched closing parenthesis at offset 0"),
        ("*a", "quantifier does not follow a repeatable item at offset 0"),
        ("[z-a]", "range out of order in character class at offset 3"),
    ])
    func rejects(_ pattern: String, _ reason: String) {
        #expect(throws: SettingError(message: reason)) { try TitlePattern(pattern) }
    }

    /// Expressions for which backtracking needs exponential time.
    @Test func matchingNeedsNoExponentialTime() throws {
        let title = String(repeating: "a", count: 500) + "b"
        for pattern in ["(a+)+$", "(a|aa)+$", "(a*)*c", "(.*)(.*)(.*)(.*)c", "(x+x+)+y"] {
            #expect(try !TitlePattern(pattern).matches(title))
        }
    }
}
