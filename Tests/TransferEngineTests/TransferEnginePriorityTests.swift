import TestSupport
import Testing

@testable import Transfers

/// Automatic downloads that compete with requested ones.
@Suite struct TransferEnginePriorityTests {
    private let content = TestContent(seed: 61, size: 2_000_000)
    private var resource: Resource { Resource(content, etag: "\"v1\"") }

    @Test func anAutomaticDownloadIsPreemptedAndContinuesLater() async throws {
        let bench = try EngineBench { $0.pools.filling = 1 }
        let gate = Gate(heldAt: 10_000)
        let automatic = bench.add(1, resource, [.stall(after: 500_000)])
        let asked = bench.add(2, resource, [.hold(gate)])
        try bench.fill(1, priority: .automatic)
        try await bench.waitUntilReceived(1, 500_000)
        #expect(try await bench.snapshot(1)?.priority == .automatic)
        try bench.fill(2)
        try await bench.waitUntilReceived(2, 10_000)
        #expect(try await bench.snapshot(1)?.state == .queued)
        #expect(bench.server.requests(for: automatic).count == 1)
        gate.open()
        try await bench.waitUntilWhole(1, 2)
        for key in [1, 2] as [MediaID] { #expect(try bench.holds(key, content)) }
        #expect(bench.server.requests(for: automatic).map(\.range) == [nil, .closed(500_000, 1_999_999)])
        #expect(bench.server.requests(for: asked).count == 1)
    }

    @Test func requestedDownloadsComeFirst() async throws {
        let bench = try EngineBench { $0.pools.filling = 1 }
        let gate = Gate(heldAt: 10)
        bench.add(1, resource, [.hold(gate)])
        for key in 2...5 { bench.add(MediaID(Int64(key)), resource) }
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 10)
        try bench.fill(2, 3, priority: .automatic)
        try bench.fill(4)
        try bench.fill(5, priority: .automatic)
        try bench.fill(5)
        // The engine handles calls in order, so the calls above have had their effect when this one returns. If the
        // gate opened earlier, the second download could start, and be preempted for the fourth.
        #expect(try await bench.snapshot(5)?.priority == .asked)
        gate.open()
        try await bench.waitUntilWhole(1, 2, 3, 4, 5)
        #expect(bench.server.requests.map(\.path) == [1, 4, 5, 2, 3].map { "/\($0).mp3" })
    }

    @Test func automaticDownloadsWaitForConditions() async throws {
        let bench = try EngineBench()
        let running = bench.add(1, resource, [.stall(after: 500_000)])
        bench.add(2, resource)
        try bench.fill(1, priority: .automatic)
        try await bench.waitUntilReceived(1, 500_000)
        try bench.engine.setDiscretionary(allowed: false)
        try await bench.wait("the connection has ended") { bench.server.requests(for: running)[0].isFinished }
        try await bench.wait("the download waits") { bench.snapshots(1).last?.isWaitingForConditions == true }
        #expect(bench.snapshots(1).last?.state == .queued)
        try bench.fill(2, priority: .automatic)
        try await bench.wait("the second waits too") { try await bench.snapshot(2)?.isWaitingForConditions == true }
        #expect(bench.server.requests.count == 1)
        bench.add(3, resource)
        try bench.fill(3)
        try await bench.waitUntilWhole(3)
        try bench.engine.setDiscretionary(allowed: true)
        try await bench.waitUntilWhole(1, 2)
        #expect(bench.share(running, of: content.size) <= 1.2)
        #expect(bench.snapshots(1).last?.isWaitingForConditions == false)
    }

    @Test func aRequestRaisesAnAutomaticTaskOfTheOwner() async throws {
        let bench = try EngineBench()
        bench.add(1, resource)
        var source = try #require(bench.source(1))
        source.priority = .automatic
        bench.know(source)
        try bench.engine.setDiscretionary(allowed: false)
        try bench.fill(1, priority: .automatic)
        try await bench.wait("the download waits") { try await bench.snapshot(1)?.isWaitingForConditions == true }
        try bench.fill(1)
        try await bench.waitUntilWhole(1)
    }
}
