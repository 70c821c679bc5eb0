import Platform
import Testing

@testable import Transfers

/// The definition of progress, and the errors reported when there is none.
@Suite struct DownloadMachineProgressTests {
    private func reading(_ change: (inout Machine.Limits) -> Void = { _ in }) -> MachineBench {
        let bench = MachineBench.filling(change)
        _ = bench.read(1, 1_000..<1_100)
        return bench
    }

    /// Readahead requests of one reader reach the daemon in any order.
    @Test(arguments: [[1_000, 1_200, 1_400], [1_400, 1_200, 1_000], [1_200, 1_000, 1_400]] as [[Int64]])
    func adjacentReadsShareAConnectionAfterABreak(offsets: [Int64]) {
        let bench = MachineBench.filling()
        for (index, offset) in offsets.enumerated() { _ = bench.read(Int64(index), offset..<offset + 200) }
        #expect(bench.failed(1) == [])
        #expect(bench.tick() == [.connect(2, .part(1_000..<10_000, forReader: true))])
    }

    // MARK: Silence

    private static func stalled(_ id: Int, in bench: MachineBench) -> Bool {
        bench.tick().contains(.abort(id)) && bench.machine.error?.code == .timedOut
    }

    /// The timeout is exact to the millisecond. An average over the last seconds would detect the stall too late.
    @Test func aSilentConnectionStallsExactlyAfterTheTimeout() {
        let bench = reading()
        bench.pass(7_777)
        _ = bench.received(1, 1)
        let last = bench.now
        #expect(Self.stalled(1, in: bench) && bench.now == last + .seconds(20))
        #expect(bench.machine.error?.message == "the server stopped sending for 20 s")
    }

    @Test func comparedBytesPreventAStall() {
        let bench = MachineBench(pin: .pin(nil, nil, ranges: false), present: ByteRanges(0..<9_000))
        _ = bench.fill()
        _ = bench.head(1, .whole(tag: nil))
        for _ in 0..<8 {
            bench.pass(15_000)
            bench.passed(1, 1_000)
        }
        let last = bench.now
        #expect(Self.stalled(1, in: bench) && bench.now == last + .seconds(20))
    }

    @Test func aRestrainedConnectionDoesNotStall() {
        let bench = reading()
        for _ in 0..<9 {
            bench.pass(19_999)
            bench.machine.restrained(1, now: bench.now)
        }
        // The deadline of the blocked reader has passed. That fails the read, but does not end the connection.
        #expect(!bench.tick().contains(.abort(1)) && bench.machine.has(1))
        #expect(Self.stalled(1, in: bench))
    }

    @Test func aPausedConnectionStallsOnlyAfterItResumes() {
        let bench = MachineBench { $0.readerDeadline = .seconds(3_600) }
        _ = bench.fill()
        _ = bench.head(1, .whole())
        // A reader at another offset makes the first connection yield.
        let actions = bench.read(1, 9_000..<9_100)
        #expect(actions.contains(.connect(2, .part(9_000..<10_000, forReader: true))))
        let answered = bench.head(2, .part(9_000..<10_000))
        #expect((actions + answered).contains(.pause(1)), "the first connection yields")
        for _ in 0..<9 {
            bench.pass(15_000)
            _ = bench.received(2, 10)
        }
        #expect(bench.machine.has(1) && !bench.machine.isFlowing(1))
        #expect(bench.received(2, 10).contains(.resume(1, forReader: false)))
        let resumed = bench.now
        bench.pass(100)
        _ = bench.received(2, 10)
        #expect(Self.stalled(1, in: bench) && bench.now == resumed + .seconds(20))
    }

    // MARK: Slow progress

    @Test func presentBytesAreNoProgress() {
        let bench = MachineBench(
            pin: .pin(nil, nil, ranges: false), present: ByteRanges(0..<9_000)
        ) { $0.stall = .seconds(3_600) }
        _ = bench.read(1, 9_000..<9_100)
        _ = bench.head(1, .whole(tag: nil))
        let due = bench.machine.deadline
        for _ in 0..<8 {
            bench.pass(1_000)
            bench.passed(1, 1_000)
        }
        #expect(bench.machine.deadline == due)
    }

