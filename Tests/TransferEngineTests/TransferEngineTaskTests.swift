import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Transfers

/// Tests of the commands on downloads, of the shutdown, and that an idle engine does not poll.
@Suite struct TransferEngineTaskTests {
    private let content = TestContent(seed: 31, size: 4_000_000)
    private var resource: Resource { Resource(content, etag: "\"v1\"") }

    @Test func aSuspendedDownloadRestsUntilItIsResumed() async throws {
        let bench = try EngineBench()
        let path = bench.add(1, resource, [.stall(after: 1_000_000)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000_000)
        bench.setSuspended(1, true)
        try bench.engine.setSuspended(1, true, load: bench.loader(1))
        try await bench.wait("the download is suspended") { bench.snapshots(1).last?.state == .suspended }
        try await bench.wait("the connection has ended") { bench.server.requests(for: path)[0].isFinished }
        #expect(try await bench.read(1, 2_000_000..<2_000_010) == content.bytes(in: 2_000_000..<2_000_010))
        #expect(bench.completed.isEmpty, "the reader does not resume the download")
        bench.setSuspended(1, false)
        try bench.engine.setSuspended(1, false, load: bench.loader(1))
        try await bench.expectWhole(1, content)
    }

    @Test func aStoredSuspensionIsKept() async throws {
        let bench = try EngineBench()
        let path = bench.add(1, resource)
        bench.setSuspended(1, true)
        #expect(try await bench.read(1, 0..<10) == content.bytes(in: 0..<10))
        try await bench.wait("the download is suspended") { bench.snapshots(1).last?.state == .suspended }
        #expect(bench.completed.isEmpty)
        #expect(bench.server.requests(for: path).count == 1)
    }

    @Test func aCancelledDownloadKeepsItsBytes() async throws {
        let bench = try EngineBench()
        let path = bench.add(1, resource, [.stall(after: 1_000_000)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000_000)
        try await bench.engine.cancel([1])
        try await bench.wait("the download is released") { try await bench.snapshot(1) == nil }
        #expect(bench.snapshots(1).last?.state == .remote)
        #expect(bench.snapshots(1).last?.isTask == false)
        try await bench.download(1, content)
        #expect(bench.share(path, of: content.size) <= 1.05)
    }

    @Test func aCancelledDownloadProducesResumeData() async throws {
        let bench = try EngineBench()
        let path = bench.add(1, resource, [.stall(after: 1_000_000)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000_000)
        let data = try #require(await bench.engine.cancelProducingResumeData(1))
        let expected = ResumeData(
            key: 1, generation: 1, total: 4_000_000, validator: "etag:\"v1\"", present: "0-999999",
            url: bench.server.url(path))
        #expect(data == expected)
        let name = try #require(bench.source(1)?.file)
        let file = try #require(try bench.engine.cache.checkpoint(of: name))
        #expect(file.receivedRanges.byteCount == 1_000_000, "the checkpoint contains the same bytes")
        #expect(data.fits(generation: file.generation, validator: file.validator, total: file.total))
        try await bench.wait("the download is released") { try await bench.snapshot(1) == nil }
        #expect(bench.snapshots(1).last?.state == .remote)
        #expect(try await bench.engine.cancelProducingResumeData(1) == nil, "the download is not loaded")
        #expect(try await bench.engine.cancelProducingResumeData(1, load: bench.loader(1)) == expected)
        try bench.fill(1)
        try await bench.waitUntilWhole(1)
        #expect(bench.server.requests(for: path).last?.range == .closed(1_000_000, 3_999_999))
        #expect(try await bench.engine.cancelProducingResumeData(1, load: bench.loader(1)) == nil, "it is complete")
    }

    @Test func resumeDataIsInACheckpointEvenIfAnotherIsBeingWritten() async throws {
        let bench = try EngineBench()
        let gate = Gate(heldAt: 1_000_000)
        bench.add(1, resource, [.hold(gate)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000_000)
        // A checkpoint of these bytes is started, but cannot be written yet.
        let checkpoints = try await bench.checkpoints(of: 1)
        checkpoints.suspend()
        let isHeld = try await bench.onLoop { loop in
            loop.download(1)?.saveCheckpoint(synchronously: false)
            return loop.download(1)?.checkpoints.isBusy
        }
        #expect(isHeld == true)
        gate.advance(to: 2_000_000)
        try await bench.waitUntilReceived(1, 2_000_000)
        async let answer = bench.engine.cancelProducingResumeData(1)
        try await bench.wait("the task is cancelled") { bench.snapshots(1).last?.isTask == false }
        checkpoints.resume()
        let data = try #require(try await answer)
        #expect(data.present == "0-1999999")
        let name = try #require(bench.source(1)?.file)
        #expect(try bench.engine.cache.checkpoint(of: name)?.receivedRanges.byteCount == 2_000_000)
    }

    @Test func aDiscardedFileLeavesNothing() async throws {
        let bench = try EngineBench()
        bench.add(1, resource, [.stall(after: 1_000_000), .stall(after: 0), .stall(after: 0)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000_000)
        let name = try #require(bench.source(1)?.file)
        async let reader = failure { try await bench.read(1, 2_000_000..<2_000_010) }
        #expect(try bench.engine.cache.evict(name))
        try bench.engine.discard(1)
        #expect(await reader != nil)
        try await bench.wait("the download is released") { try await bench.snapshot(1) == nil }
        bench.shutDown()
        let left = try await ChildProcess.run("find", [bench.cacheFolder, "-name", "\(name)*"])
        #expect(left.output == "")
    }

    @Test func aWaitThatIsCancelledIsNotAnswered() async throws {
        let bench = try EngineBench()
        let gate = Gate(heldAt: 1_000)
        bench.add(1, resource, [.hold(gate)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000)
        let answers = Mutex(0)
        let wait = try bench.engine.read(1, range: 5_000..<6_000, generation: 1, load: bench.loader(1)) { _ in
            answers.withLock { $0 += 1 }
        }
        try bench.engine.cancelWait(1, wait)
        try await bench.wait("no reader waits") { try await bench.engine.waits(1) == 0 }
        gate.open()
        try await bench.waitUntilWhole(1)
        #expect(answers.withLock { $0 } == 0)
    }

    @Test func aShutdownAnswersAllRequests() async throws {
        let bench = try EngineBench()
        bench.add(1, resource, [.stall(after: 1_000), .stall(after: 0), .stall(after: 0), .stall(after: 0)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000)
        let engine = try bench.engine
        let answers = Mutex(0)
        let count: TransferEngine.Answer = { if case .failure = $0 { answers.withLock { $0 += 1 } } }
        for start in [5_000, 3_000_000] as [Int64] {
            engine.read(1, range: start..<start + 10, generation: 1, load: bench.loader(1), answer: count)
        }
        bench.shutDown()
        #expect(answers.withLock { $0 } == 2)
        engine.read(1, range: 0..<10, generation: 1, load: bench.loader(1), answer: count)
        engine.open(1, load: bench.loader(1), answer: count)
        #expect(answers.withLock { $0 } == 4, "requests after the shutdown are answered too")
        #expect(await engine.snapshots().isEmpty)
        await #expect(throws: TransferError.self) {
            for try await _ in engine.data(for: DataRequest(url: bench.server.url("/x"), limit: 10)) {}
        }
    }

    @Test func anOwnerThatDoesNotKnowTheFileIsAFailure() async throws {
        let bench = try EngineBench()
        #expect(await failure { try await bench.open(9) } == TransferError(.missing, "unknown to the owner"))
        #expect(await failure { try await bench.read(9, 0..<1) } == TransferError(.missing, "unknown to the owner"))
    }

    @Test func aLostCacheFileIsAbandoned() async throws {
        let bench = try EngineBench()
        bench.add(1, resource)
        var source = try #require(bench.source(1))
        source.file = "00112233445566778899aabbccddeeff"
        bench.know(source)
        #expect(await failure { try await bench.read(1, 0..<10, generation: 1) }?.code == .changed)
        #expect(bench.source(1)?.generation == 2)
        #expect(try await bench.read(1, 0..<10) == content.bytes(in: 0..<10))
    }

    // MARK: Idle engine

    /// Counts the iterations of the engine's loop in a second in which no event is expected. A loop that polls
    /// iterates hundreds of times, on a slow machine fewer times. A loop that sleeps wakes only for the two calls of
    /// `rounds` and for curl's timers.
    private func rounds(_ bench: EngineBench) async throws -> Int {
        let start = ContinuousClock.now
        let before = try await bench.engine.rounds()
        try await Task.sleep(for: .seconds(1))
        let count = try await bench.engine.rounds() - before
        // While other tests occupy the processors, the sleep takes many seconds.
        return Int(Double(count) / max(1, (ContinuousClock.now - start) / .seconds(1)))
    }

    @Test func anIdleEngineAndAHeldResponseSleep() async throws {
        let bench = try EngineBench()
        #expect(try await rounds(bench) <= 2)
        bench.add(1, Resource(TestContent(seed: 1, size: 1_000), etag: "\"v1\""))
        try bench.fill(1)
        try await bench.waitUntilWhole(1)
        try await bench.wait("the download is released") { try await bench.snapshot(1) == nil }
        #expect(try await rounds(bench) <= 3)
        // The response is held until the first read.
        bench.add(2, resource)
        _ = try await bench.open(2)
        try await bench.wait("the download has begun") { try await bench.snapshot(2) != nil }
        #expect(try await rounds(bench) <= 20)
    }

    @Test func aStalledDownloadAndAPausedOneSleep() async throws {
        let bench = try EngineBench()
        bench.add(1, resource, [.normal, .stall(after: 10)])
        _ = try await bench.open(1)
        async let reader = failure { try await bench.read(1, 3_000_000..<3_000_100) }
        try await bench.server.waitForRequest { $0.range != nil }
        // curl checks the transfer's speed once a second.
        #expect(try await rounds(bench) <= 30)
        bench.shutDown()
        #expect(await reader != nil)
    }

    @Test func queuedDownloadsSleep() async throws {
        let bench = try EngineBench()
        let gate = Gate(heldAt: 10)
        for key in 1...20 { bench.add(MediaID(Int64(key)), resource, [.hold(gate)]) }
        for key in 1...20 { try bench.fill(MediaID(Int64(key))) }
        try await bench.wait("two downloads have begun") { bench.server.requests.count == 2 }
        #expect(try await rounds(bench) <= 30)
    }

    @Test func aDownloadThatWaitsForItsNextTrySleeps() async throws {
        let bench = try EngineBench { $0.limits.retry.firstDelay = .seconds(100) }
        bench.add(1, resource, [.status(503)])
        try bench.fill(1)
        try await bench.wait("the first request has ended") { bench.server.requests.first?.isFinished == true }
        #expect(try await rounds(bench) <= 5)
        try bench.engine.setSuspended(1, true, load: bench.loader(1))
        #expect(try await rounds(bench) <= 5)
    }
}
