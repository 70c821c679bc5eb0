import Testing

@testable import Transfers

@Suite struct ResponseVerdictTests {
    private static let tag = "\"v1\""
    private let pin = Pin(total: 1_000, validator: .entityTag(tag))

    private func head(_ status: Int, _ fields: [String: String] = [:]) -> ResponseHead {
        ResponseHead(status: status, fields: ["content-type": "audio/mpeg"].merging(fields) { $1 })
    }

    private func verdict(
        _ head: ResponseHead, offset: Int64 = 0, ranged: Bool = false, pin: Pin? = nil,
        expects: ContentExpectation = .media, content: BodyContent? = nil
    ) -> ResponseVerdict {
        ResponseVerdict(head, offset: offset, ranged: ranged, pin: pin, expects: expects, content: content)
    }

    private func part(_ range: String, _ fields: [String: String] = ["etag": tag]) -> ResponseHead {
        head(206, fields.merging(["content-range": "bytes \(range)"]) { $1 })
    }

    // MARK: 200

    @Test func theFirstResponseDeterminesThePin() {
        #expect(
            verdict(head(200, ["content-length": "1000", "etag": Self.tag]))
                == .accept(offset: 0, end: 1_000, pin: pin, compare: false))
    }

    @Test func anEmptyFileIsRefused() {
        for status in ["200", "416"] {
            for pin in [nil, pin] {
                let fields = status == "200" ? ["content-length": "0"] : ["content-range": "bytes */0"]
                #expect(verdict(head(Int(status) ?? 0, fields), ranged: status == "416", pin: pin) == .empty)
            }
        }
    }

    @Test func withoutALengthTheSizeIsUnknown() {
        let expected = Pin(total: nil, validator: nil)
        for fields in [
            [:], ["transfer-encoding": "chunked"], ["transfer-encoding": "chunked", "content-length": "10"],
        ] {
            #expect(verdict(head(200, fields)) == .accept(offset: 0, end: nil, pin: expected, compare: false))
        }
    }

    @Test func aServerThatDeclaresNoRangesIsBelieved() {
        var expected = pin
        expected.acceptsRanges = false
        #expect(
            verdict(head(200, ["content-length": "1000", "etag": Self.tag, "accept-ranges": "none"]))
                == .accept(offset: 0, end: 1_000, pin: expected, compare: false))
    }

    @Test func theWholeInResponseToARangeRequestBeginsAtByteZero() {
        var expected = pin
        expected.acceptsRanges = false
        #expect(
            verdict(head(200, ["content-length": "1000", "etag": Self.tag]), offset: 500, ranged: true, pin: pin)
                == .accept(offset: 0, end: 1_000, pin: expected, compare: false))
    }

    @Test func anotherTagIsAnotherRenditionWhoseRangesAreNotInDoubt() {
        #expect(
            verdict(head(200, ["content-length": "1000", "etag": "\"v2\""]), offset: 500, ranged: true, pin: pin)
                == .replaced(pin: Pin(total: 1_000, validator: .entityTag("\"v2\""))))
    }

    @Test func anotherLengthIsAnotherRendition() {
        #expect(
            verdict(head(200, ["content-length": "999", "etag": Self.tag]), pin: pin)
                == .replaced(pin: Pin(total: 999, validator: .entityTag(Self.tag))))
    }

    /// Content-Range has no meaning in a 200 response. If a server sends one nevertheless, the body may be only a part.
    @Test(arguments: [
        ["content-range": "bytes 0-999/2000", "content-length": "1000"],
        ["content-range": "bytes 1000-1999/2000", "content-length": "1000"],
        ["content-range": "bytes 0-999/1000", "content-length": "500"], ["content-range": "bytes 0-999/*"],
        ["content-range": "bytes */2000", "content-length": "1000"],
        ["content-range": "bytes 0-999/1000, bytes 0-99/1000", "content-length": "1000"],
    ])
    func aWholeResponseWithAPartialContentRangeIsRefused(fields: [String: String]) {
        let head = head(200, fields.merging(["etag": Self.tag]) { $1 })
        for pin in [nil, pin] {
            let answers = [verdict(head, pin: pin), verdict(head, offset: 500, ranged: true, pin: pin)]
            guard case .fail = answers[0], case .drop = answers[1] else {
                Issue.record("\(fields): \(answers)")
                return
            }
        }
    }

    @Test(arguments: [
        "bytes 0-999/1000", "bytes */1000", "bytes 0-999/1000, bytes 0-999/1000", "bytes=0-999/1000", "x",
    ])
    func aWholeResponseWithAHarmlessContentRangeIsAccepted(value: String) {
        for framing in [["content-length": "1000"], ["transfer-encoding": "chunked"]] {
            let fields = framing.merging(["content-range": value, "etag": Self.tag]) { $1 }
            #expect(verdict(head(200, fields), pin: pin) == .accept(offset: 0, end: 1_000, pin: pin, compare: false))
        }
    }

    @Test func aMissingOrWeakTagRequiresAComparison() {
        for fields in [["content-length": "1000"], ["content-length": "1000", "etag": "W/\"v1\""]] {
            #expect(verdict(head(200, fields), pin: pin) == .accept(offset: 0, end: 1_000, pin: pin, compare: true))
        }
    }

    @Test func aResponseWithoutTagAndLengthIsAnotherRendition() {
        let unknown = Pin(total: nil, validator: nil)
        #expect(verdict(head(200), pin: Pin(total: 1_000, validator: nil)) == .replaced(pin: unknown))
        #expect(verdict(head(200), pin: pin) == .replaced(pin: unknown))
        #expect(
            verdict(head(200, ["etag": Self.tag]), pin: pin) == .accept(offset: 0, end: 1_000, pin: pin, compare: false)
        )
    }

    @Test func aKnownSizeAloneRequiresAComparison() {
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

    @Test func aPartMayDetermineThePin() {
        #expect(
            verdict(part("500-999/1000"), offset: 500, ranged: true)
                == .accept(offset: 500, end: 1_000, pin: pin, compare: false))
    }

    @Test func aPartOfAnUnknownTotalIsAccepted() {
        #expect(
            verdict(part("500-599/*"), offset: 500, ranged: true, pin: pin)
                == .accept(offset: 500, end: 600, pin: pin, compare: false))
    }

    @Test func aPartWithoutTheTagRequiresAComparison() {
        #expect(
            verdict(part("500-999/1000", [:]), offset: 500, ranged: true, pin: pin)
                == .accept(offset: 500, end: 1_000, pin: pin, compare: true))
    }

    @Test func aPartMayOmitTheDateOfItsIfRange() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let dated = Pin(total: 1_000, validator: .lastModified(date))
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
            ("500-999/9223372036854775807", nil),
            ("nonsense", nil),
            ("500-1999/*", nil), ("*/1000", nil),
        ] as [(String, String?)])
    func aContradictoryPartIsDropped(range: String, length: String?) {
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

    @Test func aChunkedPartIsAsLongAsItsContentRangeSays() {
        for fields in [[:], ["content-length": "10"]] {
            let fields = fields.merging(["etag": Self.tag, "transfer-encoding": "chunked"]) { $1 }
            #expect(
                verdict(part("500-599/1000", fields), offset: 500, ranged: true, pin: pin)
                    == .accept(offset: 500, end: 600, pin: pin, compare: false))
        }
    }

    @Test func anUnrelatedContentRangeOfAWholeResponseIsIgnored() {
        let fields = ["content-length": "1000", "etag": Self.tag, "content-range": "bytes 0-9/10"]
        #expect(verdict(head(200, fields)) == .accept(offset: 0, end: 1_000, pin: pin, compare: false))
    }

    @Test(arguments: [
        (["content-length": "10, 20"], "the server sent two different Content-Lengths"),
        (["content-length": "+10"], "the server sent a Content-Length that is not the size of a file"),
        (["transfer-encoding": "gzip, chunked"], "the server sent Transfer-Encoding gzip, chunked"),
    ])
    func aResponseWithoutAUsableEndFails(fields: [String: String], says: String) {
        for status in [200, 206] {
            let head = head(status, fields.merging(["content-range": "bytes 500-999/1000"]) { $1 })
            #expect(
                verdict(head, offset: 500, ranged: true, pin: pin) == .fail(TransferError(.unusable, says)), "\(status)"
            )
        }
    }

    // MARK: Bodies that are not media

    private static let documentTypes = [
        "text/html", "TEXT/HTML", "application/json", "application/problem+json", "application/xhtml+xml",
        "application/xml", "text/xml",
    ]

    @Test(arguments: documentTypes + ["text/plain; charset=utf-8", "text/css"])
    func aTypeOfTextIsJudgedByTheFirstBytes(type: String) {
        let head = head(200, ["content-type": type, "content-length": "1000", "etag": Self.tag])
        #expect(ResponseVerdict.needsContent(head, offset: 0, pin: nil, hasBytes: false))
        guard case .accept = verdict(head, content: .media(.id3)) else {
            Issue.record("media was refused")
            return
        }
        for document in BodyContent.Document.allCases {
            #expect(
                verdict(head, content: .document(document))
                    == .fail(TransferError(.unusable, "the server sent \(document.rawValue) instead of media")))
        }
        // Unknown content is accepted unless the server's type says that it is a document.
        let isRefused = verdict(head, content: .binary) == verdict(head)
        #expect(isRefused == Self.documentTypes.contains(type))
        guard case .fail(let error) = verdict(head) else {
            Issue.record("a body without a byte was accepted")
            return
        }
        #expect(error.code == .unusable && error.message.hasPrefix("the server sent \(head.mediaType ?? "")"))
    }

    @Test(arguments: [
        "audio/mpeg", "video/mp4", "application/octet-stream", "application/ogg", "binary/octet-stream", "", "nonsense",
        "image/png",
    ])
    func otherTypesAreAcceptedByTheirHeadAndRefusedByTheirBytes(type: String) {
        let head = head(200, ["content-type": type])
        #expect(!ResponseVerdict.needsContent(head, offset: 0, pin: nil, hasBytes: false))
        guard case .accept = verdict(head), case .accept = verdict(head, content: .binary) else {
            Issue.record("\(type) was refused")
            return
        }
        guard case .fail = verdict(head, content: .document(.json)) else {
            Issue.record("JSON was accepted")
            return
        }
    }

    @Test func aPageNeverReplacesPresentBytes() {
        let other = head(200, ["content-length": "77"])
        #expect(ResponseVerdict.needsContent(other, offset: 500, pin: pin, hasBytes: true))
        #expect(!ResponseVerdict.needsContent(other, offset: 500, pin: pin, hasBytes: false))
        #expect(
            !ResponseVerdict.needsContent(
                head(200, ["content-length": "1000", "etag": Self.tag]), offset: 500, pin: pin, hasBytes: true))
        guard case .replaced = verdict(other, offset: 500, ranged: true, pin: pin, content: .media(.ogg)),
            case .fail = verdict(other, offset: 500, ranged: true, pin: pin, content: .document(.webPage))
        else {
            Issue.record("the bytes did not decide")
            return
        }
    }

    /// In the middle of a file no format can be recognized.
    @Test func aPartUnderATypeOfTextIsJudgedByItsRange() {
        let labelled = part("500-999/1000", ["content-type": "text/html", "etag": Self.tag])
        #expect(!ResponseVerdict.needsContent(labelled, offset: 500, pin: pin, hasBytes: true))
        #expect(
            verdict(labelled, offset: 500, ranged: true, pin: pin)
                == .accept(offset: 500, end: 1_000, pin: pin, compare: false))
    }

    @Test func theExpectationDecidesWhichDocumentIsAccepted() {
        let head = head(200, ["content-type": "text/plain"])
        guard case .accept = verdict(head, expects: .playlist, content: .document(.playlist)),
            case .accept = verdict(head, expects: .other, content: .document(.text)),
            case .fail = verdict(head, expects: .playlist, content: .document(.webPage)),
            case .fail = verdict(head, expects: .other, content: .document(.webPage))
        else {
            Issue.record("the expectation did not decide")
            return
        }
    }

    @Test(arguments: ["gzip", "br", "GZIP", "identity, gzip", "deflate", "zstd", "x-gzip"])
    func anEncodedBodyIsRefused(coding: String) {
        guard
            case .fail(let error) = verdict(head(200, ["content-encoding": coding]), content: .media(.id3))
        else {
            Issue.record("\(coding) was accepted")
            return
        }
        #expect(error.message.hasPrefix("the server sent the file with Content-Encoding "))
    }

    @Test(arguments: ["none", "binary", "UTF-8", "Identity", "aws-chunked", "utf-8, identity", "x-own", ""])
    func aValueThatIsNoCodingIsIgnored(coding: String) {
        let head = head(200, ["content-encoding": coding])
        #expect(!ResponseVerdict.needsContent(head, offset: 0, pin: nil, hasBytes: false))
        guard case .accept = verdict(head) else {
            Issue.record("\(coding) was refused")
            return
        }
    }

    // MARK: Other statuses

    @Test func aRangeErrorWithASizeConfirmsTheSize() {
        let head = head(416, ["content-range": "bytes */1000"])
        #expect(verdict(head, offset: 1_000, ranged: true, pin: pin) == .atEnd(total: 1_000))
        #expect(verdict(head, offset: 1_000, ranged: true) == .atEnd(total: 1_000))
    }

    @Test func aRangeErrorWithoutASizeShowsAChange() {
        #expect(verdict(head(416), offset: 500, ranged: true, pin: pin) == .stale)
        guard case .fail = verdict(head(416), offset: 500, ranged: true) else {
            Issue.record("nothing was known, so nothing can have changed")
            return
        }
    }

    @Test func aRangeErrorForTheWholeFails() {
        guard case .fail(let error) = verdict(head(416, ["content-range": "bytes */1000"]), pin: pin) else {
            Issue.record("each further request would get the same response")
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
    func temporaryFailuresAreRetried(status: Int) {
        let error = TransferError(.failed, "the server answered \(status)")
        #expect(verdict(head(status)) == .retry(error, after: nil))
        #expect(verdict(head(status, ["retry-after": "7"])) == .retry(error, after: .seconds(7)))
    }
}
