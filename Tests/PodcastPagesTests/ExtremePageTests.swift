import Platform
import PodcastFeed
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastPages

/// Pages generated from library rows with extreme numbers, and chapters with extreme times.
@Suite struct ExtremePageTests {
    @Test func pagesOfExtremeNumbersAreWritten() {
        var dice = SeededGenerator(seed: 12)
        for moment in ExtremeNumbers.integers {
            var show = Podcast(
                id: ShowID(moment), name: "n", url: "https://e/f", title: "T", httpStatus: Int(moment),
                lastRefresh: moment,
                nextRefresh: moment, created: moment, changed: moment, episodes: Int(moment), cached: Int(moment))
            show.error = "e"
            var page = ShowPage(show, newest: moment)
            var tracks: [Track] = []
            for duration in ExtremeNumbers.doubles {
                var summary = EpisodeSummary(
                    id: EpisodeID(moment), name: "e.mp3", title: "E", published: moment, publishedOffset: Int(moment),
                    duration: duration, changed: moment, size: moment,
                    sizeSource: [.server, .feed, .estimate, .unknown].randomElement(using: &dice) ?? .feed)
                summary.chapters = [Chapter(start: duration, title: "c")]
                page.add(summary)
                tracks.append(Track(name: "e.mp3", title: "E", duration: duration))
                let texts = [
                    TimeText.clock(duration), TimeText.duration(duration), ByteText.rate(duration),
                    ByteText.size(moment), TimeText.iso8601(moment),
                    GregorianDay(seconds: moment, offset: Int(moment))?.description ?? "-",
                ]
                #expect(texts.allSatisfy { !$0.isEmpty })
                let task = StatusReport.Task(
                    TaskInfo(
                        id: TaskID(moment), kind: .download, path: "p", episode: nil, state: .running, received: moment,
                        expected: ExtremeNumbers.integers.randomElement(using: &dice), rate: duration, error: nil,
                        started: moment), now: 0)
                var report = StatusReport(tasks: [task, task])
                report.skipped = ["s"]
                #expect(report.text.hasSuffix("skipped: s\n") && !report.jsonBytes.isEmpty)
            }
            let episode = Episode(
                id: EpisodeID(moment), podcast: ShowID(moment), name: "e.mp3", title: "E", published: moment,
                url: "https://e/1",
                season: Int(moment), episode: Double(moment))
            for bytes in [
                page.finish(), Shelf([show], newest: [ShowID(moment): moment]).page, FeedHealth.bytes(of: show),
                NotesPage.bytes(of: episode, notes: "n", show: show),
                Playlist.bytes(title: "T", tracks: tracks, isSerial: true),
                ChapterList.bytes(tracks.map { Chapter(start: $0.duration ?? 0, title: "c") }, title: "T"),
            ] {
                #expect(!bytes.isEmpty)
            }
        }
    }

    @Test func chaptersOfExtremeNumbersAreReadOrIgnored() {
        var dice = SeededGenerator(seed: 13)
        var found = 0
        for _ in 0..<2_000 {
            let document = """
                {"version":"1.2.0","chapters":[{"startTime":\(ExtremeNumbers.json(using: &dice)),"title":"c"},
                {"startTime":\(ExtremeNumbers.json(using: &dice)),"toc":\(Bool.random(using: &dice))}]}
                """
            let chapters = ChapterList.chapters(of: Array(document.utf8), limit: 10)
            found += chapters.count
            #expect(chapters.allSatisfy { (0...1e9).contains($0.start) }, "\(document)")
        }
        #expect(found > 100)
    }
}
