import Testing

@testable import Transfers

/// Reads by probes, which are programs such as scanners that read only headers and tags. podfs fetches only the blocks
/// that a probe reads, and starts no task.
@Suite struct DownloadMachineProbeTests {
    private func bench() -> MachineBench {
        MachineBench {
            $0.probeBlock = 1_000
            $0.reach = 4_000
            $0.probeStream = 4_000
        }
    }

    /// Returns a bench after a probe's open: the first block is stored, and connection 1 has ended.
    private func opened(_ head: ResponseHead = .part(0..<1_000)) -> MachineBench {
        let bench = bench()
        _ = bench.probeOpen(1)
        _ = bench.head(1, head)
        _ = bench.received(1, 1_000)
        _ = bench.ended(1, head.status == 206 ? .complete : .stopped)
        return bench
    }

    @Test func anOpenAsksForTheFirstBlockAndStoresIt() {
        let bench = bench()
        let request = Machine.ConnectRequest.probe(0..<1_000, ifRange: nil, direct: false)
        #expect(bench.probeOpen(1) == [.connect(1, request)])
        #expect(
            bench.head(1, .part(0..<1_000)) == [
                .confirmed(generation: 1, .pin()), .answerOpen(1, nil), .serving(1, false),
                .createFile(generation: 1, .pin()),
            ])
        #expect(bench.machine.step(1) == .write(until: 1_000))
        #expect(bench.probe(2, 0..<40) == [.serving(1, true)])
        #expect(bench.received(1, 1_000) == [.answerRead(2, nil), .serving(1, false)])
        #expect(bench.ended(1, .complete) == [])
        #expect(bench.machine.state == .remote && !bench.machine.isFilling)
        // Forty small reads are answered without a request.
        for offset in 0..<40 as Range<Int64> {
            #expect(bench.probe(3, offset * 25..<offset * 25 + 25) == [.answerRead(3, nil)])
        }
        #expect(bench.close() == [])
        #expect(bench.machine.isIdle && bench.machine.deadline == nil)
    }

    @Test func aReadFetchesItsBlocks() {
        let bench = opened()
        #expect(bench.probe(2, 8_900..<9_100) == [.connect(2, .probe(8_000..<10_000))])
        #expect(bench.head(2, .part(8_000..<10_000)) == [])
        #expect(bench.received(2, 1_050) == [])
        #expect(bench.received(2, 50) == [.answerRead(2, nil), .serving(2, false)])
        // The rest of the blocks arrives even after the close.
        #expect(bench.close() == [])
        #expect(bench.received(2, 900) == [])
        #expect(bench.ended(2, .complete) == [])
        #expect(bench.machine.present == ByteRanges([0..<1_000, 8_000..<10_000]))
        #expect(bench.machine.isIdle)
        #expect(bench.probe(3, 500..<2_500) == [.connect(3, .probe(1_000..<3_000))], "without the present block")
    }

    @Test func adjacentReadsAreOneRequest() {
        let bench = bench()
        _ = bench.probeOpen(1)
        for id in 2...4 as ClosedRange<Int64> {
            #expect(bench.probe(id, (id - 2) * 1_000 + 10..<(id - 2) * 1_000 + 20) == [], "the head is missing")
        }
        #expect(bench.head(1, .part(0..<1_000)).contains(.connect(2, .probe(1_000..<3_000))))
        _ = bench.head(2, .part(1_000..<3_000))
        #expect(bench.received(1, 1_000) == [.answerRead(2, nil), .serving(1, false)])
        #expect(bench.ended(1, .complete) == [])
        #expect(bench.received(2, 2_000) == [.answerRead(3, nil), .answerRead(4, nil), .serving(2, false)])
        #expect(bench.ended(2, .complete) == [])
    }

    @Test func aSmallFileIsComplete() {
        let bench = bench()
        _ = bench.probeOpen(1)
        _ = bench.head(1, .part(0..<300, of: 300))
        #expect(bench.received(1, 300) == [.release(1), .finish(generation: 1)])
    }

    @Test func withoutRangesAStreamServesTheStartAndTheRestIsRefused() {
        let bench = opened(.whole())
        #expect(bench.machine.present == ByteRanges(0..<1_000) && bench.machine.pin?.acceptsRanges == false)
        var request = Machine.ConnectRequest.whole(direct: true, forReader: true)
        request.isProbe = true
        #expect(bench.probe(2, 1_500..<1_600) == [.connect(2, request)])
        _ = bench.head(2, .whole())
        #expect(bench.machine.step(2) == .skip(until: 1_000))
        bench.passed(2, 1_000)
        #expect(bench.machine.step(2) == .write(until: 4_000))
        #expect(bench.probe(3, 9_000..<9_100) == [.answerRead(3, Machine.unprobed)])
        #expect(bench.received(2, 3_000) == [.answerRead(2, nil), .serving(2, false)])
        #expect(bench.machine.step(2) == .stop)
        #expect(bench.ended(2, .stopped) == [])
        #expect(bench.probe(4, 4_000..<4_001) == [.answerRead(4, Machine.unprobed)])
        #expect(bench.machine.isFilling == false && bench.machine.failure == nil)
    }

    @Test func theEndOfABodyWithoutLengthIsTheEndOfTheFile() {
        let bench = bench()
        _ = bench.probeOpen(1)
        _ = bench.head(1, .whole(nil))
        _ = bench.probe(2, 0..<900)
        _ = bench.received(1, 700)
        #expect(bench.ended(1, .complete).contains(.answerRead(2, nil)))
        #expect(bench.machine.pin?.total == 700 && bench.machine.present == ByteRanges(0..<700))
    }

    // MARK: Players

    @Test func aPlayerFetchesTheBytesThatProbesOmitted() {
        let bench = opened()
        #expect(bench.read(2, 0..<100) == [.answerRead(2, nil), .connect(2, .part(1_000..<10_000))])
        #expect(bench.machine.isFilling && bench.machine.state == .queued)
        _ = bench.head(2, .part(1_000..<10_000))
        #expect(bench.received(2, 9_000) == [.release(2), .finish(generation: 1)])
    }

    @Test func aPlayerDoesNotWaitInTheQueueOfProbes() {
        let bench = bench()
        _ = bench.probeOpen(1)
        #expect(bench.open(2) == [.abort(1), .connect(2, .whole(forReader: true))])
        let other = opened()
        _ = other.probe(2, 5_000..<5_001)
        #expect(other.read(3, 5_000..<5_001) == [.abort(2), .connect(3, .part(5_000..<10_000, forReader: true))])
    }

    @Test func aProbeOfARunningDownloadIsServedByIt() {
        let bench = opened()
        _ = bench.read(2, 0..<100)
        _ = bench.head(2, .part(1_000..<10_000))
        #expect(bench.probe(3, 1_500..<1_600) == [.serving(2, true)])
        #expect(bench.probe(4, 9_000..<9_100) == [.connect(3, .part(9_000..<10_000, forReader: true))])
    }

    @Test func aProbeDoesNotResumeASuspendedTask() {
        let bench = opened()
        _ = bench.read(2, 0..<100)
        _ = bench.suspend(true)
        #expect(bench.probe(3, 5_000..<5_001) == [.connect(3, .probe(5_000..<6_000))])
        #expect(bench.machine.isSuspended)
    }

    @Test func aProbeDoesNotRaiseAnAutomaticTask() {
        let bench = opened()
        _ = bench.fill(.automatic)
        _ = bench.allowAutomatic(false)
        _ = bench.probe(3, 5_000..<5_001)
        #expect(bench.machine.priority == .automatic && bench.machine.isWaitingForConditions)
    }
}
