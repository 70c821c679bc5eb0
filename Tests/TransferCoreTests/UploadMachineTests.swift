import Testing

@testable import TransferCore

/// Each step of an upload: what is asked of the server, and what its answers lead to.
@Suite struct UploadMachineTests {
    private let bench = UploadBench()

    // MARK: States

    @Test func anUploadWaitsUntilItIsResumed() {
        #expect(bench.machine.people == .suspended)
        #expect(bench.machine.deadline == nil && bench.machine.isIdle)
    }

    @Test func aPostIsWrittenDownBeforeItIsSent() {
        #expect(bench.resume() == [.record(1, UploadResumeData(step: .posting))])
        #expect(bench.machine.people == .running)
        #expect(bench.recorded(1) == [.send(2, .post(UploadBench.url))])
        #expect(bench.machine.people == .queued, "it waits for its turn")
        bench.began(2)
        #expect(bench.machine.people == .running)
    }

    @Test func anotherRecordIsNoAnswer() {
        _ = bench.resume()
        #expect(bench.recorded(7) == [])
        #expect(bench.recorded(1) == [.send(2, .post(UploadBench.url))])
        #expect(bench.recorded(1) == [], "once")
    }

    @Test(arguments: [201, 302, 303]) func theAnswerToThePostNamesThePlaceOfTheMedia(_ status: Int) {
        bench.post()
        let posted = UploadResumeData(step: .posted, location: UploadBench.place)
        #expect(bench.answer(status, location: UploadBench.place) == [.record(3, posted)])
        #expect(bench.recorded(3) == [.send(4, .options(UploadBench.place))])
    }

    @Test func aPlaceWithoutTusGetsAllOfTheFile() {
        bench.reachMedia()
        let known = UploadResumeData(step: .posted, location: UploadBench.place, speaksTus: false)
        #expect(bench.answer(405) == [.record(bench.lastID, known)])
        #expect(bench.confirm() == [.send(bench.lastID, .put(UploadBench.place))])
        bench.began(bench.lastID)
        bench.sent(400)
        #expect(bench.machine.sent == 400)
        #expect(bench.answer(204) == [.completed])
        #expect(bench.machine.people == .completed && bench.machine.sent == 1_000 && bench.machine.isIdle)
    }

    @Test(arguments: [200, 201, 202, 204, 303]) func aPutIsDoneWhenTheServerSaysSo(_ status: Int) {
        bench.put()
        #expect(bench.answer(status, location: status == 303 ? UploadBench.url : nil) == [.completed])
    }

    // MARK: tus

    @Test func aPlaceWithTusIsAskedHowMuchItHolds() {
        bench.reachMedia()
        _ = bench.answer(204, ["tus-version": "0.2.2, 1.0.0"])
        #expect(bench.machine.resumeData.speaksTus == true)
        #expect(bench.confirm() == [.send(bench.lastID, .head(UploadBench.place))])
        #expect(bench.answer(200, ["upload-offset": "300", "upload-length": "1000"]).count == 1)
        #expect(bench.machine.resumeData.offset == 300)
        #expect(bench.confirm() == [.send(bench.lastID, .patch(UploadBench.place, offset: 300))])
        bench.sent(200)
        #expect(bench.machine.sent == 500)
        #expect(bench.answer(204, ["upload-offset": "1000"]) == [.completed])
    }

    @Test func anAnswerToThePostThatNamesTusSparesAQuestion() {
        bench.post()
        _ = bench.answer(201, ["tus-resumable": "1.0.0"], location: UploadBench.place)
        #expect(bench.confirm() == [.send(bench.lastID, .head(UploadBench.place))])
    }

    @Test func anotherVersionOfTusIsNone() {
        bench.reachMedia()
        _ = bench.answer(204, ["tus-version": "0.2.2,2.0.0"])
        #expect(bench.confirm() == [.send(bench.lastID, .put(UploadBench.place))])
    }

    @Test(arguments: [
        (["upload-defer-length": "1"], true), (["upload-length": "1000"], false), ([:], false),
        (["upload-defer-length": "1", "upload-length": "1000"], false),
    ])
    func aServerThatDoesNotKnowTheLengthIsToldIt(_ fields: [String: String], _ isTold: Bool) {
        bench.head()
        _ = bench.answer(200, fields.merging(["upload-offset": "100"]) { old, _ in old })
        _ = bench.confirm()
        #expect(bench.machine.namesLength == isTold)
        _ = bench.answer(204, ["upload-offset": "500"])
        #expect(!bench.machine.namesLength, "once")
    }

    @Test func aServerThatHasAllAndWaitsForTheLengthIsToldIt() {
        bench.head()
        let actions = bench.answer(200, ["upload-offset": "1000", "upload-defer-length": "1"])
        #expect(!actions.contains(.completed))
        #expect(bench.confirm() == [.send(bench.lastID, .patch(UploadBench.place, offset: 1_000))])
        #expect(bench.answer(204, ["upload-offset": "1000"]) == [.completed])
    }

