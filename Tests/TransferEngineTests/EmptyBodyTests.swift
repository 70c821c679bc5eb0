import TestSupport
import Testing

@testable import Transfers

/// Bodies that end too early without an error of the protocol: empty ones, and those whose end only the end of the
/// connection marks.
@Suite struct EmptyBodyTests {
    private let content = TestContent(seed: 95, size: 60_000)
    private static let empty = Behaviour.resource(Resource(TestContent(seed: 1, size: 0)))

    @Test func anEmptyFileDoesNotReplaceBytes() async throws {
        let bench = try EngineBench()
        bench.add(1, Resource(content), [.close(after: 30_000), Self.empty])
        try await bench.download(1, content)
        #expect(bench.source(1)?.generation == 1)
    }

    @Test func anOpenOfAnEmptyFileFailsAtOnce() async throws {
        let bench = try EngineBench()
        bench.add(1, Resource(content), [Self.empty])
        #expect(await failure { try await bench.open(1) } == TransferError(.unusable, "the server sent an empty file"))
        #expect(bench.failures.count == 1)
        #expect(try await bench.open(1).total == 60_000)
    }

    // MARK: Bodies that end with the connection

    private func bench(_ resource: Resource, stated: Int64?, _ script: [Behaviour] = []) throws -> EngineBench {
        let bench = try EngineBench()
        bench.add(1, resource, script)
        var source = try #require(bench.source(1))
        source.statedSize = stated
        bench.know(source)
        try bench.fill(1)
        return bench
    }

    @Test(arguments: [true, false]) func aBodyThatEndsFarBeforeTheFeedsSizeIsContinued(supportsRanges: Bool)
        async throws
    {
        let resource = Resource(content, supportsRanges: supportsRanges, sendsLength: false)
        let bench = try bench(resource, stated: 61_000, [.closeDelimited().close(after: 20_000)])
        try await bench.expectWhole(1, content)
        let says = "the server closed the connection after 20000 bytes, the feed states 61000"
        #expect(bench.snapshots(1).contains { $0.error?.message == says })
    }

    @Test(
        arguments: [
            (121_000, 2, .normal), (119_000, 1, .normal), (nil, 1, .normal), (1_000_000, 1, .chunked()),
        ] as [(Int64?, Int, Behaviour)])
    func aBodyThatEndsThereAgainOrIsChunkedIsTheFile(stated: Int64?, requests: Int, behaviour: Behaviour) async throws {
        let resource = Resource(content, supportsRanges: false, sendsLength: false)
        let bench = try bench(resource, stated: stated, [behaviour])
        try await bench.expectWhole(1, content)
        #expect(bench.server.requests.count == requests)
    }
}
