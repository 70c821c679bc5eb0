import PodcastService
import TestSupport
import Testing
import Transfers

struct TaskHoldsTests {
    private var holds = TaskHolds<String>()

    @Test mutating func suspensionsNestForEachClient() {
        holds.suspend(1, by: "a")
        holds.suspend(1, by: "a")
        holds.suspend(1, by: "b")
        let isResumed = holds.resume(1, by: "a")
        #expect(isResumed)
        #expect(holds.isHeld(1))
        let isResumedTwice = holds.resume(1, by: "a")
        #expect(isResumedTwice)
        #expect(holds.isHeld(1))
        let isResumedByOther = holds.resume(1, by: "b")
        #expect(isResumedByOther)
        #expect(!holds.isHeld(1))
    }

    @Test mutating func aClientCannotResumeAnothersSuspension() {
        holds.suspend(1, by: "a")
        let isResumedByOther = holds.resume(1, by: "b")
        #expect(!isResumedByOther)
        let isOtherTaskResumed = holds.resume(2, by: "a")
        #expect(!isOtherTaskResumed)
        #expect(holds.isHeld(1))
        let isResumed = holds.resume(1, by: "a")
        #expect(isResumed)
        let isResumedTwice = holds.resume(1, by: "a")
        #expect(!isResumedTwice)
    }

    @Test mutating func suspensionsEndWithTheirClient() {
        holds.suspend(2, by: "a")
        holds.suspend(2, by: "a")
        holds.suspend(1, by: "a")
        holds.suspend(3, by: "a")
        holds.suspend(3, by: "b")
        let released = holds.removeAll(by: "a")
        #expect(released == [1, 2])
        #expect(!holds.isHeld(1) && !holds.isHeld(2) && holds.isHeld(3))
        let releasedAgain = holds.removeAll(by: "a")
        #expect(releasedAgain == [])
        let releasedByOther = holds.removeAll(by: "b")
        #expect(releasedByOther == [3])
    }

    @Test mutating func aTaskThatHasEndedIsHeldByNobody() {
        holds.suspend(1, by: "a")
        holds.remove(1)
        #expect(!holds.isHeld(1))
        let released = holds.removeAll(by: "a")
        #expect(released == [])
    }

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
