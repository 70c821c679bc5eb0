import PodcastFilesystem
import PodcastPages
import PodcastProtocol
import Testing
import Transfers

/// Opens that wait for failing servers. They are shown like tasks, although there is no task before the first read.
struct LiveTaskTests {
    private func report(_ state: TaskState, id: TaskID = 0, error: String? = nil) -> TaskInfo {
        var report = TaskInfo(id: id, state: state)
        (report.episode, report.path, report.error) = (5, "A/B.mp3", error)
        (report.nextTry, report.estimate) = (1_012, 300)
        return report
    }

    private func event(_ body: Event.Body) -> Event { Event(sequence: 1, time: 1_000, body) }

    @Test func aWaitingOpenIsListedUntilItEnds() throws {
        let live = LiveTasks()
        live.apply(event(.state(report(.remote, error: "the server answered 500"))))
        let info = try #require(live.all.first)
        #expect(live.all.count == 1 && info.path == "A/B.mp3" && info.state == .queued && info.nextTry == 1_012)
        #expect(StatusReport(live.all, now: 1_000).tasks.first?.reason == "the server answered 500; next try in 12s")
        #expect(StatusReport(live.all, now: 1_013).tasks.first?.reason == "the server answered 500")
        #expect(StatusReport(live.all, now: 1_000).tasks.first?.sizeText == "~300 B")
        // The daemon has created a task, which replaces the waiting open.
        live.apply(event(.state(report(.running, id: 8))))
        #expect(live.all.map(\.id) == [8])
        live.apply(event(.state(report(.remote, id: 8))))
        #expect(live.all.isEmpty)
        // An open that has failed for good is no longer listed.
        live.apply(event(.failed(report(.failed, error: "no route"))))
        #expect(live.all.isEmpty && live.retryError(of: 5)?.isFinal == true)
    }

    @Test func theDaemonsListContainsWaitingOpens() {
        let live = LiveTasks()
        var info = TaskInfo(
            id: 0, kind: .download, path: "A/B.mp3", episode: 5, state: .queued, received: 0, expected: nil, rate: nil,
            error: "no answer", started: 1)
        live.replace(with: [info])
        #expect(live.all.map(\.path) == ["A/B.mp3"] && live.retryError(of: 5)?.isFinal == false)
        info.id = 3
        live.replace(with: [info])
        #expect(live.all.map(\.id) == [3] && live.retryError(of: 5) == nil)
    }
}
