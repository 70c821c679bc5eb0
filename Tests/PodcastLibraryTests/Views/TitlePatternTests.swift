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
    ])
    func matches(_ pattern: String, _ title: String, _ isMatch: Bool) throws {
        #expect(try TitlePattern(pattern).matches(title) == isMatch, "\(pattern) in \(title)")
    }

    @Test(arguments: [
        ("(", "the '(' at character 1 is not closed"), (")", "the ')' at character 1 has no matching '('"),
        ("a[b", "the '[' at character 2 is not closed"),
        ("*a", "the '*' at character 1 has nothing before it to repeat"),
        ("a\\", "it ends with a backslash"), ("\\1", "'\\1' is not supported"), ("\\p", "'\\p' is not supported"),
        ("(?=a)", "'(?=' is not supported; write (…) or (?:…)"),
        ("[z-a]", "a range in the '[' at character 1 is in reverse order"),
        ("a{3,2}", "{3,2} has its counts in the wrong order"), ("a{2000}", "a count is greater than 1000"),
        ("(a{1000}){1000}", "it is too long when its counts are expanded"),
        (String(repeating: "(", count: 60), "there are more than 50 nested parentheses"),
    ])
    func rejects(_ pattern: String, _ reason: String) {
        #expect(throws: ViewError(message: reason)) { try TitlePattern(pattern) }
    }

    /// The compiler is recursive, so many of them would overflow the stack.
    @Test func rejectsManyRepetitionsOfRepetitions() throws {
        let error = ViewError(message: "more than 50 repetitions follow another one, as in a{2}{3}")
        #expect(throws: error) { try TitlePattern("a" + String(repeating: "{1}", count: 50_000)) }
        #expect(throws: error) { try TitlePattern("(a**)" + String(repeating: "+", count: 51)) }
        #expect(try TitlePattern("^a" + String(repeating: "{1}", count: 51) + "$").matches("a"))
    }

    /// Expressions for which backtracking matchers need exponential time.
    @Test func matchingNeedsNoExponentialTime() throws {
        let title = String(repeating: "a", count: 500) + "b"
        for pattern in ["(a+)+$", "(a|aa)+$", "(a*)*c", "(.*)(.*)(.*)(.*)c", "(x+x+)+y"] {
            #expect(try !TitlePattern(pattern).matches(title))
        }
        #expect(try TitlePattern("^(a?){400}a{400}").matches(title))
    }

    /// A repeated empty expression compiles to no instructions, so the limit on instructions does not reject it.
    @Test(arguments: ["(){1000}{1000}{1000}{1000}a", "(b{0}){1000,}{1000}{1000}a", "((){1000}(){1000}){1000}{1000}a"])
    func nothingIsNotRepeatedForEver(pattern: String) throws {
        #expect(try TitlePattern(pattern).matches("ba"))
        #expect(try !TitlePattern(pattern).matches("b"))
    }
}
