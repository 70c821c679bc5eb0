import Platform
import Testing

@testable import Transfers

// The effects of a refusal, a lost response and a pause.
extension UploadMachineTests {
    @Test(arguments: [408, 425, 429, 503]) func aPostThatIsTemporarilyRefusedIsRepeated(_ status: Int) {
        bench.post()
        #expect(bench.answer(status, ["retry-after": "30"]) == [.record(3, UploadResumeData())])
        #expect(bench.machine.deadline == bench.now + .seconds(30))
        #expect(bench.machine.taskState == .queued && bench.machine.error?.message == "the server answered \(status)")
        #expect(bench.tick() == [.record(4, UploadResumeData(step: .posting))])
        #expect(bench.recorded(4) == [.send(5, .post(UploadBench.url))])
    }

    @Test(arguments: [500, 502, 504, nil]) func aPostThatMayHaveSucceededIsInDoubt(_ status: Int?) {
        bench.post()
        #expect((status.map { bench.answer($0) } ?? bench.lost()) == [])
        #expect(bench.machine.resumeData.step == .posting)
        let message = status.map { "the server answered \($0)" } ?? "broken"
        #expect(bench.tick() == [.resolveDoubt(TransferError(.failed, message))])
        #expect(bench.machine.taskState == .running && bench.machine.deadline == nil)
    }

    @Test func onlyAPostThatDidNotArriveIsRepeated() {
        bench.doubt()
        _ = bench.resolve(.arrived(location: UploadBench.place))
        #expect(bench.machine.resumeData == UploadResumeData(step: .posted, location: UploadBench.place))
        #expect(bench.confirm() == [.send(bench.lastID, .options(UploadBench.place))])
        let other = UploadBench()
        other.doubt()
        #expect(other.resolve(.repeatable) == [.send(other.lastID, .post(UploadBench.url))])
    }

    @Test func aDoubtThatCannotBeResolvedNowIsResolvedLater() {
        bench.doubt()
        #expect(bench.resolve(.later(TransferError(.unreachable, "no route"), after: .seconds(60))) == [])
        #expect(bench.machine.deadline == bench.now + .seconds(60))
        #expect(bench.tick() == [.resolveDoubt(TransferError(.unreachable, "no route"))])
    }

    @Test func aDoubtThatCannotBeResolvedIsLeftToTheUser() {
        bench.doubt()
        let actions = bench.resolve(.unknown("it has no list"))
        #expect(bench.failure(of: actions)?.message.contains("(it has no list); check there") ?? false)
        // The machine posts again, since a user who resumes the upload is assumed to have checked the server's list.
        #expect(actions.first == .record(bench.lastID, UploadResumeData()))
        #expect(bench.resume() == [.record(bench.lastID, UploadResumeData(step: .posting))])
    }

    @Test func aFindingThatNobodyWaitsForIsIgnored() {
        bench.doubt()
        _ = bench.suspend()
        #expect(bench.resolve(.repeatable) == [])
        #expect(bench.machine.taskState == .suspended)
    }

    @Test func aPostInterruptedByARestartIsInDoubtAndIfRepeatedAConflictWaits() {
        let bench = UploadBench(UploadResumeData(step: .posting))
        #expect(bench.resume() == [.resolveDoubt(nil)])
        _ = bench.resolve(.repeatable)
        #expect(bench.answer(409) == [])
        #expect(bench.machine.taskState == .queued)
    }

    @Test(arguments: [301, 307, 308]) func aRedirectedPostThatConflictsFails(_ status: Int) {
        bench.post()
        _ = bench.answer(status, location: "https://a/videos")
        let actions = bench.answer(409)
        #expect(actions.first == .record(bench.lastID, UploadResumeData()))
        #expect(bench.failure(of: actions)?.message == "the server answered 409")
        #expect(bench.machine.taskState == .failed)
    }

    @Test(arguments: [
        (404, "list of videos"), (405, "list of videos"), (410, "list of videos"), (400, "this title"),
        (422, "this title"), (401, "user name and password"), (403, "does not allow"), (413, "too large"), (409, ""),
    ])
    func aRefusedPostFailsLeavesNothingAndNamesTheRemedy(_ status: Int, _ words: String) {
        bench.post()
        let actions = bench.answer(status)
        #expect(actions.first == .record(3, UploadResumeData()))
        let message = bench.failure(of: actions)?.message ?? ""
        #expect(message.hasPrefix("the server answered \(status)") && (words.isEmpty || message.contains(words)))
        #expect(bench.machine.taskState == .failed && bench.machine.deadline == nil)
    }

