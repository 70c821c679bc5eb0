import Testing

@testable import Transfers

/// Background tasks, and the events that raise their priority.
@Suite struct DownloadMachinePriorityTests {
    private func automatic(allowed: Bool = true) -> MachineBench {
        let bench = MachineBench()
        _ = bench.allowAutomatic(allowed)
        _ = bench.fill(.automatic)
        return bench
    }

    @Test func aRequestRaisesAnAutomaticTaskAndNothingLowersIt() {
        let bench = MachineBench()
        #expect(bench.fill(.automatic) == [.prioritized(.automatic), .connect(1, .whole())])
        #expect(bench.machine.state == .queued)
        #expect(bench.fill(.automatic) == [])
        #expect(bench.fill(.asked) == [.prioritized(.asked)])
        #expect(bench.fill(.automatic) == [])
        #expect(bench.machine.priority == .asked)
    }

    @Test func aReaderRaisesTheTaskOfItsFile() {
        let bench = automatic()
        _ = bench.head(1, .whole())
        #expect(bench.read(1, 0..<100).first == .prioritized(.asked))
        #expect(bench.machine.priority == .asked)
        let other = automatic()
        _ = other.head(1, .whole())
        _ = other.received(1, 1_000)
        #expect(other.read(1, 0..<100) == [.answerRead(1, nil), .prioritized(.asked)])
    }

    @Test func aRequestedTaskDoesNotWaitForConditions() {
        let bench = MachineBench()
        _ = bench.allowAutomatic(false)
        #expect(bench.fill() == [.connect(1, .whole())])
        #expect(bench.machine.priority == .asked && !bench.machine.isWaitingForConditions)
        #expect(automatic(allowed: false).retry() == [.prioritized(.asked), .connect(1, .whole())])
    }

    @Test func aReaderOfAWaitingTaskIsServed() {
        let bench = automatic(allowed: false)
        #expect(bench.read(1, 5_000..<5_100).first == .prioritized(.asked))
        #expect(bench.machine.connections.count == 1)
        #expect(!bench.machine.isWaitingForConditions)
    }

    @Test func anOpenOfAWaitingTaskIsAnsweredAndDoesNotStartIt() {
        let bench = automatic(allowed: false)
        #expect(bench.open(1) == [.connect(1, .whole(forReader: true))])
        let actions = bench.head(1, .whole())
        #expect(actions == [.confirmed(generation: 1, .pin()), .answerOpen(1, nil), .serving(1, false), .hold(1)])
        #expect(bench.machine.isWaitingForConditions)
        #expect(bench.tick() == [.abort(1)])
    }

    @Test func anAutomaticFillClearsNoFailureAndEndsNoSuspension() {
        let bench = MachineBench()
        _ = bench.fill()
        _ = bench.head(1, .status(404))
        #expect(bench.fill(.automatic) == [])
        #expect(bench.machine.state == .failed)
        let other = MachineBench()
        _ = other.suspend(true)
        #expect(other.fill(.automatic) == [])
        #expect(other.machine.state == .suspended)
    }

    @Test func conditionsDoNotAffectCachedOrFinishingFiles() {
        let bench = automatic()
        _ = bench.head(1, .whole())
        _ = bench.received(1, 10_000)
        #expect(bench.allowAutomatic(false) == [])
        #expect(bench.machine.state == .running)
        #expect(bench.finished() == [])
        #expect(bench.machine.state == .cached)
        #expect(!bench.machine.isWaitingForConditions)
    }
}