    @Test func whatBrokeOffGoesOnWhereTheServerSaysItStopped() {
        bench.patch(from: 0)
        bench.sent(700)
        #expect(bench.lost() == [])
        #expect(bench.tick() == [.send(bench.lastID, .head(UploadBench.place))])
        _ = bench.answer(200, ["upload-offset": "650"])
        #expect(bench.confirm() == [.send(bench.lastID, .patch(UploadBench.place, offset: 650))])
        #expect(bench.machine.sent == 650)
    }

    @Test func anAnswerThatWasLostAfterTheLastByteIsFoundByAsking() {
        bench.patch(from: 0)
        _ = bench.lost()
        _ = bench.tick()
        #expect(bench.answer(200, ["upload-offset": "1000", "upload-length": "1000"]) == [.completed])
    }

    @Test func aServerThatTakesPiecesGetsTheNext() {
        bench.patch(from: 0)
        _ = bench.answer(204, ["upload-offset": "400"])
        #expect(bench.confirm() == [.send(bench.lastID, .patch(UploadBench.place, offset: 400))])
    }

    @Test(arguments: [409, 423]) func aPlaceThatIsBusyIsAskedAgain(_ status: Int) {
        bench.patch(from: 0)
        #expect(bench.answer(status) == [])
        #expect(bench.tick() == [.send(bench.lastID, .head(UploadBench.place))])
    }

    @Test(arguments: [[:], ["upload-offset": "0"], ["upload-offset": "1001"], ["upload-offset": "x"]])
    func anAnswerToAPieceThatMakesNoSenseIsChecked(_ fields: [String: String]) {
        bench.patch(from: 0)
        #expect(bench.answer(204, fields) == [])
        #expect(bench.machine.deadline != nil, "not at once: it would be asked for ever")
        #expect(bench.tick() == [.send(bench.lastID, .head(UploadBench.place))])
    }

    @Test func aPlaceThatHoldsMoreThanThereIsFails() {
        bench.head()
        #expect(bench.failure(of: bench.answer(200, ["upload-offset": "1001"]))?.code == .unusable)
    }

    @Test func aPlaceThatExpectsAnotherSizeFails() {
        bench.head()
        let actions = bench.answer(200, ["upload-offset": "0", "upload-length": "999"])
        #expect(bench.failure(of: actions)?.message == "the server expects 999 bytes of a file of 1000")
    }

    @Test(arguments: [200, 405, 501]) func aPlaceThatSpeaksNoTusAfterAllGetsAll(_ status: Int) {
        bench.head()
        _ = bench.answer(status)
        #expect(bench.confirm() == [.send(bench.lastID, .put(UploadBench.place))])
        #expect(bench.machine.resumeData.speaksTus == false)
    }

    // MARK: Failures

    @Test(arguments: [408, 425, 429, 503]) func aServerThatHasNotDoneItIsPostedToAgain(_ status: Int) {
        bench.post()
        #expect(bench.answer(status) == [.record(3, UploadResumeData())])
        #expect(bench.machine.people == .queued && bench.machine.error?.message == "the server answered \(status)")
        #expect(bench.tick() == [.record(4, UploadResumeData(step: .posting))])
        #expect(bench.recorded(4) == [.send(5, .post(UploadBench.url))])
    }

    @Test func theServersOwnPauseIsKept() {
        bench.post()
        _ = bench.answer(429, ["retry-after": "30"])
        #expect(bench.machine.deadline == bench.now + 30_000)
    }

    @Test func aServerThatCannotBeReachedHasGotNothing() {
        bench.post()
        #expect(bench.lost(wasSent: false) == [.record(3, UploadResumeData())])
        #expect(bench.tick() == [.record(4, UploadResumeData(step: .posting))])
    }

