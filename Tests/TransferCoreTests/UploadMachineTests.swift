import Testing

@testable import Transfers

/// The request of each step of an upload, and the next step after each possible response.
@Suite struct UploadMachineTests {
    let bench = UploadBench()

    // MARK: States

    @Test func aPostIsRecordedBeforeItIsSent() {
        #expect(bench.resume() == [.record(1, UploadResumeData(step: .posting))])
        #expect(bench.machine.taskState == .queued)
        #expect(bench.recorded(7) == [], "the confirmation of another record")
        #expect(bench.recorded(1) == [.send(2, .post(UploadBench.url))])
        #expect(bench.recorded(1) == [], "the request is sent only once")
        #expect(bench.machine.taskState == .queued, "it waits for its turn")
        bench.requestSent(2)
        #expect(bench.machine.taskState == .running)
    }

    @Test(arguments: [201, 302, 303]) func theResponseToThePostNamesTheMediaLocation(_ status: Int) {
        bench.post()
        let posted = UploadResumeData(step: .posted, location: UploadBench.place)
        #expect(bench.answer(status, location: UploadBench.place) == [.record(3, posted)])
        #expect(bench.recorded(3) == [.send(4, .options(UploadBench.place))])
    }

    @Test func aLocationWithoutTusGetsTheWholeFile() {
        bench.reachMedia()
        let known = UploadResumeData(step: .posted, location: UploadBench.place, speaksTus: false)
        #expect(bench.answer(405) == [.record(bench.lastID, known)])
        #expect(bench.confirm() == [.send(bench.lastID, .put(UploadBench.place))])
        bench.requestSent(bench.lastID)
        bench.sent(400)
        #expect(bench.machine.sent == 400)
        #expect(bench.answer(204) == [.completed])
        #expect(bench.machine.taskState == .completed && bench.machine.sent == 1_000 && bench.machine.isIdle)
    }

    @Test(arguments: [200, 201, 202, 204, 303]) func aPutIsCompleteWhenTheServerConfirmsIt(_ status: Int) {
        bench.put()
        #expect(bench.answer(status, location: status == 303 ? UploadBench.url : nil) == [.completed])
    }

    // MARK: tus

    @Test func tusIsUsedInItsVersionOnly() {
        bench.post()
        _ = bench.answer(201, ["tus-resumable": "1.0.0"], location: UploadBench.place)
        #expect(bench.confirm() == [.send(bench.lastID, .head(UploadBench.place))], "no OPTIONS is needed")
        let other = UploadBench()
        other.reachMedia()
        _ = other.answer(204, ["tus-version": "0.2.2,2.0.0"])
        #expect(other.confirm() == [.send(other.lastID, .put(UploadBench.place))])
    }

