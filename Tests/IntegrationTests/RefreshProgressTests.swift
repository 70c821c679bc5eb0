import PodcastProtocol
import Testing
import Transfers

@testable import podfs

/// The number in the progress line of `podfs refresh`; no process is started.
struct RefreshProgressTests {
    private let progress = RefreshProgress(ProgressLine(), shows: ["One", "Two"])

    private func apply(_ task: TaskID, _ path: String, _ state: TaskState) {
        var report = TaskInfo(id: task, state: state)
        report.kind = .refresh
        report.path = path
        progress.apply(Event(sequence: 1, time: 100, .state(report)))
    }

    @Test func onlyTheShowsOfTheCommandCount() {
        apply(1, "Three", .running)
        apply(1, "Three", .remote)
        apply(2, "https://e.example/feed.xml", .remote)
        #expect(progress.count == 0)
        apply(3, "One", .running)
        #expect(progress.count == 0)
        apply(3, "One", .remote)
        #expect(progress.count == 1)
    }

    @Test func aShowThatIsFetchedTwiceCountsOnce() {
        apply(1, "Two", .remote)
        apply(2, "Two", .remote)
        #expect(progress.count == 1)
    }
}
