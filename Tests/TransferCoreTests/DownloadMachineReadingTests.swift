import Platform
import Testing
import Transfers

/// Transfers from the open to the complete file, without any failure.
@Suite struct DownloadMachineReadingTests {
    /// Returns a bench with an opened file whose response is held, that is, paused and unread until the first read.
    private func held(_ bench: MachineBench = MachineBench()) -> MachineBench {
        _ = bench.open(1)
        _ = bench.head(1, .whole())
        return bench
    }

    /// Returns a bench with a file of 10,000 bytes that is read from its start. Connection 1 has received the first
    /// 100 bytes.
    private func reading(_ bench: MachineBench = MachineBench()) -> MachineBench {
        _ = held(bench)
        _ = bench.read(2, 0..<100)
        _ = bench.received(1, 100)
        return bench
    }

    @Test func oneResponseServesOpenAndReads() {
        let bench = MachineBench()
        #expect(bench.machine.state == .remote)
        #expect(bench.open(1) == [.connect(1, .whole(forReader: true))])
        #expect(bench.machine.state == .remote, "an open is no task")
        #expect(
            bench.head(1, .whole()) == [
                .confirmed(generation: 1, .pin()), .answerOpen(1, nil), .serving(1, false), .hold(1),
            ])
        #expect(!bench.machine.isFlowing(1))
        #expect(bench.machine.state == .remote)
        #expect(
            bench.read(2, 0..<100) == [
                .serving(1, true), .createFile(generation: 1, .pin()), .resume(1, forReader: true),
            ])
        #expect(bench.machine.state == .running)
        #expect(bench.machine.step(1) == .write(until: 10_000))
        #expect(bench.received(1, 60) == [])
        #expect(bench.received(1, 60) == [.answerRead(2, nil), .serving(1, false)])
        #expect(bench.machine.isFlowing(1), "it goes on filling")
        #expect(bench.received(1, 9_880) == [.release(1), .finish(generation: 1)])
        #expect(bench.machine.state == .running)
        #expect(bench.finished() == [])
        #expect(bench.machine.state == .cached)
        #expect(bench.close() == [])
        #expect(bench.machine.isIdle)
        #expect(bench.machine.deadline == nil)
    }

    @Test func aFileThatIsCachedNeedsNoConnection() {
        let bench = MachineBench(pin: .pin(), present: ByteRanges(0..<10_000), isCached: true)
        #expect(bench.open(1) == [.answerOpen(1, nil)])
        #expect(bench.read(2, 0..<20_000) == [.answerRead(2, nil)])
        #expect(bench.fill() == [])
        #expect(bench.retry() == [])
        #expect(bench.suspend(true) == [])
        #expect(bench.machine.state == .cached)
    }

    @Test func anUnreadResponseIsAbortedAtTheLastClose() {
        let bench = held()
        #expect(bench.open(2) == [.answerOpen(2, nil)])
        #expect(bench.close() == [])
        #expect(bench.close() == [.abort(1)])
        #expect(bench.machine.isIdle)
        #expect(!bench.machine.hasFile, "nothing was stored")
        #expect(bench.machine.pin == .pin(), "size and validator are kept")
    }

    /// Otherwise the next probe could receive the whole file from it.
    @Test func anUnreadResponseOfASuspendedTaskIsAbortedAtTheLastClose() {
        let bench = MachineBench()
        _ = bench.suspend(true)
        _ = bench.open(1)
        _ = bench.head(1, .whole())
        #expect(bench.machine.handles == 1 && bench.machine.state == .suspended)
        #expect(bench.close() == [.abort(1)])
        #expect(bench.machine.state == .suspended && !bench.machine.hasFile)
    }

    @Test func anUnreadResponseIsHeldForAWhile() {
        let bench = held()
        #expect(bench.machine.deadline == bench.now + .seconds(10))
        #expect(bench.tick() == [.abort(1)])
        #expect(bench.machine.deadline == nil)
        #expect(bench.read(2, 0..<10) == [.connect(2, .whole(direct: true, forReader: true))])
    }

    @Test func aCancelledOpenLeavesNoConnection() {
        let bench = MachineBench()
        _ = bench.open(1)
        #expect(bench.cancelWait(1) == [.abort(1)])
        #expect(bench.machine.isIdle)
    }

    @Test func aSecondReaderJoinsTheFirst() {
        let bench = held()
        _ = bench.read(2, 0..<100)
        #expect(bench.read(3, 50..<150) == [])
        #expect(bench.read(4, 120..<200) == [])
        #expect(bench.received(1, 160) == [.answerRead(2, nil), .answerRead(3, nil)])
        #expect(bench.received(1, 40) == [.answerRead(4, nil), .serving(1, false)])
    }

    @Test func presentBytesAreAnsweredAtOnce() {
        let bench = reading()
        #expect(bench.read(5, 10..<90) == [.answerRead(5, nil)])
        #expect(bench.read(6, 10_000..<10_100) == [.answerRead(6, nil)], "beyond the end there is nothing to wait for")
        #expect(bench.read(7, 50..<50) == [.answerRead(7, nil)])
    }

    @Test func aReadElsewhereOpensOneMoreConnectionAndFillingYields() {
        let bench = reading()
        #expect(bench.read(3, 8_000..<8_100) == [.connect(2, .part(8_000..<10_000, forReader: true)), .pause(1)])
        #expect(bench.head(2, .part(8_000..<10_000)) == [])
        #expect(bench.machine.step(1) == .write(until: 8_000))
        #expect(bench.received(2, 100) == [.answerRead(3, nil), .resume(1, forReader: false), .serving(2, false)])
        #expect(bench.machine.step(2) == .write(until: 10_000), "read-ahead goes on behind the reader")
        #expect(bench.received(2, 1_900) == [])
        #expect(bench.machine.step(2) == .stop)
        #expect(bench.ended(2, .complete) == [])
        #expect(bench.received(1, 7_900) == [.abort(1), .finish(generation: 1)], "its body goes on beyond its limit")
    }

    @Test func aConnectionWithMuchExcessIsEndedInsteadOfPaused() {
        let bench = reading(MachineBench { $0.excess = 1_500 })
        #expect(bench.read(3, 8_000..<8_100) == [.abort(1), .connect(2, .part(8_000..<10_000, forReader: true))])
        #expect(bench.head(2, .part(8_000..<10_000)) == [])
        _ = bench.received(2, 2_000)
        #expect(
            bench.ended(2, .complete) == [.connect(3, .part(100..<8_000))],
            "the gap is requested separately, with an end")
    }

    @Test func aReaderThatIsNearWaitsForTheStream() {
        let bench = reading()
        #expect(bench.read(3, 1_100..<1_200) == [.serving(1, true)])
        #expect(bench.read(4, 1_101..<1_200) == [.connect(2, .part(1_101..<10_000, forReader: true))])
    }

    @Test func aThirdReaderTakesTheConnectionThatServesNobody() {
        let bench = reading()
        _ = bench.read(3, 5_000..<5_100)
        _ = bench.head(2, .part(5_000..<10_000))
        let actions = bench.read(4, 8_000..<8_100)
        #expect(actions.contains(.connect(3, .part(8_000..<10_000, forReader: true))))
        #expect(actions.contains(.abort(1)))
        #expect(bench.read(5, 2_000..<2_010) == [], "both connections serve a reader")
        _ = bench.received(2, 100)
        #expect(bench.machine.has(3))
        #expect(bench.machine.has(4), "it has the place of the connection that became free")
        #expect(!bench.machine.has(2))
    }

    @Test func aConnectionBehindStopsWhereTheOtherBegan() {
        let bench = held()
        #expect(bench.read(2, 9_000..<9_100) == [.connect(2, .part(9_000..<10_000, forReader: true))])
        _ = bench.head(2, .part(9_000..<10_000))
        _ = bench.received(2, 1_000)
        _ = bench.ended(2, .complete)
        #expect(bench.machine.isFlowing(1), "the held response has become the one that fills")
        #expect(bench.machine.step(1) == .write(until: 9_000))
        #expect(bench.received(1, 9_000).last == .finish(generation: 1))
    }

    @Test func aFileWithAllBytesIsFinishedWithoutARequest() {
        let bench = MachineBench(pin: .pin(), present: ByteRanges(0..<10_000))
        #expect(bench.fill() == [.finish(generation: 1)])
    }

    @Test func aQueuedConnectionServesAReaderThatNeedsIt() {
        let bench = MachineBench()
        #expect(bench.fill() == [.connect(1, .whole())])
        #expect(bench.read(1, 0..<100) == [.serving(1, true)])
    }
}
