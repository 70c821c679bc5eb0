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

    @Test(arguments: [401, 404, 410, 400, 451]) func theNextSourceIsRequestedAfterARefusal(status: Int) {
        let bench = bench(3)
        #expect(bench.fill() == [.connect(1, .whole())])
        #expect(bench.head(1, .status(status)) == [.abort(1), .connect(2, .whole(source: 1))])
        #expect(bench.machine.source == 1 && bench.machine.failure == nil)
        #expect(bench.head(2, .status(404)) == [.abort(2), .connect(3, .whole(source: 2))])
        _ = bench.head(3, .whole())
        #expect(bench.machine.state == .running)
    }

    @Test func afterTheLastSourceTheFirstRefusalIsReported() {
        let bench = bench(2)
        _ = bench.fill()
        _ = bench.head(1, .status(404))
        #expect(bench.head(2, .status(403)) == [.abort(2), .failed(missing)])
        #expect(bench.machine.source == 0)
        #expect(bench.retry() == [.connect(3, .whole())])
    }

    @Test func aNewerAddressIsAskedForOnlyAfterTheLastSource() {
        let bench = bench(2, renews: true)
        _ = bench.fill()
        #expect(bench.head(1, .status(404)) == [.abort(1), .connect(2, .whole(source: 1))])
        #expect(bench.head(2, .status(410)) == [.abort(2), .renewAddress(missing)])
        bench.machine.setSources(1)
        #expect(bench.renewed(true) == [.connect(3, .whole())])
    }

    /// The file has changed so often that one more change would fail the download.
    @Test func aWrongHashDoesNotCountAsAChangeOfTheFile() {
        let bench = bench(2)
        _ = bench.fill()
        var connection = 1
        _ = bench.head(connection, .whole(1_000))
        while bench.machine.generation <= bench.machine.limits.renewals {
            _ = bench.received(connection, 500)
            _ = bench.failed(connection)
            _ = bench.tick()
            connection += 1
            let tag = "\"v\(bench.machine.generation + 1)\""
            _ = bench.head(connection, .whole(1_000, tag: tag))
        }
        #expect(bench.received(connection, 1_000).contains(.finish(generation: bench.machine.generation)))
        let differs = TransferError(.unusable, "its hash differs")
        #expect(bench.machine.mismatched(differs, now: bench.now).last == .connect(connection + 1, .whole(source: 1)))
        #expect(bench.machine.failure == nil)
        #expect(bench.machine.mismatched(differs, now: bench.now) == [], "the file is no longer being finished")
    }

    @Test func twoRefusedConnectionsAdvanceTheSourceOnce() {
        let bench = bench(3)
        _ = bench.read(1, 0..<10)
        _ = bench.read(2, 8_000..<8_010)
        for id in bench.machine.connections.ids { _ = bench.head(id, .status(404)) }
        #expect(bench.machine.source == 1)
    }
}
