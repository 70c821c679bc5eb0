import TestSupport
import Testing

@testable import Transfers

/// Servers that hold back the end of a response all of whose bytes have arrived: the file is complete, but curl still
/// has the connection.
@Suite struct LateEndTests {
    enum End: CaseIterable {
        case lastChunk, furtherChunk, reset
    }

    private let content = TestContent(seed: 93, size: 60_000)
    private let longer = TestContent(seed: 93, size: 70_000)

    private func behaviour(_ end: End, _ gate: Gate) -> Behaviour {
        let held = Behaviour.chunked().hold(gate)
        switch end {
        case .lastChunk: return held
        case .reset: return held.reset(after: 30_000)
        case .furtherChunk:
            return held.resource(Resource(longer, etag: "\"v1\"")).contentRange("bytes 30000-59999/60000")
        }
    }

    private func bench(_ end: End, _ gate: Gate) async throws -> EngineBench {
        let bench = try EngineBench()
        bench.add(1, Resource(content, etag: "\"v1\""), [.close(after: 30_000), behaviour(end, gate)])
        bench.add(2, Resource(content, etag: "\"v1\""))
        try bench.fill(1)
        try await bench.waitUntilWhole(1)
        try await gate.waitUntilReached()
        #expect(try await bench.onLoop { $0.exchanges.downloads } == 1, "curl still has the request")
        return bench
    }

    @Test(arguments: End.allCases)
    func aFileMayBeRemovedBeforeItsLastResponseEnds(end: End) async throws {
        let gate = Gate(heldAt: 30_000)
        let bench = try await bench(end, gate)
        let name = try #require(bench.source(1)?.file)
        #expect(try bench.engine.cache.evict(name))
        try bench.engine.discard(1)
        #expect(try await bench.onLoop { $0.exchanges.downloads } == 0)
        gate.open()
        #expect(try await bench.read(2, 0..<60_000) == content.bytes)
    }

    @Test(arguments: End.allCases)
    func aLateEndDoesNotChangeACompleteFile(end: End) async throws {
        let gate = Gate(heldAt: 30_000)
        let bench = try await bench(end, gate)
        gate.open()
        try await bench.wait("the download is released") { try await bench.snapshot(1) == nil }
        #expect(try await bench.onLoop { $0.exchanges.downloads } == 0)
        #expect(try bench.holds(1, content))
    }

    @Test func theEngineStopsBeforeTheLastResponseEnds() async throws {
        let gate = Gate(heldAt: 30_000)
        let bench = try await bench(.lastChunk, gate)
        bench.shutDown()
        gate.open()
        #expect(try bench.holds(1, content))
    }
}
