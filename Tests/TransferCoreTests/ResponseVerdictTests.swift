import Testing
import TransferCore

@Suite struct ResponseVerdictTests {
    @Test(arguments: ["0x10", "1e3", "10, 20", "10 "]) func aLengthThatIsNoNumberIsNoAnswer(length: String) {
        let head = ResponseHead(status: 200, fields: ["content-type": "audio/mpeg", "content-length": length])
        #expect(
            ResponseVerdict(head, offset: 0, ranged: false, pin: nil, refusesText: true)
                == .fail(TransferError(.unusable, "the server sent a Content-Length that is no number")))
    }

    private static let tag = "\"v1\""
    private let pin = Pin(total: 1_000, validator: .entityTag(tag), mediaType: "audio/mpeg")

    private func head(_ status: Int, _ fields: [String: String] = [:]) -> ResponseHead {
        ResponseHead(status: status, fields: ["content-type": "audio/mpeg"].merging(fields) { $1 })
    }

    private func verdict(
        _ head: ResponseHead, offset: Int64 = 0, ranged: Bool = false, pin: Pin? = nil, refusesText: Bool = true
    ) -> ResponseVerdict {
        ResponseVerdict(head, offset: offset, ranged: ranged, pin: pin, refusesText: refusesText)
    }

    private func part(_ range: String, _ fields: [String: String] = ["etag": tag]) -> ResponseHead {
        head(206, fields.merging(["content-range": "bytes \(range)"]) { $1 })
    }

    // MARK: 200

    @Test func theFirstAnswerBindsTheDownload() {
        #expect(
            verdict(head(200, ["content-length": "1000", "etag": Self.tag]))
                == .accept(offset: 0, end: 1_000, pin: pin, compare: false))
    }

    @Test func withoutALengthTheSizeIsUnknown() {
        let expected = Pin(total: nil, validator: nil, mediaType: "audio/mpeg")
        for fields in [[:], ["content-length": "-1"], ["content-length": "99999999999999999999"]] {
            #expect(verdict(head(200, fields)) == .accept(offset: 0, end: nil, pin: expected, compare: false))
        }
    }

    @Test func aServerThatSaysNoRangesIsBelieved() {
        var expected = pin
        expected.acceptsRanges = false
        #expect(
            verdict(head(200, ["content-length": "1000", "etag": Self.tag, "accept-ranges": "none"]))
                == .accept(offset: 0, end: 1_000, pin: expected, compare: false))
    }

    @Test func theWholeWhereAPartWasAskedForBeginsAtByteZero() {
        var expected = pin
        expected.acceptsRanges = false
        #expect(
            verdict(head(200, ["content-length": "1000", "etag": Self.tag]), offset: 500, ranged: true, pin: pin)
                == .accept(offset: 0, end: 1_000, pin: expected, compare: false))
    }

    @Test func anotherTagIsAnotherRenditionWhoseRangesAreNotInDoubt() {
        #expect(
            verdict(head(200, ["content-length": "1000", "etag": "\"v2\""]), offset: 500, ranged: true, pin: pin)
                == .replaced(pin: Pin(total: 1_000, validator: .entityTag("\"v2\""), mediaType: "audio/mpeg")))
    }

    @Test func anotherLengthIsAnotherRendition() {
        #expect(
            verdict(head(200, ["content-length": "999", "etag": Self.tag]), pin: pin)
                == .replaced(pin: Pin(total: 999, validator: .entityTag(Self.tag), mediaType: "audio/mpeg")))
    }

    @Test func aTagThatWentAwayOrBecameWeakHasToBeProvenByBytes() {
        for fields in [["content-length": "1000"], ["content-length": "1000", "etag": "W/\"v1\""]] {
            #expect(verdict(head(200, fields), pin: pin) == .accept(offset: 0, end: 1_000, pin: pin, compare: true))
        }
    }

    @Test func anAnswerWithoutTagAndLengthMayBeOfAnotherSize() {
        let unknown = Pin(total: nil, validator: nil, mediaType: "audio/mpeg")
        #expect(verdict(head(200), pin: Pin(total: 1_000, validator: nil)) == .replaced(pin: unknown))
        #expect(verdict(head(200), pin: pin) == .replaced(pin: unknown))
        #expect(
            verdict(head(200, ["etag": Self.tag]), pin: pin) == .accept(offset: 0, end: 1_000, pin: pin, compare: false)
        )
    }

    @Test func aSizeThatIsOnlyKnownIsNoProof() {
        let known = Pin(total: 1_000, validator: nil)
        #expect(
            verdict(head(200, ["content-length": "1000", "etag": Self.tag]), pin: known)
                == .accept(offset: 0, end: 1_000, pin: pin, compare: true))
    }

    // MARK: 206

    @Test func aPartWithTheSameTagContinues() {
        #expect(
            verdict(part("500-999/1000"), offset: 500, ranged: true, pin: pin)
                == .accept(offset: 500, end: 1_000, pin: pin, compare: false))
        #expect(
            verdict(part("500-599/1000"), offset: 500, ranged: true, pin: pin)
                == .accept(offset: 500, end: 600, pin: pin, compare: false), "a server may send less than was asked for"
        )
    }

    @Test func aPartMayBindTheDownload() {
        #expect(
            verdict(part("500-999/1000"), offset: 500, ranged: true)
                == .accept(offset: 500, end: 1_000, pin: pin, compare: false))
    }

    @Test func aPartOfAnUnknownTotalIsAccepted() {
        #expect(
            verdict(part("500-599/*"), offset: 500, ranged: true, pin: pin)
                == .accept(offset: 500, end: 600, pin: pin, compare: false))
    }

    @Test func aPartWithoutTheTagHasToBeProvenByBytes() {
        #expect(
            verdict(part("500-999/1000", [:]), offset: 500, ranged: true, pin: pin)
                == .accept(offset: 500, end: 1_000, pin: pin, compare: true))
    }

    @Test func aPartMayLeaveOutTheDateThatItWasAskedBy() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let dated = Pin(total: 1_000, validator: .lastModified(date), mediaType: "audio/mpeg")
        #expect(
            verdict(part("500-999/1000", [:]), offset: 500, ranged: true, pin: dated)
                == .accept(offset: 500, end: 1_000, pin: dated, compare: false))
        #expect(
            verdict(
                part("500-999/1000", ["last-modified": "Sun, 06 Nov 1994 08:49:38 GMT"]), offset: 500, ranged: true,
                pin: dated) == .stale)
    }

    @Test func aPartOfAnotherRenditionIsStale() {
        #expect(verdict(part("500-999/1000", ["etag": "\"v2\""]), offset: 500, ranged: true, pin: pin) == .stale)
        let weak = Pin(total: 1_000, validator: nil)
        #expect(verdict(part("500-999/1001", [:]), offset: 500, ranged: true, pin: weak) == .stale)
    }

    @Test(
        arguments: [
            ("0-499/1000", nil), ("501-999/1000", nil), ("500-999/2000", nil), ("500-999/1000", "10"),
            ("nonsense", nil),
            ("500-1999/*", nil), ("*/1000", nil),
        ] as [(String, String?)])
    func aPartThatLiesIsDropped(range: String, length: String?) {
        var fields = ["etag": Self.tag]
        fields["content-length"] = length
        let verdict = verdict(part(range, fields), offset: 500, ranged: true, pin: pin)
        guard case .drop = verdict else {
            Issue.record("\(verdict)")
            return
        }
    }

    @Test func aPartWithoutContentRangeIsDropped() {
        #expect(
            verdict(head(206, ["etag": Self.tag]), offset: 500, ranged: true, pin: pin)
                == .drop(reason: "the server sent a part without saying which (no Content-Range)"))
    }

    @Test func aPartThatWasNotAskedForIsDroppedUnlessItIsTheWhole() {
        guard case .drop = verdict(part("0-499/1000")) else {
            Issue.record("half of the file was accepted")
            return
        }
        #expect(verdict(part("0-999/1000")) == .accept(offset: 0, end: 1_000, pin: pin, compare: false))
    }

    // MARK: Bodies that are none

    @Test(arguments: [
        "text/html", "text/plain; charset=utf-8", "TEXT/HTML", "application/json", "application/problem+json",
        "application/xhtml+xml", "application/xml",
    ])
    func textInPlaceOfMediaIsRefused(type: String) {
        for status in [200, 206] {
            let head = head(status, ["content-type": type, "content-range": "bytes 0-9/10"])
            guard case .fail(let error) = verdict(head, ranged: status == 206) else {
                Issue.record("\(type) was accepted")
                return
            }
            #expect(error.code == .unusable)
            #expect(error.message.hasPrefix("the server sent "))
        }
        let wanted = verdict(head(200, ["content-type": type]), refusesText: false)
        guard case .accept = wanted else {
            Issue.record("\(type) was refused where text is wanted")
            return
        }
    }

    @Test(arguments: [
        "audio/mpeg", "video/mp4", "application/octet-stream", "application/ogg", "binary/octet-stream", "",
    ])
    func mediaAndTheUnknownAreTaken(type: String) {
        guard case .accept = verdict(head(200, ["content-type": type])) else {
            Issue.record("\(type) was refused")
            return
        }
    }

    @Test func aCodedBodyIsRefused() {
        #expect(
            verdict(head(200, ["content-encoding": "gzip"]))
                == .fail(TransferError(.unusable, "the server sent the file with Content-Encoding gzip")))
    }

    // MARK: Other statuses

    @Test func beyondTheEndConfirmsTheSize() {
        let head = head(416, ["content-range": "bytes */1000"])
        #expect(verdict(head, offset: 1_000, ranged: true, pin: pin) == .atEnd(total: 1_000))
        #expect(verdict(head, offset: 1_000, ranged: true) == .atEnd(total: 1_000))
    }

    @Test func beyondTheEndWithoutASizeShowsThatSomethingChanged() {
        #expect(verdict(head(416), offset: 500, ranged: true, pin: pin) == .stale)
        guard case .fail = verdict(head(416), offset: 500, ranged: true) else {
            Issue.record("nothing was known, so nothing can have changed")
            return
        }
    }

    @Test func beyondTheEndIsNoAnswerToARequestForTheWhole() {
        guard case .fail(let error) = verdict(head(416, ["content-range": "bytes */1000"]), pin: pin) else {
            Issue.record("asking again would bring the same for ever")
            return
        }
        #expect(error.code == .unusable)
    }

    @Test(
        arguments: [
            (401, .refused), (403, .refused), (404, .missing), (410, .missing), (400, .failed), (405, .failed),
            (451, .failed), (204, .unusable), (300, .unusable), (304, .unusable), (100, .unusable),
        ] as [(Int, TransferError.Code)])
    func permanentFailuresFail(status: Int, code: TransferError.Code) {
        #expect(verdict(head(status), pin: pin) == .fail(TransferError(code, "the server answered \(status)")))
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504, 599])
    func passingFailuresAreTriedAgain(status: Int) {
        let error = TransferError(.failed, "the server answered \(status)")
        #expect(verdict(head(status)) == .retry(error, after: nil))
        #expect(verdict(head(status, ["retry-after": "7"])) == .retry(error, after: 7))
    }
}