    @Test func aLocationWithTusIsAskedForItsOffset() {
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

    @Test(arguments: [
        (["upload-defer-length": "1"], true), (["upload-length": "1000"], false), ([:], false),
        (["upload-defer-length": "1", "upload-length": "1000"], false),
    ])
    func aServerThatDoesNotKnowTheLengthReceivesIt(_ fields: [String: String], _ isTold: Bool) {
        bench.head()
        _ = bench.answer(200, fields.merging(["upload-offset": "100"]) { old, _ in old })
        _ = bench.confirm()
        #expect(bench.machine.namesLength == isTold)
        _ = bench.answer(204, ["upload-offset": "500"])
        #expect(!bench.machine.namesLength, "the length is sent only once")
    }

    @Test func aServerThatHasAllBytesAndWaitsForTheLengthReceivesIt() {
        bench.head()
        let actions = bench.answer(200, ["upload-offset": "1000", "upload-defer-length": "1"])
        #expect(!actions.contains(.completed))
        #expect(bench.confirm() == [.send(bench.lastID, .patch(UploadBench.place, offset: 1_000))])
        #expect(bench.answer(204, ["upload-offset": "1000"]) == [.completed])
    }

    @Test(arguments: [409, 423]) func aBusyLocationIsAskedAgain(_ status: Int) {
        bench.patch(from: 0)
        #expect(bench.answer(status) == [])
        #expect(bench.tick() == [.send(bench.lastID, .head(UploadBench.place))])
    }

    @Test(arguments: [[:], ["upload-offset": "0"], ["upload-offset": "1001"], ["upload-offset": "x"]])
    func anImplausibleResponseToAPieceIsChecked(_ fields: [String: String]) {
        bench.patch(from: 0)
        #expect(bench.answer(204, fields) == [])
        #expect(bench.machine.deadline != nil, "the pause prevents an endless loop")
        #expect(bench.tick() == [.send(bench.lastID, .head(UploadBench.place))])
    }

    @Test func anOffsetBeyondTheFileOrAnotherSizeFails() {
        bench.head()
        #expect(bench.failure(of: bench.answer(200, ["upload-offset": "1001"]))?.code == .unusable)
        let other = UploadBench()
        other.head()
        let error = other.failure(of: other.answer(200, ["upload-offset": "0", "upload-length": "999"]))
        #expect(error?.message == "the server expects a file of 999 bytes, but this one has 1000")
    }

    @Test(arguments: [200, 405, 501]) func aLocationThatDoesNotSpeakTusAfterAllGetsTheWholeFile(_ status: Int) {
        bench.head()
        _ = bench.answer(status)
        #expect(bench.confirm() == [.send(bench.lastID, .put(UploadBench.place))])
        #expect(bench.machine.resumeData.speaksTus == false)
    }

    // MARK: Redirects

    @Test(arguments: [301, 307, 308]) func aRedirectedPostIsRepeatedAtTheNewAddress(_ status: Int) {
        bench.post()
        #expect(bench.answer(status, location: "http://b/") == [.send(3, .post("http://b/"))])
    }

    @Test(arguments: [301, 302, 307, 308]) func redirectedMediaAreSentToTheRecordedNewLocation(_ status: Int) {
        bench.put()
        _ = bench.answer(status, location: "http://b/1")
        #expect(bench.machine.resumeData.location == "http://b/1")
        #expect(bench.confirm() == [.send(bench.lastID, .put("http://b/1"))])
    }

    @Test func tooManyRedirectsFail() {
        bench.post()
        for _ in 0..<10 { #expect(bench.failure(of: bench.answer(307, location: "http://b/")) == nil) }
        #expect(bench.failure(of: bench.answer(307, location: "http://b/"))?.code == .unusable)
        #expect(bench.machine.resumeData.step == .unposted)
    }

    /// Each of twelve requests is redirected once, and after each redirect the server confirms more bytes. This
    /// progress resets the count, so the limit of ten redirects is not reached.
    @Test func redirectsOfAnUploadThatAdvancesAreNotCounted() {
        bench.patch(from: 0)
        for step in 1...12 {
            #expect(bench.failure(of: bench.answer(307, location: "http://b/\(step)")) == nil)
            _ = bench.confirm()
            _ = bench.answer(200, ["upload-offset": "\(step * 10)", "upload-length": "1000"])
            #expect(
                bench.confirm() == [.send(bench.lastID, .patch("http://b/\(step)", offset: Int64(step * 10)))])
        }
    }

    @Test(arguments: [303, 307]) func aLocationThatIsNoWebAddressFails(_ status: Int) {
        bench.post()
        #expect(bench.failure(of: bench.answer(status, location: nil))?.code == .unusable)
    }

    // MARK: User commands

    @Test func aSuspensionEndsTheRequestAndTheStepIsKept() {
        bench.put()
        #expect(bench.suspend() == [.abort(bench.lastID)])
        #expect(bench.machine.taskState == .suspended && bench.machine.isIdle)
        #expect(bench.answer(204) == [], "the late response is ignored")
        #expect(bench.resume() == [.send(bench.lastID, .put(UploadBench.place))])
    }

    @Test func onlyASentPostThatIsSuspendedIsInDoubt() {
        _ = bench.resume()
        #expect(bench.suspend() == [.record(2, UploadResumeData())])
        #expect(bench.recorded(1) == [])
        _ = bench.resume()
        _ = bench.recorded(3)
        #expect(bench.suspend() == [.abort(4), .record(5, UploadResumeData())], "it had no turn yet")
        let other = UploadBench()
        other.post()
        #expect(other.suspend() == [.abort(2)])
        #expect(other.resume() == [.resolveDoubt(nil)])
    }

    @Test func resumingEndsAPause() {
        bench.put()
        _ = bench.lost()
        #expect(bench.resume() == [.send(bench.lastID, .put(UploadBench.place))])
        #expect(bench.resume() == [], "it is under way")
    }

    @Test(arguments: [false, true]) func aCancelledUploadIsOver(hasFailed: Bool) {
        bench.put()
        if hasFailed {
            _ = bench.answer(413)
            #expect(bench.suspend() == [] && bench.machine.taskState == .failed)
        }
        #expect(bench.cancel() == (hasFailed ? [] : [.abort(bench.lastID)]))
        #expect(bench.machine.taskState == .cancelled)
        #expect(bench.resume() == [] && bench.suspend() == [] && bench.cancel() == [])
    }
}
