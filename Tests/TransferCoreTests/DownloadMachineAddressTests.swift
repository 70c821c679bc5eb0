import Platform
import Testing

@testable import Transfers

/// Download URLs that expire: the machine asks its owner for a newer URL of the same file (`renewAddress`).
@Suite struct DownloadMachineAddressTests {
    private let missing = TransferError(.missing, "the server answered 404")

    private func bench() -> MachineBench { MachineBench { $0.renewsAddress = true } }

    /// Returns a bench whose task waits for a newer URL. The server sent 1,000 bytes, then the connection failed, and
    /// the server refused both attempts to resume.
    private func refused() -> MachineBench {
        let bench = MachineBench.filling { $0.renewsAddress = true }
        _ = bench.failed(1)
        _ = bench.tick()
        let unresolved = Machine.ConnectRequest.part(500..<10_000, direct: false)
        #expect(bench.head(2, .status(404)) == [.abort(2), .connect(3, unresolved)])
        _ = bench.head(3, .status(404))
        return bench
    }

    @Test(arguments: [401, 403, 404, 410]) func theOwnerIsAskedForANewerAddress(status: Int) {
        let bench = bench()
        _ = bench.fill()
        let error = TransferError(status < 404 ? .refused : .missing, "the server answered \(status)")
        #expect(bench.head(1, .status(status)) == [.abort(1), .renewAddress(error)])
        #expect(bench.machine.state == .queued)
        #expect(bench.machine.failure == nil)
        #expect(!bench.machine.isIdle)
    }

    @Test(arguments: [400, 406, 451]) func otherRefusalsAreFailuresAtOnce(status: Int) {
        let bench = bench()
        _ = bench.fill()
        let error = TransferError(.failed, "the server answered \(status)")
        #expect(bench.head(1, .status(status)) == [.abort(1), .failed(error)])
    }

    @Test func bytesFromANewAddressAreCompared() {
        let bench = refused()
        #expect(bench.renewed(true) == [.connect(4, .part(500..<10_000, direct: false))])
        #expect(bench.head(4, .part(500..<10_000)) == [])
        #expect(bench.machine.step(4) == .compare(until: 1_000))
        #expect(bench.differs(4).prefix(2) == [.abort(4), .abandonFile(generation: 1)])
        #expect(bench.machine.generation == 2)
    }

    @Test func aSeekAtANewAddressWaitsForTheComparison() {
        let bench = refused()
        _ = bench.read(1, 8_000..<8_100)
        #expect(bench.renewed(true) == [.connect(4, .part(500..<10_000, direct: false, forReader: true))])
        _ = bench.head(4, .part(500..<10_000))
        bench.passed(4, 500)
        let actions = bench.received(4, 1)
        #expect(actions == [.connect(5, .part(8_000..<10_000, forReader: true)), .serving(4, false), .pause(4)])
    }

    @Test func aReaderWaitsForANewerAddress() {
        let bench = refused()
        #expect(bench.read(1, 1_000..<1_100) == [])
        #expect(bench.read(2, 0..<1_000) == [.answerRead(2, nil)])
        #expect(bench.tick() == [.answerRead(1, TransferError(.timedOut, "nothing arrived for 60 s: broken"))])
        #expect(bench.read(3, 1_000..<1_100) == [])
        #expect(bench.renewed(true) == [.connect(4, .part(500..<10_000, direct: false, forReader: true))])
        _ = bench.head(4, .part(500..<10_000))
        bench.passed(4, 500)
        #expect(bench.received(4, 100) == [.answerRead(3, nil), .serving(4, false)])
    }

    @Test func anOpenWaitsForANewerAddress() {
        let bench = bench()
        _ = bench.open(1)
        #expect(bench.head(1, .status(404)) == [.abort(1), .renewAddress(missing)])
        #expect(bench.open(2) == [])
        #expect(bench.renewed(false) == [.failed(missing), .answerOpen(1, missing), .answerOpen(2, missing)])
    }

    @Test func anOpenThatGivesUpLeavesNothingBehind() {
        let bench = bench()
        _ = bench.open(1)
        _ = bench.head(1, .status(404))
        #expect(bench.cancelWait(1) == [])
        #expect(bench.machine.isIdle)
        #expect(bench.machine.deadline == nil)
        #expect(bench.renewed(false) == [])
        #expect(bench.machine.failure == nil)
    }

    @Test func theOwnerIsAskedAtMostOnceAMinute() {
        let bench = refused()
        _ = bench.renewed(true)
        bench.pass(59_999)
        #expect(bench.head(4, .status(404)) == [.abort(4), .failed(missing)])
        bench.pass(1)
        #expect(bench.retry() == [.connect(5, .part(500..<10_000, direct: false))])
        #expect(bench.head(5, .status(404)) == [.abort(5), .renewAddress(missing)])
    }

    @Test func withoutANewerAddressTheFailureStands() {
        let bench = refused()
        #expect(bench.retry() == [], "it waits for the owner")
        #expect(bench.machine.state == .queued)
        #expect(bench.renewed(false) == [.failed(missing)])
        #expect(bench.machine.state == .failed)
        #expect(bench.machine.error == missing)
    }

    @Test func theWaitForTheOwnerIsBounded() {
        let bench = refused()
        #expect(bench.machine.deadline == bench.now + .seconds(660))
        #expect(bench.tick() == [.failed(missing)])
        #expect(bench.renewed(true) == [.connect(4, .part(500..<10_000, direct: false))])
    }

    @Test func aCancelledTaskDoesNotWaitForANewerAddress() {
        let bench = refused()
        #expect(bench.cancel() == [])
        #expect(bench.machine.isIdle)
        #expect(bench.renewed(false) == [])
        #expect(bench.machine.state == .remote)
    }

    @Test(arguments: [false, true]) func aChangedAddressIsTriedAtOnce(hasFailed: Bool) {
        let bench = refused()
        if hasFailed { _ = bench.renewed(false) }
        let request = Machine.ConnectRequest.part(500..<10_000, direct: false)
        #expect(bench.machine.addressChanged(now: bench.now) == [.connect(4, request)])
        #expect(bench.machine.failure == nil)
    }

    @Test func aChangedAddressDoesNotInterruptAConnection() {
        let bench = MachineBench.filling { $0.renewsAddress = true }
        #expect(bench.machine.addressChanged(now: bench.now) == [])
        _ = bench.failed(1)
        #expect(bench.tick() == [.connect(2, .part(1_000..<10_000))], "its final address still answers")
    }
}
