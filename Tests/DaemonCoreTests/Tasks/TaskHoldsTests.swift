import DaemonCore
import TestSupport
import Testing
import TransferCore

struct TaskHoldsTests {
    private var holds = TaskHolds<String>()

    @Test mutating func suspensionsNestForEachClient() {
        holds.suspend(1, by: "a")
        holds.suspend(1, by: "a")
        holds.suspend(1, by: "b")
        let result1 = holds.resume(1, by: "a")
        #expect(result1)
        #expect(holds.isHeld(1))
        let result2 = holds.resume(1, by: "a")
        #expect(result2)
        #expect(holds.isHeld(1))
        let result3 = holds.resume(1, by: "b")
        #expect(result3)
        #expect(!holds.isHeld(1))
    }

    @Test mutating func nobodyTakesBackAnothersSuspension() {
        holds.suspend(1, by: "a")
        let result4 = holds.resume(1, by: "b")
        #expect(!result4)
        let result5 = holds.resume(2, by: "a")
        #expect(!result5)
        #expect(holds.isHeld(1))
        let result6 = holds.resume(1, by: "a")
        #expect(result6)
        let result7 = holds.resume(1, by: "a")
        #expect(!result7)
    }

    @Test mutating func suspensionsEndWithTheirClient() {
        holds.suspend(2, by: "a")
        holds.suspend(2, by: "a")
        holds.suspend(1, by: "a")
        holds.suspend(3, by: "a")
        holds.suspend(3, by: "b")
        let result8 = holds.removeAll(by: "a")
        #expect(result8 == [1, 2])
        #expect(!holds.isHeld(1) && !holds.isHeld(2) && holds.isHeld(3))
        let result9 = holds.removeAll(by: "a")
        #expect(result9 == [])
        let result10 = holds.removeAll(by: "b")
        #expect(result10 == [3])
    }

    @Test mutating func aTaskThatHasEndedIsHeldByNobody() {
        holds.suspend(1, by: "a")
        holds.remove(1)
        #expect(!holds.isHeld(1))
        let result11 = holds.removeAll(by: "a")
        #expect(result11 == [])
    }

    /// Compares with the simplest model: a list of (client, task) pairs.
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
                let result12 = holds.resume(task, by: client)
                #expect(result12 == (index != nil))
                if let index { model.remove(at: index) }
            case 6:
                let before = Set(model.map(\.task))
                model.removeAll { $0.client == client }
                let result13 = holds.removeAll(by: client)
                #expect(result13 == before.subtracting(model.map(\.task)).sorted())
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
