import TestSupport
import Testing

@testable import Transfers

/// The first bytes of an episode. A grant, the engine's answer to an open or a read, contains them as long as there is
/// no cache file.
@Suite struct FirstBytesTests {
    private let content = TestContent(seed: 11, size: 4_000_000)
    private let bench: EngineBench

    init() throws {
        bench = try EngineBench()
        bench.add(1, Resource(content, etag: "\"v1\""))
    }

    /// Opens the episode repeatedly until the grant contains all of the first 16,384 bytes.
    ///
    /// - Returns: The number of opens.
    private func openUntilTheFirstBytesAreHere() async throws -> Int {
        var opens = 0
        try await bench.wait("the first bytes are received") {
            opens += 1
            let grant = try await bench.open(1)
            #expect(grant.file == nil && grant.present.isEmpty)
            return grant.head == content.bytes(in: 0..<16_384)
        }
        return opens
    }

    @Test func theFirstBytesAreGrantedBeforeThereIsAFile() async throws {
        let opens = try await openUntilTheFirstBytesAreHere()
        let first = try await bench.grant(1, 4_096..<16_384)
        #expect(first.file == nil && first.present.isEmpty)
        #expect(first.head == content.bytes(in: 0..<16_384))
        // The engine creates the cache file only after it has answered the first read.
        let second = try await bench.grant(1, 4_096..<16_384)
        #expect(second.file != nil && second.head.isEmpty)
        #expect(second.present.covers(4_096..<16_384))
        try await bench.expectWhole(1, content)
        #expect(bench.server.requests.count == 1)
        for _ in 0..<opens { try bench.engine.close(1) }
    }

    /// A reader that already has the first bytes sets `takesHead` to `false`. The engine then answers with a grant of
    /// the cache file.
    @Test func aReaderThatRequestsTheFileDoesNotGetTheFirstBytes() async throws {
        let opens = try await openUntilTheFirstBytesAreHere()
        let grant = try await bench.grant(1, 0..<4_096, takesHead: false)
        #expect(grant.file != nil && grant.head.isEmpty)
        #expect(grant.present.covers(0..<4_096))
        for _ in 0..<opens { try bench.engine.close(1) }
    }

    @Test func aReadOfMoreThanTheFirstBytesWaitsForTheFile() async throws {
        _ = try await bench.open(1)
        let grant = try await bench.grant(1, 0..<16_385)
        #expect(grant.file != nil && grant.head.isEmpty)
        #expect(grant.present.covers(0..<16_385))
        try bench.engine.close(1)
    }
}
