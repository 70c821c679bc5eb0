import TestSupport
import Testing

@testable import Transfers

/// Download URLs that expire, and newer URLs from the engine's owner.
@Suite struct TransferEngineAddressTests {
    private let content = TestContent(seed: 51, size: 4_000_000)
    private var resource: Resource { Resource(content, etag: "\"v1\"") }

    /// Returns a bench with a download whose URL is refused after a quarter of the file.
    private func refused() async throws -> EngineBench {
        let bench = try EngineBench { $0.limits.renewsAddress = true }
        bench.server.serve("/old.mp3", resource) { request in
            request.index == 0 ? .close(after: 1_000_000) : .status(410)
        }
        bench.know("/old.mp3")
        try bench.fill(1)
        try await bench.wait("the address is refused") { bench.refusals.count == 1 }
        return bench
    }

    @Test func aDownloadContinuesAtANewerAddress() async throws {
        let bench = try await refused()
        #expect(bench.refusals.map(\.error) == [TransferError(.missing, "the server answered 410")])
        #expect(try await bench.snapshot(1)?.state == .queued)
        bench.server.serve("/new.mp3", resource)
        try bench.engine.renew(1, [.init(url: bench.server.url("/new.mp3"))])
        try await bench.expectWhole(1, content)
        #expect(bench.source(1)?.generation == 1)
        #expect(bench.server.requests(for: "/new.mp3").map(\.range) == [.closed(1_000_000 - 65_536, 3_999_999)])
        #expect(bench.failures.isEmpty)
    }

    @Test func aChangedAddressRestartsAFailedDownload() async throws {
        let bench = try EngineBench()
        let path = bench.add(1, resource)
        bench.server.remove(path)
        try bench.fill(1)
        try await bench.wait("the download has failed") { bench.failures.count == 1 }
        bench.server.serve("/moved.mp3", resource)
        try bench.engine.setLocations(1, [.init(url: bench.server.url("/moved.mp3"))])
        try await bench.expectWhole(1, content)
        #expect(bench.refusals.isEmpty, "without `renewsAddress`, the owner is not asked")
    }
}
