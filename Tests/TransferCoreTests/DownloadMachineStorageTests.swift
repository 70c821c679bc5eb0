import Platform
import Testing

@testable import Transfers

/// A download whose bytes do not fit on the disk or in the cache.
@Suite struct DownloadMachineStorageTests {
    private let full = TransferError(.diskFull, "no space left in the cache")

    @Test func aFullDiskSuspendsTheTaskAndAnswersReaders() {
        let bench = MachineBench.filling()
        _ = bench.read(7, 1_000..<1_100)
        #expect(bench.storageFailed(full) == [.abort(1), .answerRead(7, full), .storageFull(full)])
        #expect(bench.machine.state == .suspended)
        #expect(bench.machine.error == full)
        #expect(bench.machine.failure == nil)
        #expect(bench.machine.isFilling, "the task still exists")
        #expect(!bench.machine.isIdle, "the machine is still needed")
        #expect(bench.machine.deadline == nil, "nothing happens until there is space")
        #expect(bench.machine.present.text == "0-999")
    }

    @Test func onAFullDiskPresentBytesAreReadAndOthersRefused() {
        let bench = MachineBench.filling()
        _ = bench.storageFailed(full)
        #expect(bench.read(1, 0..<1_000) == [.answerRead(1, nil)])
        #expect(bench.read(2, 999..<1_001) == [.answerRead(2, full)])
        #expect(bench.open(3) == [.answerOpen(3, nil)], "its size is known")
        #expect(bench.tick() == [])
    }

    @Test func aFullDiskAnswersAnOpenThatWaits() {
        let bench = MachineBench()
        _ = bench.open(1)
        #expect(bench.storageIsFull(full) == [.abort(1), .answerOpen(1, full)])
        #expect(bench.open(2) == [.answerOpen(2, full)])
        #expect(bench.machine.state == .remote, "there is no task")
        #expect(bench.machine.error == nil)
        #expect(bench.machine.isIdle)
    }

    @Test(arguments: [false, true]) func theTaskContinuesWhereItStopped(isBackingOff: Bool) {
        let bench = MachineBench.filling()
        if isBackingOff { _ = bench.failed(1) }
        #expect(bench.storageIsFull(full) == (isBackingOff ? [] : [.abort(1)]))
        #expect(bench.machine.deadline == nil)
        #expect(bench.storageAvailable() == [.connect(2, .part(1_000..<10_000))])
        #expect(bench.machine.state == .queued)
        #expect(bench.machine.error?.message == (isBackingOff ? "broken" : nil))
        #expect(bench.storageAvailable() == [])
    }

    @Test func aFileWithoutSpaceIsCreatedLater() {
        let bench = MachineBench()
        _ = bench.fill()
        _ = bench.head(1, .whole())
        #expect(bench.machine.fileMissing(full, now: bench.now) == [.abort(1), .storageFull(full)])
        #expect(!bench.machine.hasFile)
        #expect(bench.storageAvailable() == [.connect(2, .whole(direct: true))])
        #expect(bench.head(2, .whole()) == [.createFile(generation: 1, .pin())])
    }

    @Test func aSuspendedTaskStaysSuspendedWhenThereIsSpace() {
        let bench = MachineBench.filling()
        _ = bench.suspend(true)
        #expect(bench.storageIsFull(full) == [])
        #expect(bench.machine.isIdle, "the owner stores a suspension by the user")
        #expect(bench.storageAvailable() == [])
        #expect(bench.machine.state == .suspended)
        #expect(bench.machine.error == nil)
        #expect(bench.suspend(false) == [.connect(2, .part(1_000..<10_000))])
    }

    @Test func resumingDoesNotMakeSpaceAndACancelledTaskNeedsNone() {
        let bench = MachineBench.filling()
        _ = bench.storageFailed(full)
        #expect(bench.suspend(true) == [] && bench.suspend(false) == [] && bench.retry() == [])
        #expect(bench.machine.state == .suspended)
        #expect(bench.cancel() == [])
        #expect(bench.machine.state == .remote && bench.machine.isIdle)
        #expect(bench.storageAvailable() == [])
    }

