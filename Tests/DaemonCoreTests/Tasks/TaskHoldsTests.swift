import TestSupport
import Testing
import Transfers

@testable import PodcastService

struct TaskHoldsTests {
    /// Compares `TaskHolds` with the simplest model: a list of (client, task) pairs, one for each suspension.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func anyOrderOfCallsKeepsTheCounts(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var holds = TaskHolds<Int>()
        var model: [(client: Int, task: MediaID)] = []
        for _ in 0..<5_000 {
            let client = Int.random(in: 0..<4, using: &generator)
            let task = MediaID(Int64.random(in: 0..<5, using: &generator))
            switch Int.random(in: 0..<8, using: &generator) {
            case 0...3:
                holds.suspend(task, by: client)
                model.append((client, task))
            case 4...5:
                let index = model.firstIndex { $0 == (client, task) }
                let isResumed = holds.resume(task, by: client)
                #expect(isResumed == (index != nil))
                if let index { model.remove(at: index) }
            case 6:
                let before = Set(model.map(\.task))
                model.removeAll { $0.client == client }
                let released = holds.removeAll(by: client)
                #expect(released == before.subtracting(model.map(\.task)).sorted())
            default:
                holds.remove(task)
                model.removeAll { $0.task == task }
            }
            for task in 0..<5 {
                #expect(holds.isHeld(MediaID(Int64(task))) == model.contains { $0.task == MediaID(Int64(task)) })
            }
        }
    }
}
