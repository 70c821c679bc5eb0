import PodcastFeed
import Testing

/// The lines of show notes.
struct NotesLinesTests {
    @Test(arguments: [
        ("<p>One <b>two</b></p>three<br>four", ["One two", "three", "four"]), ("a<i>b<i", ["ab<i"]),
        ("<p>1 < 2", ["1 < 2"]), ("a<b", ["a<b"]), ("a > b", ["a > b"]), ("<!-- x -->a<!-- b", ["a<!-- b"]),
        (">", [">"]),
    ])
    func tagsWithoutEndAreText(notes: String, lines: [String]) {
        #expect(NotesLines.lines(of: notes, limit: 1_000) == lines)
    }

    /// A search of the rest of the text at each tag would compare more than 10^11 bytes, which takes minutes.
    @Test func manyTagsWithoutEndAreReadInLinearTime() {
        for tag in ["<a", "<!"] {
            let notes = "<p>Start</p>" + String(repeating: tag, count: 512 << 10)
            let lines = NotesLines.lines(of: notes, limit: notes.utf8.count)
            #expect(lines.map(\.utf8.count) == [5, tag.utf8.count << 19])
        }
    }

    @Test(arguments: [
        "<!-- a > b -->", "<!-->", "<!--->", "<style>a > b { x: '<p>' }</style>", "<SCRIPT>if (a > b) {}</Script >",
        "<title>t</title>", "<!-- <p>one</p> -->",
    ])
    func commentsAndHiddenElementsAreOmitted(_ part: String) {
        #expect(NotesLines.lines(of: "<p>one</p>\(part)two<p>three", limit: 1_000) == ["one", "two", "three"])
        #expect(NotesLines.lines(of: "on\(part)e<p>two", limit: 1_000) == ["one", "two"])
    }

    @Test func aHiddenPartWithoutEndContinuesToTheEndInLinearTime() {
        for part in ["<!-- a>", "<style> a>"] {
            let notes = "<p>one" + String(repeating: part, count: 128 << 10)
            #expect(NotesLines.lines(of: notes, limit: notes.utf8.count) == ["one"])
        }
    }
}