    @Test(arguments: [
        (401, TransferError.Code.refused), (403, .refused), (404, .missing), (410, .missing), (413, .failed),
    ])
    func refusedMediaFailPermanently(_ status: Int, _ code: TransferError.Code) {
        bench.put()
        #expect(bench.failure(of: bench.answer(status))?.code == code)
        #expect(bench.machine.deadline == nil)
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 507]) func mediaAreSentAgainAfterATemporaryFailure(_ status: Int) {
        bench.put()
        bench.sent(900)
        #expect(bench.answer(status, ["retry-after": "2"]) == [])
        #expect(bench.machine.deadline == bench.now + .seconds(2))
        #expect(bench.tick() == [.send(bench.lastID, .put(UploadBench.place))])
        #expect(bench.machine.sent == 0, "from the beginning")
    }

    /// If a server is down for a day, nothing is lost, and retries are rare.
    @Test(arguments: [false, true]) func aServerThatIsDownForADayGetsTheUploadInTheEnd(_ isPosted: Bool) {
        if isPosted { bench.put() } else { bench.post() }
        let back = bench.now + .seconds(86_400)
        var tries = 0
        while bench.now < back {
            #expect(bench.failure(of: bench.lost(wasSent: false)) == nil)
            tries += 1
            _ = bench.tick()
            if !isPosted { _ = bench.confirm() }
        }
        #expect(tries < 24 * 60, "\(tries) tries in a day")
        if !isPosted {
            _ = bench.answer(303, location: UploadBench.place)
            _ = bench.confirm()
            _ = bench.answer(404)
            _ = bench.confirm()
        }
        #expect(bench.answer(204) == [.completed])
    }

    @Test func aPermanentErrorFailsAtOnce() {
        bench.put()
        #expect(bench.failure(of: bench.lost(isTransient: false))?.message == "broken")
    }

    @Test func pausesGrowAndProgressResetsThem() {
        bench.put()
        for pause in [250, 500, 1_000] as [Int64] {
            _ = bench.lost()
            #expect(bench.machine.deadline == bench.now + .milliseconds(pause))
            _ = bench.tick()
        }
        bench.sent(10)
        _ = bench.lost()
        #expect(bench.machine.deadline == bench.now + .milliseconds(250))
        // Sending the same bytes again is not progress.
        _ = bench.tick()
        bench.sent(10)
        _ = bench.lost()
        #expect(bench.machine.deadline == bench.now + .milliseconds(500))
    }

    @Test func anUploadGivesUpInTheEndAndCanBeResumed() {
        let bench = UploadBench(.at(UploadBench.place), retry: RetryPolicy(giveUp: .seconds(1)))
        _ = bench.resume()
        #expect(bench.lost() == [])
        bench.pass(999)
        _ = bench.tick()
        #expect(bench.lost() == [], "the time to give up is not over")
        bench.pass(1)
        _ = bench.tick()
        #expect(bench.failure(of: bench.lost()) != nil)
        #expect(bench.resume() == [.send(bench.lastID, .options(UploadBench.place))])
        #expect(bench.lost() == [], "the time begins again")
    }

    @Test func aServerThatLosesBytesAgainAndAgainIsGivenUp() {
        let bench = UploadBench(retry: RetryPolicy(giveUp: .seconds(1)))
        bench.patch(from: 500)
        var failed = bench.lost()
        for offset in [0, 500, 0] {
            #expect(failed == [])
            _ = bench.tick()
            _ = bench.answer(200, ["upload-offset": "\(offset)"])
            _ = bench.confirm()
            failed = bench.lost()
        }
        #expect(bench.failure(of: failed)?.message == "broken")
    }

    /// All bytes were sent into the buffer of a proxy, and the server has stored more of them after each attempt.
    @Test func anUploadOfWhichTheServerStoresMoreEachTimeIsNotGivenUp() {
        let bench = UploadBench(retry: RetryPolicy(giveUp: .seconds(1)))
        bench.patch(from: 0)
        for step in 1...9 {
            bench.sent(1_000 - bench.machine.resumeData.offset)
            #expect(bench.lost() == [])
            bench.pass(1_000)
            _ = bench.tick()
            _ = bench.answer(200, ["upload-offset": "\(step * 100)"])
            _ = bench.confirm()
        }
    }

    @Test(arguments: [200, 204]) func aPostWithoutAMediaLocationFailsAndIsInDoubt(_ status: Int) {
        bench.post()
        #expect(bench.failure(of: bench.answer(status))?.code == .unusable)
        #expect(bench.resume().first.map { if case .resolveDoubt = $0 { true } else { false } } ?? false)
    }
}
