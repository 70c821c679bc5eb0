import PodcastProtocol
import Testing
import Transfers

struct TaskListTests {
    private func task(_ id: Int64, _ state: TaskState) -> TaskInfo {
        TaskInfo(
            id: TaskID(id), kind: .download, path: "A/\(id).mp3", episode: nil, state: state, received: 0,
            expected: nil, rate: nil, error: nil, started: 0)
    }

    @Test func whatRunsIsListedThenTheHeadOfTheQueueAndTheRestIsCounted() {
        let queue = (1...500).reversed().map { task($0, $0 % 100 == 0 ? .running : .queued) }
        let list = TaskList(queue + [task(6_000, .failed), task(6_001, .suspended)], limit: 8)
        #expect(list.tasks.map(\.id) == [1, 2, 3, 100, 200, 300, 400, 500])
        #expect(list.omitted == [.queued: 492, .failed: 1, .suspended: 1])
    }
}
