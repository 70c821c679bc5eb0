import Testing

@testable import Transfers

/// The rules that decide whether bytes of several responses belong to one version of the file (a generation).
@Suite struct DownloadMachineRenditionTests {
    private let changed = TransferError(.changed, "the file changed on the server")

    /// Returns a bench with a file of 10,000 bytes; the first 4,000 are present.
    private func begun(_ validator: Validator? = .v1, total: Int64? = 10_000, knowsDirect: Bool = true) -> MachineBench
    {
        MachineBench(pin: .pin(total, validator), present: ByteRanges(0..<4_000), knowsDirect: knowsDirect)
    }

    @Test func anotherTagBeginsAGenerationFromTheSameResponse() {
        let bench = begun()
        _ = bench.read(1, 4_000..<4_100)
        let pin = Pin.pin(9_000, .entityTag("\"v2\""))
        #expect(
            bench.head(1, .whole(9_000, tag: "\"v2\"")) == [
                .abandonFile(generation: 1), .answerRead(1, changed), .confirmed(generation: 2, pin),
                .serving(1, false), .createFile(generation: 2, pin),
            ])
        #expect(bench.machine.generation == 2)
        #expect(bench.machine.present.isEmpty)
        #expect(bench.machine.step(1) == .write(until: 9_000))
        #expect(bench.read(2, 0..<10) == [.answerRead(2, changed)], "a reader of the old generation")
        #expect(bench.received(1, 9_000) == [.release(1), .finish(generation: 2)])
    }

    @Test(arguments: [
        ResponseHead.part(4_000..<10_000, tag: "\"v2\""), .status(416, ["content-range": "bytes */10000"]),
    ])
    func aStalePartOrARangeErrorBeginsAGenerationWithANewRequest(head: ResponseHead) {
        let bench = begun()
        _ = bench.read(1, 4_000..<4_100)
        #expect(
            bench.head(1, head) == [
                .abort(1), .abandonFile(generation: 1), .answerRead(1, changed), .connect(2, .whole(direct: true)),
            ])
    }

    @Test func withoutAValidatorTheOverlapIsCompared() {
        let bench = begun(nil)
        #expect(bench.fill() == [.connect(1, .part(3_500..<10_000, ifRange: nil))])
        #expect(bench.head(1, .part(3_500..<10_000, tag: nil)) == [])
        #expect(bench.machine.step(1) == .compare(until: 4_000))
        bench.passed(1, 500)
        #expect(bench.machine.step(1) == .write(until: 10_000))
        #expect(bench.received(1, 6_000) == [.release(1), .finish(generation: 1)])
    }

    @Test func aValidatorIsAdoptedWhenTheOverlapAgrees() {
        let bench = begun(nil)
        _ = bench.fill()
        _ = bench.head(1, .part(3_500..<10_000))
        #expect(bench.machine.pin?.validator == nil, "nothing has been compared")
        bench.passed(1, 500)
        _ = bench.received(1, 10)
        #expect(bench.machine.pin?.validator == .v1)
    }

    @Test func anOverlapThatDiffersBeginsAGeneration() {
        let bench = begun(nil)
        _ = bench.read(1, 4_000..<4_100)
        _ = bench.head(1, .part(3_500..<10_000, tag: nil))
        #expect(
            bench.differs(1) == [
                .abort(1), .abandonFile(generation: 1), .answerRead(1, changed),
                .connect(2, .whole(direct: true)),
            ])
        #expect(bench.machine.pin == nil)
    }

    @Test func bytesOfAnAddressThatIsResolvedAgainAreCompared() {
        let bench = begun(knowsDirect: false)
        #expect(bench.fill() == [.connect(1, .part(3_500..<10_000, direct: false))])
        #expect(bench.head(1, .part(3_500..<10_000)) == [])
        #expect(bench.machine.step(1) == .compare(until: 4_000))
    }

    @Test func withoutAValidatorASeekWaitsForTheStream() {
        let bench = MachineBench()
        _ = bench.open(1)
        _ = bench.head(1, .whole(tag: nil))
        _ = bench.read(2, 9_000..<9_100)
        #expect(bench.machine.has(1) && !bench.machine.has(2))
        #expect(bench.received(1, 8_000) == [])
        #expect(bench.received(1, 1_500).first == .answerRead(2, nil))
    }

    @Test func aFirstPartWithoutValidatorIsReplacedByTheWhole() {
        let bench = MachineBench()
        _ = bench.read(1, 9_000..<9_100)
        #expect(
            bench.head(1, .part(9_000..<10_000, tag: nil)) == [
                .abort(1), .confirmed(generation: 1, .pin(10_000, nil)),
                .connect(2, .whole(forReader: true)),
            ])
    }

    @Test func aFirstPartWithValidatorIsAccepted() {
        let bench = MachineBench()
        _ = bench.read(1, 9_000..<9_100)
        let actions = bench.head(1, .part(9_000..<10_000))
        #expect(actions == [.confirmed(generation: 1, .pin()), .createFile(generation: 1, .pin())])
        #expect(bench.received(1, 100) == [.answerRead(1, nil), .serving(1, false)])
    }

    @Test func partsWithoutTheTagAreComparedFromThenOn() {
        let bench = begun()
        _ = bench.fill()
        #expect(bench.head(1, .part(4_000..<10_000, tag: nil)) == [.abort(1), .connect(2, .part(3_500..<10_000))])
        #expect(bench.head(2, .part(3_500..<10_000, tag: nil)) == [])
        #expect(bench.machine.step(2) == .compare(until: 4_000))
    }

    @Test func theWholeInPlaceOfAPartSkipsPresentBytes() {
        let bench = begun()
        _ = bench.read(1, 8_000..<8_100)
        #expect(bench.head(1, .whole()) == [])
        #expect(bench.machine.step(1) == .skip(until: 4_000))
        bench.passed(1, 4_000)
        #expect(bench.machine.step(1) == .write(until: 10_000))
        _ = bench.received(1, 1_000)
        #expect(bench.read(2, 9_900..<10_000) == [], "there are no ranges: it waits for the one stream")
        #expect(bench.received(1, 5_000).last == .finish(generation: 1))
    }

    @Test func theStreamIsKeptWhenASeekShowsThatThereAreNoRanges() {
        let bench = MachineBench()
        _ = bench.open(1)
        _ = bench.head(1, .whole())
        _ = bench.read(2, 0..<2_000)
        _ = bench.received(1, 2_000)
        _ = bench.read(3, 9_000..<9_100)
        #expect(bench.machine.step(1) == .write(until: 9_000))
        #expect(bench.head(2, .whole()) == [.abort(2), .serving(1, true), .resume(1, forReader: true)])
        #expect(bench.machine.step(1) == .write(until: 10_000))
    }

    @Test func aSizeThatTurnsOutWrongBeginsAGeneration() {
        let bench = MachineBench(pin: .pin(5_000, nil))
        _ = bench.open(1)
        _ = bench.read(2, 0..<100)
        #expect(bench.head(1, .whole()).prefix(2) == [.answerRead(2, changed), .confirmed(generation: 2, .pin())])
    }

    @Test func aRangeErrorConfirmsACompleteFile() {
        let bench = begun(total: nil)
        #expect(bench.fill() == [.connect(1, .part(from: 4_000))])
        let actions = bench.head(1, .status(416, ["content-range": "bytes */4000"]))
        #expect(actions == [.abort(1), .confirmed(generation: 1, .pin(4_000)), .finish(generation: 1)])
    }

    @Test func aFirstReadBeyondTheEndFindsTheEnd() {
        let bench = MachineBench()
        _ = bench.read(1, 5_000..<5_100)
        let pin = Pin(total: 3_000, validator: nil)
        let actions = bench.head(1, .status(416, ["content-range": "bytes */3000"])).prefix(3)
        #expect(actions == [.abort(1), .confirmed(generation: 1, pin), .answerRead(1, nil)])
    }

    @Test func aServerThatKeepsChangingTheFileIsGivenUp() {
        let bench = MachineBench()
        _ = bench.fill()
        var connection = 1
        for version in 1...5 {
            _ = bench.head(connection, .whole(tag: "\"v\(version)\""))
            _ = bench.received(connection, Int64(10 * version))
            #expect(bench.machine.failure == nil)
            _ = bench.failed(connection)
            _ = bench.tick()
            connection += 1
        }
        #expect(bench.machine.generation == 5)
        let actions = bench.head(connection, .whole(tag: "\"v6\""))
        #expect(bench.machine.failure?.code == .unusable)
        #expect(actions.contains(.abort(connection)))
        #expect(bench.machine.state == .failed)
    }

    @Test func aShortPartIsFollowedByTheNext() {
        let bench = begun()
        _ = bench.fill()
        #expect(bench.head(1, .part(4_000..<5_000)) == [])
        _ = bench.received(1, 1_000)
        #expect(bench.ended(1, .complete) == [.connect(2, .part(5_000..<10_000))])
    }

    @Test func aPartOfAnUnknownTotalIsNotTheEnd() {
        let bench = begun(total: nil)
        _ = bench.fill()
        _ = bench.head(1, .part(4_000..<5_000, of: nil))
        _ = bench.received(1, 1_000)
        #expect(bench.ended(1, .complete).last == .connect(2, .part(from: 5_000)))
    }
}
