import Platform
import TestSupport
import Testing

@testable import Transfers

/// The download machine under random events, with a model of the server, the disk and the readers.
@Suite struct DownloadMachinePropertyTests {
    private static func limits(excess: Int64) -> DownloadMachine.Limits {
        var limits = DownloadMachine.Limits()
        // These limits are scaled down to files of at most 2,000 bytes.
        limits.reach = 24
        limits.overlap = 8
        limits.excess = excess
        limits.probeBlock = 16
        limits.probeStream = 100
        // One byte a second.
        limits.minRate = 1
        limits.renewsAddress = true
        return limits
    }

    private func run(seed: UInt64, badness: Int, changes: Bool) throws {
        var random = SeededGenerator(seed: seed)
        let size = Int64.random(in: 1...500, using: &random)
        var server = ModelServer(size: size, ranges: 80, lengths: 80, &random)
        server.badness = badness
        server.brokenness = random.chance(50) ? 30 : 0
        if random.chance(10) { server.largestPart = 30 }
        if badness > 0, random.chance(10) { server.stopsAt = Int64.random(in: 0...size, using: &random) }
        let limits = Self.limits(excess: random.chance(50) ? 50 : 1_000)
        var machine = DownloadMachine(generation: 1, limits: limits)
        if random.chance(20) {
            machine = DownloadMachine(generation: 1, pin: Pin(total: size, validator: nil), limits: limits)
        }
        var simulation = MachineSimulation(machine: machine, server: server, random: random)
        do {
            try simulation.open()
            for _ in 0..<Int.random(in: 1...200, using: &random) {
                try simulation.randomEvent()
                if changes, random.chance(1) {
                    simulation.server.change(size: random.chance(50) ? size : Int64.random(in: 1...500, using: &random))
                }
            }
            try simulation.checkFiles()
            try simulation.settle()
        } catch {
            Issue.record("seed \(seed): \(error)\n\(simulation.log.suffix(60).joined(separator: "\n"))")
            throw error
        }
    }

    @Test func aGoodServersFileArrivesWhateverReadersDo() throws {
        for seed in 1...600 { try run(seed: UInt64(seed), badness: 0, changes: false) }
    }

    @Test func aBadServersFileArrivesInTheEnd() throws {
        for seed in 10_001...10_600 { try run(seed: UInt64(seed), badness: 20, changes: false) }
    }

    @Test func renditionsAreNeverMixed() throws {
        for seed in 20_001...20_600 { try run(seed: UInt64(seed), badness: 10, changes: true) }
    }

    @Test func probesStartNoTaskAndFetchBoundedBytes() throws {
        for seed in 40_001...40_600 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            let size = Int64.random(in: 1...2_000, using: &random)
            let server = ModelServer(size: size, ranges: 70, lengths: 80, &random)
            let limits = Self.limits(excess: 50)
            let machine = DownloadMachine(generation: 1, limits: limits)
            var simulation = MachineSimulation(machine: machine, server: server, random: random)
            do {
                try simulation.open(as: .probe)
                let reads = Int64.random(in: 1...12, using: &random)
                for _ in 0..<reads {
                    let start = Int64.random(in: 0...size, using: &random)
                    try simulation.read(start..<start + Int64.random(in: 1...40, using: &random), as: .probe)
                    for _ in 0..<Int.random(in: 0...20, using: &random) { try simulation.moveConnection() }
                }
                for _ in 0..<2_000 where !simulation.isQuiet { try simulation.moveConnection() }
                #expect(simulation.isQuiet, "seed \(seed): something goes on")
                try simulation.checkFiles()
                let state = simulation.machine.state
                #expect(
                    state == .remote || simulation.machine.isFinishing || state == .cached, "seed \(seed): \(state)")
                #expect(!simulation.machine.isFilling, "seed \(seed)")
                // The machine may fetch the first block, and for each read up to 40 requested bytes, a block on either
                // side, and the overlap, which is fetched again for comparison. Without usable ranges, the open and
                // each read may also stream from the start of the file.
                let blocks = limits.probeBlock + reads * (40 + 2 * limits.probeBlock + limits.overlap)
                let streams = (reads + 1) * limits.probeStream
                let isSeekable = server.hasRanges && server.tags == .strong && simulation.machine.pin?.total != nil
                let limit = isSeekable ? blocks : blocks + streams
                #expect(simulation.wire <= limit, "seed \(seed): \(simulation.wire) bytes for \(reads) reads")
            } catch {
                Issue.record("seed \(seed): \(error)\n\(simulation.log.suffix(60).joined(separator: "\n"))")
                throw error
            }
        }
    }

    @Test func readersOfMissingBytesGetAnErrorWithinSeconds() throws {
        for seed in 30_001...30_200 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            let size = Int64.random(in: 2...500, using: &random)
            var server = ModelServer(size: size, ranges: 50, lengths: 100, &random)
            let end = Int64.random(in: 0..<size - 1, using: &random)
            server.stopsAt = end
            let machine = DownloadMachine(generation: 1, limits: Self.limits(excess: 50))
            var simulation = MachineSimulation(machine: machine, server: server, random: random)
            let start = simulation.now
            try simulation.read(end..<end + 1)
            while simulation.errors.isEmpty, simulation.now - start < .seconds(15) {
                try simulation.moveConnection()
                try simulation.pass(20)
            }
            #expect(
                simulation.errors.first?.message.hasPrefix("the server announces \(size) bytes and sends \(end): ")
                    ?? false, "seed \(seed): \(simulation.errors)")
            #expect(simulation.machine.failure == simulation.errors.first, "seed \(seed)")
        }
    }
}
