import Platform
import Testing

@testable import Transfers

/// Tests of failing connections, and of the user's commands: retry, suspend and cancel.
@Suite struct DownloadMachineFailureTests {
    @Test func aLostConnectionIsContinuedAfterPausesThatGrowUntilNewBytesArrive() {
        let bench = MachineBench.filling()
        var connection = 1
        for pause in [250, 500, 1_000, 2_000] as [Int64] {
            #expect(bench.failed(connection) == [])
            #expect(bench.machine.state == .queued)
            #expect(bench.machine.deadline == bench.now + .milliseconds(pause))
            connection += 1
            #expect(bench.tick().count == 1 && bench.machine.has(connection))
        }
        _ = bench.head(connection, .part(500..<10_000))
        bench.passed(connection, 500)
        #expect(bench.machine.attempts.count == 4, "neither a head nor bytes that were present are progress")
        _ = bench.received(connection, 1)
        _ = bench.failed(connection)
        #expect(bench.machine.deadline == bench.now + .milliseconds(250))
    }

    @Test func aBodyThatEndsEarlyIsContinued() {
        let bench = MachineBench.filling()
        #expect(bench.ended(1, .complete) == [])
        #expect(bench.machine.attempts.lastError?.message == "the server ended 9000 bytes early")
        #expect(bench.tick() == [.connect(2, .part(1_000..<10_000))])
    }

    @Test func aServersRetryAfterIsKeptEvenForReaders() {
        let bench = MachineBench.filling()
        _ = bench.failed(1)
        _ = bench.tick()
        #expect(bench.head(2, .status(503, ["retry-after": "30"])) == [.abort(2)])
        #expect(bench.machine.deadline == bench.now + .seconds(30))
        #expect(bench.read(1, 1_000..<1_100) == [])
        #expect(bench.machine.deadline == bench.now + .seconds(30))
    }

    @Test func aReaderDoesNotWaitOutALongBackOff() {
        let bench = MachineBench.filling()
        for connection in 1...6 {
            _ = bench.failed(connection)
            if connection < 6 { _ = bench.tick() }
        }
        #expect(bench.machine.deadline == bench.now + .seconds(8))
        bench.pass(1_000)
        let unresolved = Machine.ConnectRequest.part(500..<10_000, direct: false, forReader: true)
        #expect(bench.read(1, 1_000..<1_100) == [.connect(7, unresolved)])
    }

    @Test func aReaderGivesUpAfterAMinuteWithoutProgress() {
        let bench = MachineBench.filling { $0.stall = .seconds(3_600) }
        _ = bench.read(1, 1_000..<9_000)
        bench.pass(50_000)
        _ = bench.received(1, 1)
        #expect(bench.machine.deadline == bench.now + .seconds(60))
        let error = TransferError(.timedOut, "nothing arrived for 60 s")
        #expect(bench.tick().first == .answerRead(1, error))
        #expect(bench.machine.has(1) && bench.machine.state == .running, "the download goes on")
        #expect(bench.machine.error == error)
    }

    @Test func anOpenWithoutANetworkFailsAtOnce() {
        let bench = MachineBench()
        _ = bench.open(1)
        #expect(bench.failed(1, .unreachable) == [.answerOpen(1, TransferError(.unreachable, "broken"))])
        #expect(bench.machine.isIdle)
        #expect(bench.machine.deadline == nil)
    }

    @Test func anOpenWaitsForAServerThatIsBusy() {
        let bench = MachineBench()
        _ = bench.open(1)
        #expect(bench.head(1, .status(503)) == [.abort(1)])
        #expect(bench.tick() == [.connect(2, .whole(forReader: true))])
        #expect(bench.head(2, .whole()).contains(.answerOpen(1, nil)))
    }

    @Test func aPermanentFailureIsRememberedForAMinute() {
        let bench = MachineBench()
        let error = TransferError(.missing, "the server answered 404")
        _ = bench.open(1)
        #expect(bench.head(1, .status(404)) == [.abort(1), .failed(error), .answerOpen(1, error)])
        #expect(bench.machine.state == .failed)
        #expect(!bench.machine.isIdle, "it remembers the failure")
        #expect(bench.open(2) == [.answerOpen(2, error)])
        bench.pass(59_999)
        #expect(bench.read(3, 0..<1) == [.answerRead(3, error)])
        #expect(bench.tick() == [])
        #expect(bench.machine.isIdle)
        #expect(bench.machine.deadline == nil)
        #expect(bench.machine.state == .failed)
        #expect(bench.open(4) == [.connect(2, .whole(forReader: true))])
        #expect(bench.machine.state == .remote)
    }

    @Test func anAddressThatDoesNotAnswerIsResolvedAgain() {
        let bench = MachineBench.filling()
        _ = bench.failed(1)
        _ = bench.tick()
        _ = bench.failed(2, .unreachable)
        #expect(bench.tick() == [.connect(3, .part(500..<10_000, direct: false))])
    }

