import Testing

@testable import PodcastFeed

struct SpokenCueTests {
    private func cues(_ text: String) -> [SpokenCue] { SpokenCue.cues(in: Array(text.utf8)) }

    @Test(arguments: ["\n", "\r\n", "\r"]) func cuesOfWebVTTAreRead(_ end: String) {
        let text = """
            WEBVTT - a title

            NOTE 00:00 is no cue

            STYLE
            ::cue { color: red }

            first
            00:01.500 --> 00:03.000 align:start
            <v Ann Smith>Hello <b>there</b>,
            you &amp; I

            01:00:02.000 --> 01:00:03.000

            01:00:04.000 --> 01:00:05.000
            last
            """.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: end)
        #expect(
            cues(text) == [
                SpokenCue(start: 1.5, text: "Hello there, you & I"), SpokenCue(start: 3_604, text: "last"),
            ])
    }

    @Test func cuesOfOtherFormatsAreRead() {
        #expect(
            cues("1\n00:00:01,500 --> 00:00:03,000\nOne <i>two</i>\n\n2\n00:00:04,000 --> 00:00:05,000\nthree\n")
                == [SpokenCue(start: 1.5, text: "One two"), SpokenCue(start: 4, text: "three")])
        #expect(
            cues(#"{"segments":[{"startTime":2,"endTime":3,"body":"One & two."},{"startTime":9,"body":"three"}]}"#)
                == [SpokenCue(start: 2, text: "One & two."), SpokenCue(start: 9, text: "three")])
    }

    @Test(arguments: ["", "WEBVTT", "no transcript", "\u{0}\u{1}", "WEBVTT\n\n00:01 --> 00:02"])
    func otherTextHasNoCues(_ text: String) { #expect(cues(text).isEmpty) }
}