    @Test func aFileThatCannotBeFinishedIsFinishedLater() {
        let bench = MachineBench.filling()
        #expect(bench.received(1, 9_000).last == .finish(generation: 1))
        #expect(bench.storageIsFull(full) == [] && bench.awaitsSpace(full) == [] && bench.exceedsSpace(full) == [])
        #expect(bench.machine.state == .running, "it is being finished")
        #expect(bench.machine.finished(full, now: bench.now) == [.storageFull(full)])
        #expect(bench.machine.state == .suspended)
        #expect(bench.read(1, 0..<10_000) == [.answerRead(1, nil)])
        #expect(bench.storageAvailable() == [.finish(generation: 1)])
        #expect(bench.finished() == [])
        #expect(bench.machine.state == .cached)
    }

    @Test func aCachedFileNeedsNoSpace() {
        let bench = MachineBench(pin: .pin(), present: ByteRanges(0..<10_000), isCached: true)
        #expect(bench.storageIsFull(full) == [])
        #expect(bench.machine.storageFull == nil)
        #expect(bench.machine.state == .cached)
    }

    // MARK: Space for the whole file

    @Test func aTaskWithoutSpaceForTheWholeIsQueuedWithTheReason() {
        let bench = MachineBench.filling()
        #expect(bench.awaitsSpace(full) == [.abort(1)])
        #expect(bench.machine.state == .queued)
        #expect(bench.machine.error == full)
        #expect(bench.machine.isWaitingForSpace)
        #expect(bench.machine.deadline == nil && !bench.machine.isIdle)
        #expect(bench.fill() == [] && bench.retry() == [])
        #expect(bench.awaitsSpace(nil) == [.connect(2, .part(1_000..<10_000))])
        #expect(bench.machine.error == nil && !bench.machine.isWaitingForSpace)
    }

    @Test func aReaderIsServedWhileTheTaskWaitsForSpace() {
        let bench = MachineBench.filling()
        _ = bench.awaitsSpace(full)
        #expect(bench.open(6) == [.answerOpen(6, nil)])
        #expect(bench.read(7, 1_000..<1_100) == [.connect(2, .part(1_000..<10_000, forReader: true))])
        #expect(bench.head(2, .part(1_000..<10_000)) == [])
        #expect(bench.machine.state == .running && bench.machine.error == nil)
        #expect(bench.received(2, 100) == [.answerRead(7, nil), .serving(2, false), .hold(2)])
        #expect(bench.awaitsSpace(nil) == [.resume(2, forReader: false)])
    }

    @Test func aReaderWithoutATaskIsServedWithoutSpaceForTheWhole() {
        let bench = MachineBench()
        #expect(bench.awaitsSpace(full) == [])
        #expect(bench.open(1) == [.connect(1, .whole(forReader: true))])
    }

    @Test func aTooLargeFileFailsButIsServedToReaders() {
        let bench = MachineBench.filling()
        #expect(bench.exceedsSpace(full) == [.abort(1), .failed(full)])
        #expect(bench.machine.state == .failed && bench.machine.isIdle)
        #expect(bench.read(7, 1_000..<1_100) == [.connect(2, .part(1_000..<10_000, forReader: true))])
        #expect(bench.machine.failure == nil)
        #expect(bench.exceedsSpace(full) == [], "somebody reads it")
    }

    @Test func bytesLostOnDiskAreFetchedAgain() {
        let bench = MachineBench.filling()
        _ = bench.received(1, 9_000)
        let error = TransferError(.failed, "I/O error")
        #expect(bench.machine.lostStored(keeping: ByteRanges(0..<600), error, now: bench.now) == [.failed(error)])
        #expect(bench.machine.present.text == "0-599")
        #expect(bench.read(1, 600..<601) == [.answerRead(1, error)])
        #expect(bench.retry() == [.connect(2, .part(600..<10_000))])
    }

    @Test func aConnectionEndsWhenEarlierBytesAreLost() {
        let bench = MachineBench.filling()
        let actions = bench.machine.lostStored(keeping: ByteRanges(0..<600), full, now: bench.now)
        #expect(actions == [.abort(1), .storageFull(full)])
        #expect(bench.storageAvailable() == [.connect(2, .part(600..<10_000))])
    }
}
