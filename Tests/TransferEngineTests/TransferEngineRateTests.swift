import TestSupport
import Testing

@testable import Transfers

/// Rate limits. Byte counts must not exceed the maximum for the elapsed time. They may be lower, as on a slow machine.
@Suite struct TransferEngineRateTests {
    private let content = TestContent(seed: 71, size: 8_000_000)
    private var resource: Resource { Resource(content, etag: "\"v1\"") }

    /// Returns the maximum number of bytes in excess of the rate: the credit of a quarter of a second, and a piece of
    /// 16 KiB for each connection.
    private func burst(_ limit: Int, connections: Int) -> Int { limit / 4 + connections * 16_384 }

    @Test func manyConnectionsShareTheirReceiveBuffers() {
        #expect(EasyHandle.receiveBuffer(rateLimit: 0, others: 0) == 524_288)
        #expect(EasyHandle.receiveBuffer(rateLimit: 0, others: 7) == 524_288)
        #expect(EasyHandle.receiveBuffer(rateLimit: 0, others: 15) == 262_144)
        let sizes = (0..<1_000).map { EasyHandle.receiveBuffer(rateLimit: 0, others: $0) }
        #expect(sizes[..<100].reduce(0, +) < 16_000_000 && sizes.min() == 65_536)
        // A rate limit makes the buffer smaller, never larger.
        #expect(EasyHandle.receiveBuffer(rateLimit: 80_000, others: 0) == 10_000)
        #expect(EasyHandle.receiveBuffer(rateLimit: 80_000_000, others: 99) == 65_536)
        #expect(EasyHandle.receiveBuffer(rateLimit: 1, others: 99) == 1_024)
    }

    @Test func downloadsTogetherKeepToTheLimitAndShareIt() async throws {
        let limit = 2_000_000
        let bench = try EngineBench { $0.rateLimit = Int64(limit) }
        for key in 1...2 { bench.add(MediaID(Int64(key)), resource) }
        let clock = ContinuousClock()
        let start = clock.now
        try bench.fill(1, 2)
        var received: [Int] = []
        var elapsed = 0.0
        try await bench.wait("three megabytes are received") {
            received = try await bench.engine.snapshots().map { Int($0.received) }
            elapsed = clock.now - start
            #expect(Double(received.reduce(0, +)) <= Double(limit) * elapsed + Double(burst(limit, connections: 2)))
            return received.reduce(0, +) >= 3_000_000
        }
        #expect(received.count == 2)
        #expect(received.allSatisfy { $0 >= received.reduce(0, +) / 4 }, "\(received)")
    }

    @Test func aDownloadCanHaveALimitOfItsOwn() async throws {
        let limit = 200_000
        let bench = try EngineBench()
        for key in 1...2 { bench.add(MediaID(Int64(key)), resource) }
        var source = try #require(bench.source(1))
        source.rateLimit = Int64(limit)
        bench.know(source)
        let clock = ContinuousClock()
        let start = clock.now
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1)
        try bench.fill(2)
        try await bench.waitUntilWhole(2)
        let received = try #require(try await bench.snapshot(1)).received
        let elapsed: Double = clock.now - start
        #expect(Double(received) <= Double(limit) * elapsed + Double(burst(limit, connections: 1)))
        #expect(bench.completed.keys.sorted() == [2])
    }

    @Test func aSlowLimitIsNoStall() async throws {
        let small = TestContent(seed: 72, size: 2_500)
        // The rate allows a piece of 1,024 bytes every two and a half seconds.
        let bench = try EngineBench {
            $0.rateLimit = 400
            $0.limits.stall = .seconds(1)
        }
        let path = bench.add(1, Resource(small, etag: "\"v1\""))
        try await bench.download(1, small)
        #expect(bench.server.requests(for: path).count == 1)
    }
}

/// Returns the seconds between two instants.
private func - (end: ContinuousClock.Instant, start: ContinuousClock.Instant) -> Double {
    start.duration(to: end) / .seconds(1)
}
