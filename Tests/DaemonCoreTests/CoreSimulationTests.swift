import Testing

struct CoreSimulationTests {
    @Test func noTaskIsLostAndTheDaemonLeavesWhenNothingIsLeft() throws {
        for seed in UInt64(1)...1_000 {
            do {
                var simulation = try CoreSimulation(seed: seed)
                for _ in 0..<60 { try simulation.randomEvent() }
                try simulation.finish()
            } catch let violation as CoreSimulation.Violation {
                Issue.record("seed \(seed): \(violation)")
                return
            }
        }
    }
}
