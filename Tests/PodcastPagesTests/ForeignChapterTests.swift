import PodcastFeed
import PodcastPages
import Testing

struct ForeignChapterTests {
    private func chapters(_ text: String) -> [Chapter] { ChapterList.chapters(of: Array(text.utf8), limit: 3) }

    @Test func chaptersOfAFileAreReadInOrder() {
        #expect(
            chapters(
                """
                {"version":"1.2.0","chapters":[{"startTime":5,"title":"b"},{"startTime":"1.5","title":"a","img":"x"},
                {"startTime":2,"toc":false},{"title":"none"},{"startTime":-1},{"startTime":9},{"startTime":10}]}
                """) == [Chapter(start: 1.5, title: "a"), Chapter(start: 5, title: "b"), Chapter(start: 9)])
    }

    @Test func elementsThatAreNoObjectsAreOmitted() {
        let read = chapters(#"{"chapters":[{"startTime":1,"title":"a"},null,7,"x",[],{"startTime":2,"title":"b"}]}"#)
        #expect(read == [Chapter(start: 1, title: "a"), Chapter(start: 2, title: "b")])
    }

    /// Each chapter ends where the next one begins, whatever end the file states.
    @Test func chaptersThatOverlapKeepTheirStarts() {
        let read = chapters(
            """
            {"version":"1.2.0","chapters":[{"startTime":0,"endTime":500,"title":"a"},{"startTime":60,"endTime":30,"title":"b"},
            {"startTime":60,"endTime":90,"title":"c"}]}
            """)
        #expect(read == [Chapter(start: 0, title: "a"), Chapter(start: 60, title: "b")])
        let written = ChapterList.bytes(
            [Chapter(start: 400, title: "late"), Chapter(start: 60, title: "b"), Chapter(start: 0, title: "a")]
                + [Chapter(start: 60, title: "c")], title: "T", duration: 300)
        #expect(ChapterList.chapters(of: written, limit: 9) == read)
    }

    @Test(arguments: ["", "<html>", "[]", "{}", "{\"chapters\":7}", "{\"chapters\":[7]}", "\u{FEFF}{"])
    func otherFilesHaveNoChapters(_ text: String) { #expect(chapters(text).isEmpty) }

    @Test func theEncodingOfAFileIsDetected() {
        let file = Array("{\"chapters\":[{\"startTime\":1,\"title\":\"Caf".utf8) + [0xE9] + Array("\"}]}".utf8)
        #expect(ChapterList.chapters(of: file, limit: 1).map(\.title) == ["Café"])
        let wide = Array("{\"chapters\":[{\"startTime\":1,\"title\":\"é\"}]}".utf16).flatMap { [UInt8($0 & 0xFF), 0] }
        #expect(ChapterList.chapters(of: wide, limit: 1).map(\.title) == ["é"])
    }
}
