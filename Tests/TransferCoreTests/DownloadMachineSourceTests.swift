import Platform
import Testing

@testable import Transfers

/// Downloads of a file that is available from several URLs (sources).
@Suite struct DownloadMachineSourceTests {
    private let missing = TransferError(.missing, "the server answered 404")

    private func bench(_ sources: Int, renews: Bool = false) -> MachineBench {
        let bench = MachineBench { $0.renewsAddress = renews }
        bench.machine.setSources(sources)
        return bench
    }

    private func whole(_ source: Int) -> Machine.ConnectRequest {
        Machine.ConnectRequest(
            offset: 0, end: nil, ranged: false, ifRange: nil, direct: false, forReader: false, source: source)
    }

    @Test(arguments: [401, 404, 410, 400, 451]) func theNextSourceIsRequestedAfterARefusal(status: Int) {
        let bench = bench(3)
        #expect(bench.fill() == [.connect(1, whole(0))])
        #expect(bench.head(1, MachineBench.status(status)) == [.abort(1), .connect(2, whole(1))])
        #expect(bench.machine.source == 1 && bench.machine.failure == nil)
        #expect(bench.head(2, MachineBench.status(404)) == [.abort(2), .connect(3, whole(2))])
        _ = bench.head(3, MachineBench.whole())
        #expect(bench.machine.state == .running)
    }

    @Test func anErrorPageLeadsToTheNextSource() {
        let bench = bench(2)
        _ = bench.fill()
        let page = ResponseHead(status: 200, fields: ["content-type": "text/html", "content-length": "500"])
        #expect(bench.head(1, page, content: .document(.webPage)) == [.abort(1), .connect(2, whole(1))])
    }

    @Test func afterTheLastSourceTheFirstRefusalIsReported() {
        let bench = bench(2)
        _ = bench.fill()
        _ = bench.head(1, MachineBench.status(404))
        #expect(bench.head(2, MachineBench.status(403)) == [.abort(2), .failed(missing)])
        #expect(bench.machine.source == 0)
        #expect(bench.retry() == [.connect(3, whole(0))])
    }

    @Test func aNewerAddressIsAskedForOnlyAfterTheLastSource() {
        let bench = bench(2, renews: true)
        _ = bench.fill()
        #expect(bench.head(1, MachineBench.status(404)) == [.abort(1), .connect(2, whole(1))])
        #expect(bench.head(2, MachineBench.status(410)) == [.abort(2), .renewAddress(missing)])
        bench.machine.setSources(1)
        #expect(bench.renewed(true) == [.connect(3, whole(0))])
    }

    @Test func bytesOfAnotherSourceAreCompared() {
        let bench = bench(2)
        _ = bench.fill()
        _ = bench.head(1, MachineBench.whole())
        _ = bench.received(1, 4_000)
        _ = bench.failed(1)
        _ = bench.tick()
        // Connection 2 requests the address to which the first source redirected, connection 3 the first source's own
        // address, and the last connection the address of the second source.
        _ = bench.head(2, MachineBench.status(410))
        let actions = bench.head(3, MachineBench.status(410))
        guard case .connect(let id, let request)? = actions.last else {
            Issue.record("\(actions)")
            return
        }
        #expect(request.source == 1 && request.offset == 3_500, "an overlap is compared")
        _ = bench.head(id, MachineBench.part(3_500..<10_000, tag: "\"other\""))
        #expect(bench.machine.step(id) == .compare(until: 4_000))
        #expect(bench.differs(id).contains(.abandonFile(generation: 1)))
    }

    @Test func aFileWithAnotherHashIsDroppedAndTheNextSourceTried() {
        let bench = bench(2)
        let differs = TransferError(.unusable, "its hash differs")
        _ = bench.fill()
        _ = bench.head(1, MachineBench.whole(1_000))
        #expect(bench.received(1, 1_000).contains(.finish(generation: 1)))
        #expect(
            bench.machine.mismatched(differs, now: bench.now) == [.abandonFile(generation: 1), .connect(2, whole(1))])
        #expect(bench.machine.present.isEmpty && bench.machine.generation == 2)
        _ = bench.head(2, MachineBench.whole(1_000))
        #expect(bench.received(2, 1_000).contains(.finish(generation: 2)))
        #expect(bench.machine.mismatched(differs, now: bench.now) == [.abandonFile(generation: 2), .failed(differs)])
        #expect(bench.machine.state == .failed)
        #expect(bench.machine.mismatched(differs, now: bench.now) == [], "the file is no longer being finished")
    }

    /// The file has changed so often that one more change would fail the download.
    @Test func aWrongHashDoesNotCountAsAChangeOfTheFile() {
        let bench = bench(2)
        _ = bench.fill()
        var connection = 1
        _ = bench.head(connection, MachineBench.whole(1_000))
        while bench.machine.generation <= bench.machine.limits.renewals {
            _ = bench.received(connection, 500)
            _ = bench.failed(connection)
            _ = bench.tick()
            connection += 1
            let tag = "\"v\(bench.machine.generation + 1)\""
            _ = bench.head(connection, MachineBench.whole(1_000, tag: tag))
        }
        #expect(bench.received(connection, 1_000).contains(.finish(generation: bench.machine.generation)))
        let differs = TransferError(.unusable, "its hash differs")
        #expect(bench.machine.mismatched(differs, now: bench.now).last == .connect(connection + 1, whole(1)))
        #expect(bench.machine.failure == nil)
    }

    @Test func twoRefusedConnectionsAdvanceTheSourceOnce() {
        let bench = bench(3)
        _ = bench.read(1, 0..<10)
        _ = bench.read(2, 8_000..<8_010)
        let first = bench.machine.connections.ids
        for id in first { _ = bench.head(id, MachineBench.status(404)) }
        #expect(bench.machine.source == 1)
    }
}
