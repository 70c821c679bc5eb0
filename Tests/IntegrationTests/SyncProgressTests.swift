import PodcastProtocol
import Testing
import Transfers

@testable import podfs

/// The number of changed shows in the progress line of `podfs sync`. The tests start no process.
struct SyncProgressTests {
    private let progress = SyncProgress()

    private func apply(_ body: Event.Body) { progress.apply(Event(sequence: 1, time: 100, body)) }

    private func apply(_ task: TaskID, _ path: String, _ state: TaskState) {
        var report = TaskInfo(id: task, state: state)
        report.kind = .refresh
        report.path = path
        apply(.state(report))
    }

    /// Two kinds of events concern an added show: those of the task that fetches its feed, whose path is the feed's
    /// address, and that of the show, which has the folder's name.
    @Test func anAddedShowCountsOnce() {
        for number: Int64 in 1...3 {
            let task = TaskID(rawValue: -number)
            apply(task, "https://e.example/\(number).xml", .running)
            apply(.show(ShowID(rawValue: number), name: "Show \(number)", formerName: nil))
            apply(task, "https://e.example/\(number).xml", .remote)
            #expect(progress.count == Int(number))
        }
    }

    @Test func aRemovedShowCounts() {
        apply(.show(1, name: "Show", formerName: nil))
        #expect(progress.count == 1)
    }

    @Test func viewsAndEpisodesDoNotCount() {
        apply(.view(name: "Latest", isRemoved: false))
        apply(.episode(1, formerName: nil))
        #expect(progress.count == 0)
    }
}