    @Test(arguments: [500, 502, 504]) func aServerThatMayHaveDoneItIsLookedAtFirst(_ status: Int) {
        bench.post()
        #expect(bench.answer(status) == [])
        #expect(
            bench.tick() == [.settleDoubt(TransferError(.failed, "the server answered \(status)"))])
    }

    @Test func aLostAnswerIsDoubted() {
        bench.post()
        #expect(bench.lost() == [])
        #expect(bench.machine.resumeData.step == .posting)
        #expect(bench.tick() == [.settleDoubt(TransferError(.failed, "broken"))])
        #expect(bench.machine.people == .running && bench.machine.deadline == nil)
    }

    @Test func aRunThatWasKilledAfterAPostBeginsWithDoubt() {
        let bench = UploadBench(UploadResumeData(step: .posting))
        #expect(bench.resume() == [.settleDoubt(nil)])
    }

    @Test func whatHasArrivedIsNotPostedAgain() {
        bench.doubt()
        _ = bench.settle(.arrived(location: UploadBench.place))
        #expect(bench.machine.resumeData == UploadResumeData(step: .posted, location: UploadBench.place))
        #expect(bench.confirm() == [.send(bench.lastID, .options(UploadBench.place))])
    }

    @Test func whatHasNotArrivedIsPostedAgain() {
        bench.doubt()
        #expect(bench.settle(.mayRepeat) == [.send(bench.lastID, .post(UploadBench.url))])
    }

    @Test func aDoubtThatCannotBeSettledNowIsAskedLater() {
        bench.doubt()
        #expect(bench.settle(.later(TransferError(.unreachable, "no route"), after: 60)) == [])
        #expect(bench.machine.deadline == bench.now + 60_000)
        #expect(bench.tick() == [.settleDoubt(TransferError(.unreachable, "no route"))])
    }

    @Test func aDoubtThatCannotBeSettledIsAPersonsToDecide() {
        bench.doubt()
        let actions = bench.settle(.unknown("it has no list"))
        #expect(bench.failure(of: actions)?.message.contains("(it has no list); look there") ?? false)
        // Who lets it go on has looked.
        #expect(actions.first == .record(bench.lastID, UploadResumeData()))
        #expect(bench.resume() == [.record(bench.lastID, UploadResumeData(step: .posting))])
    }

    @Test func aFindingThatNobodyWaitsForIsIgnored() {
        bench.doubt()
        _ = bench.suspend()
        #expect(bench.settle(.mayRepeat) == [])
        #expect(bench.machine.people == .suspended)
    }

    @Test func aRepeatedPostThatMeetsTheFirstWaitsForIt() {
        bench.doubt()
        _ = bench.settle(.mayRepeat)
        #expect(bench.answer(409) == [])
        #expect(bench.machine.people == .queued)
    }

    @Test(arguments: [400, 401, 403, 404, 409, 413, 422]) func aRefusedPostFailsAndLeavesNothing(_ status: Int) {
        bench.post()
        let actions = bench.answer(status)
        #expect(actions.first == .record(3, UploadResumeData()))
        #expect(bench.failure(of: actions)?.message.hasPrefix("the server answered \(status)") ?? false)
        #expect(bench.machine.people == .failed && bench.machine.deadline == nil)
    }

    @Test(arguments: [
        (401, TransferError.Code.refused), (403, .refused), (404, .missing), (410, .missing), (413, .failed),
    ])
    func refusedMediaFailForGood(_ status: Int, _ code: TransferError.Code) {
        bench.put()
        #expect(bench.failure(of: bench.answer(status))?.code == code)
        #expect(bench.machine.deadline == nil)
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 507]) func mediaAreSentAgainAfterWhatPasses(_ status: Int) {
        bench.put()
        bench.sent(900)
        #expect(bench.answer(status, ["retry-after": "2"]) == [])
        #expect(bench.machine.deadline == bench.now + 2_000)
        #expect(bench.tick() == [.send(bench.lastID, .put(UploadBench.place))])
        #expect(bench.machine.sent == 0, "from the beginning")
    }

    @Test(arguments: [
        (404, "list of videos"), (405, "list of videos"), (410, "list of videos"), (400, "such a title"),
        (422, "such a title"), (401, "name and a password"), (403, "does not allow"), (413, "too large"),
    ])
    func aRefusedPostSaysWhatCanBeDone(_ status: Int, _ words: String) {
        bench.post()
        #expect(bench.failure(of: bench.answer(status))?.message.contains(words) ?? false)
    }

    /// Of a server that is away for a day nothing is lost, and it is not stormed.
    @Test(arguments: [false, true]) func aServerThatIsDownForADayGetsItInTheEnd(_ isPosted: Bool) {
        if isPosted { bench.put() } else { bench.post() }
        let back = bench.now + 24 * 3_600_000
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

    @Test func aFailedUploadGoesOnFromItsStepWhenAPersonWantsIt() {
        bench.put()
        _ = bench.answer(401)
        #expect(bench.resume() == [.send(bench.lastID, .put(UploadBench.place))])
    }

    @Test func whatTryingAgainDoesNotMendFailsAtOnce() {
        bench.put()
        #expect(bench.failure(of: bench.lost(passes: false))?.message == "broken")
    }

    @Test func pausesGrowAndProgressEndsThem() {
        bench.put()
        for pause in [250, 500, 1_000] as [Int64] {
            _ = bench.lost()
            #expect(bench.machine.deadline == bench.now + pause)
            _ = bench.tick()
        }
        bench.sent(10)
        _ = bench.lost()
        #expect(bench.machine.deadline == bench.now + 250)
        // Sending the same bytes once more is none.
        _ = bench.tick()
        bench.sent(10)
        _ = bench.lost()
        #expect(bench.machine.deadline == bench.now + 500)
    }

    @Test func itGivesUpInTheEndAndIsKept() {
        let bench = UploadBench(.at(UploadBench.place), retry: RetryPolicy(giveUp: 1_000))
        _ = bench.resume()
        #expect(bench.lost() == [])
        bench.pass(999)
        _ = bench.tick()
        #expect(bench.lost() == [], "still within its time")
        bench.pass(1)
        _ = bench.tick()
        #expect(bench.failure(of: bench.lost()) != nil)
        #expect(bench.resume() == [.send(bench.lastID, .options(UploadBench.place))])
        #expect(bench.lost() == [], "its time begins anew")
    }

    @Test(arguments: [200, 204]) func aPostWithoutAPlaceForTheMediaFailsAndIsDoubted(_ status: Int) {
        bench.post()
        #expect(bench.failure(of: bench.answer(status))?.code == .unusable)
        #expect(bench.resume().first.map { if case .settleDoubt = $0 { true } else { false } } ?? false)
    }

    @Test func aPlaceThatIsNoWebAddressFails() {
        bench.post()
        #expect(bench.failure(of: bench.answer(303, location: nil))?.code == .unusable)
    }

    // MARK: Redirects

    @Test(arguments: [301, 307, 308]) func aPostMovesAsItIs(_ status: Int) {
        bench.post()
        #expect(bench.answer(status, location: "http://b/") == [.send(3, .post("http://b/"))])
    }

    @Test(arguments: [301, 302, 307, 308]) func mediaMoveAndThePlaceIsRemembered(_ status: Int) {
        bench.put()
        _ = bench.answer(status, location: "http://b/1")
        #expect(bench.machine.resumeData.location == "http://b/1")
        #expect(bench.confirm() == [.send(bench.lastID, .put("http://b/1"))])
    }

    @Test func aPieceThatMovesIsAskedForThereFirst() {
        bench.patch(from: 0)
        _ = bench.answer(307, location: "http://b/1")
        #expect(bench.confirm() == [.send(bench.lastID, .head("http://b/1"))])
    }

    @Test func aCircleOfRedirectsEnds() {
        bench.post()
        for _ in 0..<10 { #expect(bench.failure(of: bench.answer(307, location: "http://b/")) == nil) }
        #expect(bench.failure(of: bench.answer(307, location: "http://b/"))?.code == .unusable)
        #expect(bench.machine.resumeData.step == .unposted)
    }

    @Test func aRedirectToElsewhereThanTheWebFails() {
        bench.post()
        #expect(bench.failure(of: bench.answer(307, location: nil))?.code == .unusable)
    }

    // MARK: People

    @Test func aSuspensionEndsTheRequestAndTheStepIsKept() {
        bench.put()
        #expect(bench.suspend() == [.abort(bench.lastID)])
        #expect(bench.machine.people == .suspended && bench.machine.isIdle)
        #expect(bench.answer(204) == [], "it is not listened to any more")
        #expect(bench.resume() == [.send(bench.lastID, .put(UploadBench.place))])
    }

    @Test func aPostThatWasHaltedOnItsWayIsDoubted() {
        bench.post()
        #expect(bench.suspend() == [.abort(2)])
        #expect(bench.resume() == [.settleDoubt(nil)])
    }

    @Test func aPostThatWasHaltedBeforeItWentIsNot() {
        _ = bench.resume()
        #expect(bench.suspend() == [.record(2, UploadResumeData())])
        #expect(bench.recorded(1) == [])
        _ = bench.resume()
        _ = bench.recorded(3)
        #expect(bench.suspend() == [.abort(4), .record(5, UploadResumeData())], "it had no turn yet")
    }

    @Test func aPersonDoesNotWaitForAPause() {
        bench.put()
        _ = bench.lost()
        #expect(bench.resume() == [.send(bench.lastID, .put(UploadBench.place))])
        #expect(bench.resume() == [], "it is under way")
    }

    @Test func aCancelledUploadIsOver() {
        bench.put()
        #expect(bench.cancel() == [.abort(bench.lastID)])
        #expect(bench.machine.people == .cancelled)
        #expect(bench.resume() == [] && bench.suspend() == [] && bench.cancel() == [])
    }

    @Test func aFailedUploadCanBeCancelled() {
        bench.put()
        _ = bench.answer(413)
        #expect(bench.suspend() == [] && bench.machine.people == .failed)
        _ = bench.cancel()
        #expect(bench.machine.people == .cancelled)
    }

    @Test func aTickBeforeItsTimeDoesNothing() {
        bench.put()
        _ = bench.lost()
        #expect(bench.machine.tick(now: bench.now) == [])
    }
}
