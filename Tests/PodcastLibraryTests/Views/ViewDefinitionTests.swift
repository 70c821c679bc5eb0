import Testing

@testable import PodcastLibrary

/// Keys and values of `podfs view set`.
struct ViewDefinitionTests {
    @Test func assignmentsAreStoredInOneForm() throws {
        var definition = ViewDefinition()
        for text in [
            "unplayed=true", " in_progress = FALSE", "tag=News, Daily", "show=One,Two,", "title=^a=b$", "type=Video",
            "newer_than=7 days", "older_than=36h", "min_duration=90s", "max_duration=1h 30m", "order=oldest",
            "limit=none",
        ] {
            try definition.set(text)
        }
        #expect(
            definition.assignments.map { "\($0.key.rawValue)=\($0.value)" } == [
                "unplayed=true", "in_progress=false", "tag=News, Daily", "show=One, Two", "title=^a=b$", "type=video",
                "newer_than=7 days", "older_than=1 day 12 h", "min_duration=1 min 30 s", "max_duration=1 h 30 min",
                "order=oldest", "limit=none",
            ])
        var again = ViewDefinition(lines: definition.lines)
        #expect(again == definition)
        for key in ViewKey.allCases { try again.set("\(key.rawValue)=") }
        #expect(again == ViewDefinition())
    }

    @Test(
        arguments: [
            ("\"News, Weather\", Owls,", ["News, Weather", "Owls"], "\"News, Weather\", Owls"),
            ("a,, b ,\"c\"", ["a", "b", "c"], "a, b, c"), ("\"a \"\"b\"\", c\"", ["a \"b\", c"], "\"a \"\"b\"\", c\""),
            ("\"Weird\" Show, x", ["\"Weird\" Show", "x"], "\"\"\"Weird\"\" Show\", x"), ("\"\"", [], nil),
            ("the \"b\" side", ["the \"b\" side"], "the \"b\" side"),
        ] as [(String, [String], String?)])
    func aNameWithACommaIsQuoted(_ text: String, _ names: [String], _ shown: String?) throws {
        var definition = ViewDefinition()
        try definition.set("show=\(text)")
        #expect(NameList.names(text) == names && definition.assignments.first?.value == shown)
        #expect(NameList.names(shown ?? "") == names)
    }

    @Test(arguments: [
        (
            "colour=red",
            "a view has no key 'colour'; the keys are unplayed, in_progress, downloaded, pinned, tag, show, "
                + "title, type, newer_than, older_than, min_duration, max_duration, order, limit"
        ),
        ("unplayed", "'unplayed' is not a setting: write KEY=VALUE, such as unplayed=true"),
        ("unplayed=maybe", "unplayed='maybe' cannot be set: expected true or false"),
        ("title=(", "title='(' is not a regular expression: missing closing parenthesis at offset 1"),
        ("max_duration=40", "max_duration='40' cannot be set: expected \(DurationText.forms)"),
        ("max_duration=0m", "max_duration='0m' cannot be set: expected \(DurationText.forms)"),
        ("newer_than=-1 day", "newer_than='-1 day' cannot be set: expected \(DurationText.forms)"),
        ("older_than=900 years", "older_than='900 years' cannot be set: expected \(DurationText.forms)"),
        ("tag=a/b", "'a/b' cannot be a tag: it contains a slash"),
        ("tag=.a", "'.a' cannot be a tag: it begins with a dot"),
        ("type=text", "type='text' cannot be set: expected one of audio, video"),
        (
            "order=random",
            "order='random' cannot be set: expected one of newest, oldest, shortest, longest, recently_played"
        ),
        ("limit=0", "limit='0' cannot be set: expected a whole number from 1 to 100000, or none"),
        ("limit=1e3", "limit='1e3' cannot be set: expected a whole number from 1 to 100000, or none"),
        ("show=\"News, Weather", "show='\"News, Weather' cannot be set: expected a closing double quote"),
        ("show=a\nb", "show='a b' cannot be set: expected text on one line, without control characters"),
    ])
    func badInputIsRefused(_ assignment: String, _ message: String) {
        var definition = ViewDefinition()
        #expect(throws: SettingError(message: message)) { try definition.set(assignment) }
        #expect(definition == ViewDefinition())
    }

    @Test(
        arguments: [
            ("40m", 2_400), ("1h30m", 5_400), ("1 H 30 Min", 5_400), ("7 days", 604_800), ("2w", 1_209_600),
            ("90 s", 90),
            ("", nil), ("m", nil), ("4", nil), ("1.5h", nil), ("99999999999s", nil), ("5 parsecs", nil),
        ] as [(String, Int64?)])
    func durationsAreParsed(_ text: String, _ seconds: Int64?) { #expect(DurationText.seconds(text) == seconds) }
}
