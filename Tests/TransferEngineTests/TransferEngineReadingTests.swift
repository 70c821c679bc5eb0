import SystemPackage
import TestSupport
import Testing

@testable import Transfers

/// Downloads and reads with a conforming server.
@Suite struct TransferEngineReadingTests {
    private let content = TestContent(seed: 11, size: 4_000_000)

    private func resource(_ content: TestContent) -> Resource { Resource(content, etag: "\"v1\"") }

    @Test func aCompleteDownloadEqualsTheServersFile() async throws {
        let bench = try EngineBench()
        let path = bench.add(1, resource(content))
        try await bench.download(1, content)
        let file = try #require(bench.source(1)?.file)
        let sum = try await ChildProcess.run("sha256sum", ["\(bench.cacheFolder)/media/\(file.prefix(2))/\(file)"])
        #expect(bench.completed[1]?.sha256 == String(sum.output.prefix(64)))
        #expect(bench.server.requests(for: path).count == 1)
        #expect(bench.share(path, of: content.size) == 1)
        #expect(bench.server.requests(for: path)[0].headers["User-Agent"] == "podfs-test")
        #expect(bench.server.requests(for: path)[0].headers["Accept-Encoding"] == "identity")
        try await bench.wait("the state is reported") { bench.snapshots(1).last?.state == .cached }
        #expect(bench.snapshots(1).map(\.received) == bench.snapshots(1).map(\.received).sorted())
        #expect(bench.snapshots(1).last?.received == Int64(content.size))
    }

    @Test func aDownloadIsRetainedUntilItsOwnerHasRecordedItsEvents() async throws {
        let bench = try EngineBench()
        let small = TestContent(seed: 12, size: 100_000)
        let path = bench.add(1, resource(small))
        bench.beBusy()
        #expect(try await bench.read(1, 0..<1_000) == small.bytes(in: 0..<1_000))
        try await bench.wait("the download is complete") { bench.snapshots(1).last?.state == .cached }
        // The owner has not recorded the file yet, so a new download would create a second one.
        #expect(bench.source(1)?.file == nil)
        #expect(try await bench.snapshot(1)?.state == .cached)
        #expect(try await bench.read(1, 50_000..<60_000) == small.bytes(in: 50_000..<60_000))
        #expect(bench.server.requests(for: path).count == 1)
        #expect(try bench.engine.cache.names().count == 1)
        bench.beFree()
        try await bench.wait("the download is released") { try await bench.snapshot(1) == nil }
        #expect(try await bench.read(1, 50_000..<60_000) == small.bytes(in: 50_000..<60_000))
        #expect(bench.server.requests(for: path).count == 1)
    }

