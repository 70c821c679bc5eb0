import Testing

@testable import Transfers

/// The rules that decide whether bytes of several responses belong to one version of the file (a generation).
@Suite struct DownloadMachineRenditionTests {
    private let changed = TransferError(.changed, "the file changed on the server")

    /// Returns a bench with a file of 10,000 bytes; the first `count` bytes are present.
    private func begun(_ count: Int64, _ validator: Validator? = MachineBench.tag, knowsDirect: Bool = true)
        -> MachineBench
    {
        MachineBench(
            pin: MachineBench.pin(10_000, validator), present: MachineBench.ranges(0..<count), knowsDirect: knowsDirect)
    }

    @Test func anotherTagBeginsAGenerationFromTheSameResponse() {
        let bench = begun(4_000)
        _ = bench.read(1, 4_000..<4_100)
        let pin = MachineBench.pin(9_000, .entityTag("\"v2\""))
        #expect(
            bench.head(1, MachineBench.whole(9_000, tag: "\"v2\"")) == [
                .abandonFile(generation: 1), .answerRead(1, changed), .confirmed(generation: 2, pin),
                .serving(1, false), .createFile(generation: 2, pin),
            ])
        #expect(bench.machine.generation == 2)
        #expect(bench.machine.present.isEmpty)
        #expect(bench.machine.step(1) == .write(until: 9_000))
        #expect(bench.read(2, 0..<10) == [.answerRead(2, changed)], "a reader of the old generation")
        #expect(bench.received(1, 9_000) == [.release(1), .finish(generation: 2)])
    }

    @Test func aStalePartBeginsAGenerationWithANewRequest() {
        let bench = begun(4_000)
        _ = bench.read(1, 4_000..<4_100)
        #expect(
            bench.head(1, MachineBench.part(4_000..<10_000, tag: "\"v2\"")) == [
                .abort(1), .abandonFile(generation: 1), .answerRead(1, changed),
                .connect(2, .whole(direct: true, forReader: false)),
            ])
    }

    @Test func withoutAValidatorTheOverlapIsCompared() {
        let bench = begun(4_000, nil)
        #expect(bench.fill() == [.connect(1, .part(3_500..<10_000, ifRange: nil, forReader: false))])
        #expect(bench.head(1, MachineBench.part(3_500..<10_000, tag: nil)) == [])
        #expect(bench.machine.step(1) == .compare(until: 4_000))
        bench.passed(1, 500)
        #expect(bench.machine.step(1) == .write(until: 10_000))
        #expect(bench.received(1, 6_000) == [.release(1), .finish(generation: 1)])
    }

    @Test func aValidatorIsAdoptedWhenTheOverlapAgrees() {
        let bench = begun(4_000, nil)
        _ = bench.fill()
        _ = bench.head(1, MachineBench.part(3_500..<10_000))
        #expect(bench.machine.pin?.validator == nil, "nothing has been compared")
        bench.passed(1, 500)
        _ = bench.received(1, 10)
        #expect(bench.machine.pin?.validator == MachineBench.tag)
    }

    @Test func anOverlapThatDiffersBeginsAGeneration() {
        let bench = begun(4_000, nil)
        _ = bench.read(1, 4_000..<4_100)
        _ = bench.head(1, MachineBench.part(3_500..<10_000, tag: nil))
        #expect(
            bench.differs(1) == [
                .abort(1), .abandonFile(generation: 1), .answerRead(1, changed),
                .connect(2, .whole(direct: true, forReader: false)),
            ])
        #expect(bench.machine.pin == nil)
    }

    @Test func bytesOfAnAddressThatIsResolvedAgainAreCompared() {
        let bench = begun(4_000, knowsDirect: false)
        #expect(bench.fill() == [.connect(1, .part(3_500..<10_000, direct: false, forReader: false))])
        #expect(bench.head(1, MachineBench.part(3_500..<10_000)) == [])
        #expect(bench.machine.step(1) == .compare(until: 4_000))
    }

    @Test func withoutAValidatorASeekWaitsForTheStream() {
        let bench = MachineBench()
        _ = bench.open(1)
        _ = bench.head(1, MachineBench.whole(tag: nil))
        _ = bench.read(2, 9_000..<9_100)
        #expect(bench.machine.has(1) && !bench.machine.has(2))
        #expect(bench.received(1, 8_000) == [])
        #expect(bench.received(1, 1_500).first == .answerRead(2, nil))
    }

    @Test func aFirstPartWithoutValidatorIsReplacedByTheWhole() {
        let bench = MachineBench()
        _ = bench.read(1, 9_000..<9_100)
        #expect(
            bench.head(1, MachineBench.part(9_000..<10_000, tag: nil)) == [
                .abort(1), .confirmed(generation: 1, MachineBench.pin(10_000, nil)),
                .connect(2, .whole(direct: false, forReader: true)),
            ])
    }

    @Test func aFirstPartWithValidatorIsAccepted() {
        let bench = MachineBench()
        _ = bench.read(1, 9_000..<9_100)
        #expect(
            bench.head(1, MachineBench.part(9_000..<10_000)) == [
                .confirmed(generation: 1, MachineBench.pin()), .createFile(generation: 1, MachineBench.pin()),
            ])
        #expect(bench.received(1, 100) == [.answerRead(1, nil), .serving(1, false)])
    }

    @Test func partsWithoutTheTagAreComparedFromThenOn() {
        let bench = begun(4_000)
        _ = bench.fill()
        #expect(
            bench.head(1, MachineBench.part(4_000..<10_000, tag: nil)) == [
                .abort(1), .connect(2, .part(3_500..<10_000, forReader: false)),
            ])
        #expect(bench.head(2, MachineBench.part(3_500..<10_000, tag: nil)) == [])
        #expect(bench.machine.step(2) == .compare(until: 4_000))
    }

    @Test func theWholeInPlaceOfAPartSkipsPresentBytes() {
        let bench = begun(4_000)
        _ = bench.read(1, 8_000..<8_100)
        #expect(bench.head(1, MachineBench.whole()) == [])
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
        _ = bench.head(1, MachineBench.whole())
        _ = bench.read(2, 0..<2_000)
        _ = bench.received(1, 2_000)
        _ = bench.read(3, 9_000..<9_100)
        #expect(bench.machine.step(1) == .write(until: 9_000))
        #expect(bench.head(2, MachineBench.whole()) == [.abort(2), .serving(1, true), .resume(1, forReader: true)])
        #expect(bench.machine.step(1) == .write(until: 10_000))
    }

    @Test func aSizeThatTurnsOutWrongBeginsAGeneration() {
        let bench = MachineBench(pin: MachineBench.pin(5_000, nil))
        _ = bench.open(1)
        _ = bench.read(2, 0..<100)
        #expect(
            bench.head(1, MachineBench.whole()).prefix(2) == [
                .answerRead(2, changed), .confirmed(generation: 2, MachineBench.pin()),
            ])
    }

    @Test func aRangeErrorConfirmsACompleteFile() {
        let bench = MachineBench(pin: MachineBench.pin(nil), present: MachineBench.ranges(0..<4_000), knowsDirect: true)
        #expect(
            bench.fill() == [
                .connect(
                    1,
                    Machine.ConnectRequest(
                        offset: 4_000, end: nil, ranged: true, ifRange: MachineBench.tag, direct: true,
                        forReader: false))
            ])
        #expect(
            bench.head(1, MachineBench.status(416, ["content-range": "bytes */4000"])) == [
                .abort(1), .confirmed(generation: 1, MachineBench.pin(4_000)), .finish(generation: 1),
            ])
    }

    @Test func aRangeErrorForAnIncompleteFileBeginsAGeneration() {
        let bench = begun(4_000)
        _ = bench.read(1, 4_000..<4_100)
        #expect(
            bench.head(1, MachineBench.status(416, ["content-range": "bytes */10000"])) == [
                .abort(1), .abandonFile(generation: 1), .answerRead(1, changed),
                .connect(2, .whole(direct: true, forReader: false)),
            ])
    }

    @Test func aFirstReadBeyondTheEndFindsTheEnd() {
        let bench = MachineBench()
        _ = bench.read(1, 5_000..<5_100)
        let pin = Pin(total: 3_000, validator: nil)
        #expect(
            bench.head(1, MachineBench.status(416, ["content-range": "bytes */3000"])).prefix(3) == [
                .abort(1), .confirmed(generation: 1, pin), .answerRead(1, nil),
            ])
    }

    @Test func aServerThatKeepsChangingTheFileIsGivenUp() {
        let bench = MachineBench()
        _ = bench.fill()
        var connection = 1
        for version in 1...5 {
            _ = bench.head(connection, MachineBench.whole(tag: "\"v\(version)\""))
            _ = bench.received(connection, Int64(10 * version))
            #expect(bench.machine.failure == nil)
            _ = bench.failed(connection)
            _ = bench.tick()
            connection += 1
        }
        #expect(bench.machine.generation == 5)
        let actions = bench.head(connection, MachineBench.whole(tag: "\"v6\""))
        #expect(bench.machine.failure?.code == .unusable)
        #expect(actions.contains(.abort(connection)))
        #expect(bench.machine.state == .failed)
    }

    @Test func aShortPartIsFollowedByTheNext() {
        let bench = begun(4_000)
        _ = bench.fill()
        #expect(bench.head(1, MachineBench.part(4_000..<5_000)) == [])
        _ = bench.received(1, 1_000)
        #expect(bench.ended(1, .complete) == [.connect(2, .part(5_000..<10_000, forReader: false))])
    }

    @Test func aPartOfAnUnknownTotalIsNotTheEnd() {
        let bench = MachineBench(pin: MachineBench.pin(nil), present: MachineBench.ranges(0..<4_000), knowsDirect: true)
        _ = bench.fill()
        _ = bench.head(1, MachineBench.part(4_000..<5_000, of: nil))
        _ = bench.received(1, 1_000)
        guard case .connect(2, let request)? = bench.ended(1, .complete).last else {
            Issue.record("it stopped after a part")
            return
        }
        #expect(request.offset == 5_000)
    }
}
