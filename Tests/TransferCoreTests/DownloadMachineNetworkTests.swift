import Platform
import Testing

@testable import Transfers

/// Changes of this computer's network while a file is read.
@Suite struct DownloadMachineNetworkTests {
    /// Returns a bench with a reader that waits for the next bytes of connection 1, which was opened through redirects.
    private func playing() -> MachineBench {
        let bench = MachineBench()
        _ = bench.open(1)
        _ = bench.head(1, .whole())
        _ = bench.read(2, 0..<1_000)
        _ = bench.received(1, 1_000)
        _ = bench.read(3, 1_000..<2_000)
        return bench
    }

    private func changed(_ bench: MachineBench, lost: Set<Int> = [], isBack: Bool = false) -> [Machine.Action] {
        bench.machine.networkChanged(lost: lost, isBack: isBack, now: bench.now)
    }

    @Test func aConnectionWhoseAddressIsGoneIsReplacedAtOnce() {
        let bench = playing()
        #expect(changed(bench, lost: [1]) == [.abort(1), .connect(2, .part(1_000..<10_000, forReader: true))])
    }

    @Test func aConnectionThatWasSilentIsReplacedWhenTheNetworkIsBack() {
        let bench = playing()
        bench.pass(500)
        #expect(changed(bench, isBack: true) == [], "it may still be alive")
        bench.pass(500)
        #expect(changed(bench) == [])
        #expect(changed(bench, isBack: true) == [.abort(1), .connect(2, .part(1_000..<10_000, forReader: true))])
    }

    @Test(arguments: [TransferError.Code.unreachable, .timedOut])
    func theDelayOfARetryEndsWhenTheNetworkIsBack(_ outage: TransferError.Code) {
        let bench = playing()
        #expect(bench.machine.connectTimeout == bench.machine.limits.stall)
        var connection = 1
        for _ in 1...6 {
            _ = bench.failed(connection, outage)
            #expect(bench.machine.connectTimeout == bench.machine.limits.outageConnect)
            #expect(bench.machine.deadline.map { $0 - bench.now <= .seconds(2) } == true, "a reader waits")
            _ = bench.tick()
            connection += 1
        }
        _ = bench.failed(connection, outage)
        #expect(changed(bench, isBack: true).count == 1)
        #expect(bench.machine.has(connection + 1))
        _ = bench.failed(connection + 1, .unreachable)
        #expect(bench.machine.deadline == bench.now + .milliseconds(250), "the delays start again")
    }

    @Test func aServersDelayIsKept() {
        let bench = playing()
        _ = bench.failed(1)
        _ = bench.tick()
        _ = bench.head(2, .status(503, ["retry-after": "30"]))
        #expect(changed(bench, isBack: true) == [])
        #expect(bench.machine.deadline == bench.now + .seconds(30))
    }

    /// The redirects may lead through trackers, which must count a play only once. So the final address is requested
    /// first after an outage, whether the system reported the outage or packets were dropped silently.
    @Test(arguments: [TransferError.Code.unreachable, .timedOut])
    func theRedirectsAreNotRequestedAgainAfterAnOutage(_ outage: TransferError.Code) {
        let bench = playing()
        var isDirect: [Bool] = []
        var connection = 1
        func note(_ actions: [Machine.Action]) {
            for case .connect(let id, let request) in actions {
                isDirect.append(request.direct)
                connection = id
            }
        }
        note(changed(bench, lost: [1]))
        for _ in 1...4 {
            _ = bench.failed(connection, outage)
            note(bench.tick())
        }
        #expect(isDirect == [true, false, true, false, true])
        _ = bench.failed(connection, outage)
        note(changed(bench, isBack: true))
        #expect(isDirect.last == true)
        // The server was reached and refuses the address. The redirects are requested again, because they may lead to
        // another address now.
        note(bench.head(connection, .status(403)))
        #expect(isDirect.last == false)
    }

    @Test func anIdleFileStaysIdle() {
        let bench = MachineBench()
        #expect(changed(bench, lost: [7], isBack: true) == [])
        #expect(bench.machine.isIdle)
    }
}
