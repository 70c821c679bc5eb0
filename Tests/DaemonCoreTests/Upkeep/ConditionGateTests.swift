import Platform
import Testing

@testable import PodcastService

struct ConditionGateTests {
    private var gate = ConditionGate(lifetime: .seconds(60))

    private func moment(_ seconds: Int64) -> Moment {
        Moment(wall: .seconds(1_000 + seconds), uptime: .seconds(seconds))
    }

    @Test mutating func workWaitsForTheFirstReading() {
        #expect(gate.demand(at: moment(0)) == [.allowDiscretionary(false), .readConditions])
        #expect(!gate.allows && gate.deadline == nil)
        // No second reading starts before the first has ended.
        #expect(gate.demand(at: moment(100)) == [])
        #expect(gate.record(true, at: moment(101)) == [.allowDiscretionary(true)])
        #expect(gate.allows && gate.deadline == .seconds(161))
    }

    @Test mutating func workContinuesDuringTheNextReading() {
        _ = gate.demand(at: moment(0))
        _ = gate.record(true, at: moment(0))
        #expect(gate.demand(at: moment(59)) == [])
        #expect(gate.demand(at: moment(60)) == [.readConditions])
        #expect(gate.allows)
        #expect(gate.record(false, at: moment(60)) == [.allowDiscretionary(false)])
        #expect(gate.demand(at: moment(500)) == [.readConditions])
    }

    @Test mutating func anOldReadingPermitsNothing() {
        _ = gate.demand(at: moment(0))
        _ = gate.record(true, at: moment(0))
        #expect(gate.demand(at: moment(120)) == [.allowDiscretionary(false), .readConditions])
        #expect(!gate.allows)
    }
}