    @Test func aTransferContinuesWhereAnEarlierEngineStopped() async throws {
        let bench = try EngineBench()
        let gate = Gate(heldAt: 1_500_000)
        let path = bench.add(1, resource(content), [.hold(gate)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_500_000)
        bench.shutDown()
        try bench.start()
        try await bench.download(1, content)
        #expect(bench.share(path, of: content.size) <= 1.05)
        let second = bench.server.requests(for: path)[1]
        #expect(second.range == .closed(1_500_000, content.size - 1))
        #expect(second.headers["If-Range"] == "\"v1\"")
    }

    @Test func receivedBytesCanBeReadFromTheNextEngine() async throws {
        let bench = try EngineBench()
        let path = bench.add(1, resource(content), [.stall(after: 1_000_000)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000_000)
        bench.shutDown()
        bench.server.stop()
        try bench.start()
        #expect(try await bench.read(1, 0..<1_000_000) == content.bytes(in: 0..<1_000_000))
        #expect(bench.server.requests(for: path).count == 1)
    }

    @Test func theNextEngineReportsACompleteFileAgain() async throws {
        let bench = try EngineBench()
        let path = bench.add(1, resource(content))
        try bench.fill(1)
        try await bench.waitUntilWhole(1)
        bench.shutDown()
        bench.server.remove(path)
        // Simulate a kill after the engine had saved the checkpoint and before the owner recorded the file.
        var source = try #require(bench.source(1))
        source.isComplete = false
        bench.know(source)
        let before = bench.events.count
        try bench.start()
        #expect(try await bench.read(1, 3_000_000..<5_000_000) == content.bytes(in: 3_000_000..<4_000_000))
        let reports = bench.events.dropFirst(before).filter { if case .completed(1, _, _) = $0 { true } else { false } }
        #expect(reports.count == 1)
        #expect(bench.source(1)?.isComplete == true)
        #expect(bench.server.requests(for: path).count == 1)
    }

    @Test func aSuspendedFileWithAllItsBytesIsFinishedByTheNextEngine() async throws {
        let bench = try EngineBench()
        let path = bench.add(1, resource(content))
        try bench.fill(1)
        try await bench.waitUntilWhole(1)
        let digest = bench.completed[1]?.sha256
        bench.shutDown()
        // Simulate a kill after the last byte and before the engine verified the file. The user had suspended the task,
        // so the bytes were fetched for a program's reads.
        var source = try #require(bench.source(1))
        let cache = try ContentCache(directory: FilePath(bench.cacheFolder))
        let file = try #require(source.file)
        let found = try #require(try cache.reopen(file))
        var checkpoint = found.checkpoint
        checkpoint.complete = false
        checkpoint.sha256 = nil
        try cache.save(checkpoint, of: found.file)
        source.isComplete = false
        source.isSuspended = true
        bench.know(source)
        let before = bench.events.count
        try bench.start()
        try bench.fill(1)
        try await bench.wait("completion is reported again") {
            bench.events.dropFirst(before).contains { event in
                if case .completed(1, _, let facts) = event { facts.sha256 == digest } else { false }
            }
        }
        #expect(bench.snapshots(1).last?.state == .cached)
        #expect(bench.server.requests(for: path).count == 1)
    }

    @Test func aFirstReadAtTheEndDoesNotWaitForTheRest() async throws {
        let bench = try EngineBench()
        let gate = Gate(heldAt: 0)
        let large = TestContent(seed: 3, size: 30_000_000)
        let path = bench.add(1, resource(large), [.hold(gate)])
        _ = try await bench.open(1)
        let end = large.size - 4_096..<large.size
        #expect(try await bench.read(1, end) == large.bytes(in: end))
        #expect(bench.server.requests(for: path)[1].range == .closed(large.size - 4_096, large.size - 1))
        gate.open()
        try await bench.expectWhole(1, large)
        #expect(bench.share(path, of: large.size) <= 1.05)
    }

    @Test func readsInRandomOrderAreAllCorrect() async throws {
        let bench = try EngineBench()
        let path = bench.add(1, resource(content))
        var generator = SystemRandomNumberGenerator()
        let starts = (0..<100).map { $0 * 40_000 }.shuffled(using: &generator)
        try await withThrowingTaskGroup { group in
            for start in starts {
                group.addTask {
                    let bytes = try await bench.read(1, start..<start + 40_000)
                    #expect(bytes == content.bytes(in: start..<start + 40_000))
                }
            }
            try await group.waitForAll()
        }
        try await bench.expectWhole(1, content)
        #expect(bench.server.peakConcurrentRequests <= 3, "two, and one whose end the server has not seen")
        #expect(!bench.server.requests(for: path).isEmpty)
    }

    @Test(arguments: [Behaviour.chunked(), .closeDelimited()])
    func withoutALengthTheSizeIsKnownAtTheEnd(behaviour: Behaviour) async throws {
        let bench = try EngineBench()
        let gate = Gate(heldAt: 1_000_000)
        let path = bench.add(1, resource(content), [behaviour.hold(gate)])
        #expect(try await bench.open(1).total == nil)
        #expect(try await bench.read(1, 0..<4_096) == content.bytes(in: 0..<4_096))
        async let end = bench.read(1, content.size - 10..<content.size + 10)
        gate.open()
        #expect(try await end == content.bytes(in: content.size - 10..<content.size))
        try await bench.expectWhole(1, content)
        #expect(bench.source(1)?.confirmedSize == Int64(content.size))
        #expect(bench.share(path, of: content.size) <= 1.05)
    }

    @Test func connectionsAreReused() async throws {
        let bench = try EngineBench()
        let small = TestContent(seed: 1, size: 50_000)
        for key in 1...5 { bench.add(MediaID(Int64(key)), resource(small)) }
        for key in 1...5 {
            try bench.fill(MediaID(Int64(key)))
            try await bench.waitUntilWhole(MediaID(Int64(key)))
        }
        #expect(bench.server.connectionsAccepted == 1)
    }

    @Test func aHundredDownloadsAtOnceAllArrive() async throws {
        let bench = try EngineBench {
            $0.pools.filling = 10; $0.pools.fillingPerHost = 10
        }
        let contents = (1...100).map { TestContent(seed: UInt64($0), size: 200_000 + $0 * 11) }
        for (index, content) in contents.enumerated() { bench.add(MediaID(Int64(index + 1)), resource(content)) }
        for key in 1...100 { try bench.fill(MediaID(Int64(key))) }
        try await bench.wait("all downloads are complete") { bench.completed.count == 100 }
        for (index, content) in contents.enumerated() { #expect(try bench.holds(MediaID(Int64(index + 1)), content)) }
        #expect(bench.server.peakConcurrentRequests <= 10)
        #expect(bench.server.requests.count == 100)
    }

    @Test func aHundredReadersOfAHundredFilesAreAllServed() async throws {
        let bench = try EngineBench { $0.pools.slotTime = .zero }
        let contents = (1...100).map { TestContent(seed: UInt64($0), size: 1_000_000) }
        for (index, content) in contents.enumerated() { bench.add(MediaID(Int64(index + 1)), resource(content)) }
        try await withThrowingTaskGroup { group in
            for (index, content) in contents.enumerated() {
                group.addTask {
                    let key = MediaID(Int64(index + 1))
                    _ = try await bench.open(key)
                    #expect(try await bench.read(key, 0..<4_096) == content.bytes(in: 0..<4_096))
                    #expect(try await bench.read(key, 900_000..<1_000_000) == content.bytes(in: 900_000..<1_000_000))
                    try bench.engine.close(key)
                }
            }
            try await group.waitForAll()
        }
        try await bench.wait("all downloads are complete") { bench.completed.count == 100 }
    }
}
