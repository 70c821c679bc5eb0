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

    @Test(arguments: ["", "<html>", "[]", "{}", "{\"chapters\":7}", "{\"chapters\":[7]}", "\u{FEFF}{"])
    func otherFilesHaveNoChapters(_ text: String) { #expect(chapters(text).isEmpty) }
}