    @Test func aRefusedSeekDoesNotEndTheStream() {
        let bench = MachineBench.filling()
        _ = bench.read(1, 9_000..<9_100)
        _ = bench.head(2, .status(403))
        #expect(bench.machine.has(3), "the final address may have expired")
        let actions = bench.head(3, .status(403))
        #expect(bench.machine.failure == nil)
        #expect(actions == [.abort(3), .resume(1, forReader: false)], "the stream will reach the reader")
    }

    @Test func aMissingResponseIsALostConnection() {
        let bench = MachineBench()
        _ = bench.fill()
        #expect(bench.machine.deadline == nil, "it waits for its turn")
        bench.machine.requestSent(1, now: bench.now)
        #expect(bench.machine.deadline == bench.now + .seconds(20))
        #expect(bench.tick() == [.abort(1)])
        #expect(bench.machine.attempts.lastError?.code == .timedOut)
    }

    @Test func wrongRangesAreNotRequestedAThirdTime() {
        let bench = MachineBench.filling()
        _ = bench.failed(1)
        for connection in 2...3 {
            _ = bench.tick()
            #expect(bench.head(connection, .part(0..<10_000)) == [.abort(connection)])
        }
        #expect(bench.tick() == [.connect(4, .whole())])
        #expect(bench.head(4, .whole()) == [])
        #expect(bench.machine.step(4) == .compare(until: 1_000))
    }

    @Test func aTaskGivesUpInTheEnd() {
        let bench = MachineBench.filling { $0.retry.giveUp = .seconds(2) }
        var connections = 0
        while bench.machine.failure == nil {
            connections += 1
            _ = bench.failed(connections)
            if bench.machine.failure == nil { _ = bench.tick() }
        }
        #expect(connections == 5, "four pauses, of 250, 500, 1,000 and 2,000 ms, but no fifth")
        #expect(bench.machine.state == .failed)
    }

    @Test func aWriteErrorEndsEverythingButKeepsPresentBytes() {
        let bench = MachineBench.filling()
        _ = bench.read(1, 1_000..<1_100)
        let error = TransferError(.failed, "cannot write")
        #expect(bench.storageFailed(error) == [.abort(1), .failed(error), .answerRead(1, error)])
        #expect(bench.machine.present.text == "0-999")
        #expect(bench.machine.step(1) == .stop)
    }

    @Test func aFileThatCannotBeHashedFails() {
        let bench = MachineBench.filling()
        _ = bench.received(1, 9_000)
        let error = TransferError(.failed, "unreadable")
        #expect(bench.machine.finished(error, now: bench.now) == [.failed(error)])
        #expect(bench.machine.state == .failed)
        #expect(bench.retry() == [.finish(generation: 1)])
    }

    // MARK: User commands

    @Test func aSuspendedTaskRestsButServesReaders() {
        let bench = MachineBench.filling()
        #expect(bench.suspend(true) == [.abort(1)])
        #expect(bench.machine.state == .suspended)
        #expect(bench.machine.isIdle)
        #expect(bench.read(1, 1_000..<1_100) == [.connect(2, .part(1_000..<10_000, forReader: true))])
        _ = bench.head(2, .part(1_000..<10_000))
        #expect(bench.received(2, 100) == [.answerRead(1, nil), .serving(2, false), .hold(2)])
        #expect(bench.tick() == [.abort(2)])
        #expect(bench.suspend(false) == [.connect(3, .part(1_100..<10_000))])
    }

    @Test func aSuspendedTaskDoesNotWakeUpForARetry() {
        let bench = MachineBench.filling()
        _ = bench.failed(1)
        _ = bench.suspend(true)
        #expect(bench.tick() == [])
        #expect(bench.machine.deadline == nil)
        #expect(bench.machine.isIdle)
    }

    @Test func aReaderThatLeavesDuringABackOffLeavesNoDeadline() {
        let bench = MachineBench()
        _ = bench.read(1, 0..<10)
        _ = bench.failed(1)
        _ = bench.cancel()
        _ = bench.cancelWait(1)
        #expect(bench.machine.isIdle)
        _ = bench.tick()
        #expect(bench.machine.deadline == nil)
    }

    @Test func aFileWithAllBytesIsFinishedDespiteACancel() {
        let bench = MachineBench.filling()
        #expect(bench.received(1, 9_000).last == .finish(generation: 1))
        #expect(bench.cancel() == [])
        #expect(bench.machine.state == .running && bench.machine.isFilling)
        #expect(bench.finished() == [])
        #expect(bench.machine.state == .cached)
    }

    @Test func aBlockedReaderOutlivesACancel() {
        let bench = MachineBench.filling()
        _ = bench.read(1, 1_000..<1_100)
        _ = bench.failed(1)
        #expect(bench.cancel() == [.connect(2, .part(1_000..<10_000, forReader: true))])
    }
}