    @Test(arguments: [(255, 6_000), (257, 60_000)] as [(Int64, Int64)])
    func theMinimumRateAppliesOverTheReadersDeadline(rate: Int64, waits: Int64) {
        let bench = MachineBench {
            $0.minRate = 256
            $0.readerDeadline = .seconds(6)
        }
        let total: Int64 = 1_000_000
        _ = bench.fill()
        _ = bench.head(1, .whole(total))
        _ = bench.read(1, 500_000..<500_100)
        // The reader waits for connection 2, which receives nothing. All the same, the bytes that connection 1 receives
        // count as progress.
        let start = bench.now
        while bench.machine.isWaiting(1), bench.now - start < .seconds(60) {
            bench.pass(1_000)
            if bench.machine.has(2), !bench.machine.isFlowing(2) {
                _ = bench.head(2, .part(500_000..<total, of: total))
            }
            _ = bench.received(1, rate)
            if let due = bench.machine.deadline, due <= bench.now {
                _ = bench.machine.tick(now: bench.now, random: 0)
            }
        }
        #expect(bench.now - start >= .milliseconds(waits) && bench.now - start <= .milliseconds(waits + 6_500))
    }

    @Test func aTrickleDoesNotShortenThePauses() {
        let bench = MachineBench { $0.minRate = 256 }
        _ = bench.fill()
        _ = bench.head(1, .whole())
        for (connection, pause) in zip(1..., [250, 500, 1_000] as [Int64]) {
            _ = bench.received(connection, 1)
            _ = bench.failed(connection)
            #expect(bench.machine.deadline == bench.now + .milliseconds(pause))
            _ = bench.tick()
            let position = bench.machine.position(of: connection + 1) ?? 0
            _ = bench.head(connection + 1, .part(position..<10_000))
        }
    }

    // MARK: Bodies that end at the same byte

    @Test func threeAnswersThatEndAtTheSameByteFail() {
        let bench = reading()
        let error = TransferError(.failed, "the server announces 10000 bytes and sends 1000: broken")
        #expect(bench.failed(1) == [])
        #expect(bench.tick() == [.connect(2, .part(1_000..<10_000, forReader: true))])
        _ = bench.head(2, .part(1_000..<10_000))
        #expect(bench.failed(2) == [])
        _ = bench.tick()
        _ = bench.head(3, .part(1_000..<10_000))
        #expect(bench.failed(3) == [.failed(error), .answerRead(1, error)])
        #expect(bench.machine.state == .failed)
        #expect(bench.machine.error == error)
        // Present bytes can be read; missing ones are retried when a reader requests them a minute later.
        #expect(bench.read(2, 0..<1_000) == [.answerRead(2, nil)])
        #expect(bench.read(3, 1_000..<1_001) == [.answerRead(3, error)])
        bench.pass(60_001)
        #expect(bench.read(4, 1_000..<1_001) == [.connect(4, .part(1_000..<10_000, forReader: true))])
    }

    @Test func oneMoreByteRestartsTheCount() {
        let bench = reading()
        for connection in 1...6 {
            if connection > 1 {
                let position = bench.machine.position(of: connection) ?? 0
                _ = bench.head(connection, .part(position..<10_000))
                if connection % 2 == 0 { _ = bench.received(connection, 1) }
            }
            _ = bench.failed(connection)
            #expect(bench.machine.failure == nil)
            _ = bench.tick()
        }
    }

    @Test func aStallAtTheSameByteIsNoFailure() {
        let bench = reading { $0.readerDeadline = .seconds(600) }
        for connection in 1...5 {
            if connection > 1 { _ = bench.head(connection, .part(1_000..<10_000)) }
            _ = bench.failed(connection, .timedOut)
            #expect(bench.machine.failure == nil)
            _ = bench.tick()
        }
    }

    // MARK: The last error

    @Test func theLastErrorIsShownUntilThereIsProgress() {
        let bench = reading { $0.stall = .seconds(3_600) }
        #expect(bench.machine.error == nil)
        _ = bench.failed(1)
        let broken = TransferError(.failed, "broken")
        #expect(bench.machine.state == .queued && bench.machine.error == broken)
        _ = bench.tick()
        #expect(bench.machine.error == broken)
        _ = bench.head(2, .part(1_000..<10_000))
        #expect(bench.machine.state == .running && bench.machine.error == broken)
        _ = bench.suspend(true)
        #expect(bench.machine.error == nil, "a suspension by the user is no error")
        _ = bench.suspend(false)
        _ = bench.tick()
        _ = bench.received(2, 100)
        #expect(bench.machine.error == nil)
    }

    /// Before the first response the download is not listed as a task, but an open(2) is already waiting for it.
    @Test func theLastErrorIsShownWhileAnOpenWaits() {
        let bench = MachineBench()
        _ = bench.open(1)
        #expect(bench.machine.error == nil)
        _ = bench.failed(1)
        #expect(bench.machine.state == .remote && bench.machine.error == TransferError(.failed, "broken"))
        _ = bench.tick()
        #expect(bench.machine.error == TransferError(.failed, "broken"))
        _ = bench.head(2, .whole())
        #expect(bench.machine.error == nil, "the open is answered, and nobody waits")
    }
}
