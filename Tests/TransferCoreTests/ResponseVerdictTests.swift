import Testing

@testable import Transfers

extension ResponseVerdict {
    /// The name of the case, for expectations that do not depend on its values.
    fileprivate var kind: String { String("\(self)".prefix { $0.isLetter }) }
}

@Suite struct ResponseVerdictTests {
    private static let v1 = ["etag": "\"v1\""]
    private static let full = ["content-length": "1000", "etag": "\"v1\""]
    private let pin = Pin(total: 1_000, validator: .v1)
    private let withoutRanges = Pin(total: 1_000, validator: .v1, acceptsRanges: false)
    private let sized = Pin(total: 1_000, validator: nil)
    private let unknown = Pin(total: nil, validator: nil)

    private func head(_ status: Int, _ fields: [String: String] = [:], _ more: [String: String] = [:]) -> ResponseHead {
        ResponseHead(status: status, fields: ["content-type": "audio/mpeg"].merging(fields) { $1 }.merging(more) { $1 })
    }

    private func part(_ range: String, _ fields: [String: String] = v1) -> ResponseHead {
        head(206, fields, ["content-range": "bytes \(range)"])
    }

    /// The verdict on the response to a request for the whole file.
    private func verdict(
        _ head: ResponseHead, pin: Pin? = nil, expects: ContentExpectation = .media, content: BodyContent? = nil
    ) -> ResponseVerdict {
        ResponseVerdict(head, offset: 0, ranged: false, pin: pin, expects: expects, content: content)
    }

    /// The verdict on the response to a request for the bytes from 500 on.
    private func ranged(_ head: ResponseHead, pin: Pin?, content: BodyContent? = nil) -> ResponseVerdict {
        ResponseVerdict(head, offset: 500, ranged: true, pin: pin, expects: .media, content: content)
    }

    private func accept(_ pin: Pin, compare: Bool = false) -> ResponseVerdict {
        accept(0, 1_000, pin, compare: compare)
    }

    private func accept(_ offset: Int64, _ end: Int64?, _ pin: Pin, compare: Bool = false) -> ResponseVerdict {
        .accept(offset: offset, end: end, pin: pin, compare: compare)
    }

    // MARK: 200

    @Test func theFirstResponseDeterminesThePin() {
        #expect(verdict(head(200, Self.full)) == accept(pin))
        #expect(verdict(head(200, Self.full, ["accept-ranges": "none"])) == accept(withoutRanges))
        for fields in [
            [:], ["transfer-encoding": "chunked"], ["transfer-encoding": "chunked", "content-length": "10"],
        ] {
            #expect(verdict(head(200, fields)) == accept(0, nil, unknown), "without a length the size is unknown")
        }
        #expect(verdict(head(200, Self.full, ["content-range": "bytes 0-9/10"])) == accept(pin), "it is ignored")
        #expect(ranged(part("500-999/1000"), pin: nil) == accept(500, 1_000, pin))
    }

    @Test func anEmptyFileIsRefused() {
        for pin in [nil, pin] {
            #expect(verdict(head(200, ["content-length": "0"]), pin: pin) == .empty)
            #expect(ranged(head(416, ["content-range": "bytes */0"]), pin: pin) == .empty)
        }
    }

    @Test func theWholeInResponseToARangeRequestBeginsAtByteZero() {
        #expect(ranged(head(200, Self.full), pin: pin) == accept(withoutRanges))
        let other = Pin(total: 1_000, validator: .entityTag("\"v2\""))
        #expect(ranged(head(200, Self.full, ["etag": "\"v2\""]), pin: pin) == .replaced(pin: other))
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
        let head = head(200, fields, Self.v1)
        for pin in [nil, pin] {
            #expect(verdict(head, pin: pin).kind == "fail")
            #expect(ranged(head, pin: pin).kind == "drop")
        }
    }

    @Test(arguments: [
        "bytes 0-999/1000", "bytes */1000", "bytes 0-999/1000, bytes 0-999/1000", "bytes=0-999/1000", "x",
    ])
    func aWholeResponseWithAHarmlessContentRangeIsAccepted(value: String) {
        for framing in [["content-length": "1000"], ["transfer-encoding": "chunked"]] {
            let head = head(200, framing, ["content-range": value, "etag": "\"v1\""])
            #expect(verdict(head, pin: pin) == accept(pin))
        }
    }

    @Test func theTagAndTheLengthTellRenditionsApart() {
        let shorter = Pin(total: 999, validator: .v1)
        #expect(verdict(head(200, Self.full, ["content-length": "999"]), pin: pin) == .replaced(pin: shorter))
        #expect(verdict(head(200, Self.v1), pin: pin) == accept(pin))
        #expect(verdict(head(200), pin: pin) == .replaced(pin: unknown))
        #expect(verdict(head(200), pin: sized) == .replaced(pin: unknown))
        // A missing or weak tag, on either side, requires a comparison.
        for fields in [["content-length": "1000"], ["content-length": "1000", "etag": "W/\"v1\""]] {
            #expect(verdict(head(200, fields), pin: pin) == accept(pin, compare: true))
        }
        #expect(verdict(head(200, Self.full), pin: sized) == accept(pin, compare: true))
    }

    // MARK: 206

    @Test func aPartWithTheSameTagContinues() {
        #expect(ranged(part("500-999/1000"), pin: pin) == accept(500, 1_000, pin))
        #expect(ranged(part("500-599/1000"), pin: pin) == accept(500, 600, pin), "a server may send less than asked")
        #expect(ranged(part("500-599/*"), pin: pin) == accept(500, 600, pin))
        #expect(ranged(part("500-999/1000", [:]), pin: pin) == accept(500, 1_000, pin, compare: true))
        // A chunked part is as long as its Content-Range says.
        for fields in [[:], ["content-length": "10"]] {
            let fields = fields.merging(["etag": "\"v1\"", "transfer-encoding": "chunked"]) { $1 }
            #expect(ranged(part("500-599/1000", fields), pin: pin) == accept(500, 600, pin))
        }
    }

    @Test func aPartMayOmitTheDateOfItsIfRange() {
        let dated = Pin(total: 1_000, validator: .lastModified("Sun, 06 Nov 1994 08:49:37 GMT"))
        #expect(ranged(part("500-999/1000", [:]), pin: dated) == accept(500, 1_000, dated))
        let later = part("500-999/1000", ["last-modified": "Sun, 06 Nov 1994 08:49:38 GMT"])
        #expect(ranged(later, pin: dated) == .stale)
    }

    @Test func aPartOfAnotherRenditionIsStale() {
        #expect(ranged(part("500-999/1000", ["etag": "\"v2\""]), pin: pin) == .stale)
        #expect(ranged(part("500-999/1001", [:]), pin: sized) == .stale)
    }

    @Test(
        arguments: [
            ("0-499/1000", nil), ("501-999/1000", nil), ("500-999/2000", nil), ("500-999/1000", "10"),
            ("500-999/9223372036854775807", nil), ("nonsense", nil), ("500-1999/*", nil), ("*/1000", nil),
        ] as [(String, String?)])
    func aContradictoryPartIsDropped(range: String, length: String?) {
        var fields = Self.v1
        fields["content-length"] = length
        #expect(ranged(part(range, fields), pin: pin).kind == "drop")
    }

    @Test func aPartWithoutContentRangeIsDropped() {
        let reason = "the server sent a part without saying which (no Content-Range)"
        #expect(ranged(head(206, Self.v1), pin: pin) == .drop(reason: reason))
    }

    @Test func aPartThatWasNotAskedForIsDroppedUnlessItIsTheWhole() {
        #expect(verdict(part("0-499/1000")).kind == "drop")
        #expect(verdict(part("0-999/1000")) == accept(pin))
    }

    @Test(arguments: [
        (["content-length": "10, 20"], "the server sent two different Content-Lengths"),
        (["content-length": "+10"], "the server sent a Content-Length that is not the size of a file"),
        (["transfer-encoding": "gzip, chunked"], "the server sent Transfer-Encoding gzip, chunked"),
    ])
    func aResponseWithoutAUsableEndFails(fields: [String: String], says: String) {
        for status in [200, 206] {
            let head = head(status, fields, ["content-range": "bytes 500-999/1000"])
            #expect(ranged(head, pin: pin) == .fail(TransferError(.unusable, says)), "\(status)")
        }
    }

    // MARK: Bodies that are not media

    private static let documentTypes = [
        "text/html", "TEXT/HTML", "application/json", "application/problem+json", "application/xhtml+xml",
        "application/xml", "text/xml",
    ]

    @Test(arguments: documentTypes + ["text/plain; charset=utf-8", "text/css"])
    func aTypeOfTextIsJudgedByTheFirstBytes(type: String) {
        let head = head(200, Self.full, ["content-type": type])
        #expect(ResponseVerdict.needsContent(head, offset: 0, pin: nil, hasBytes: false))
        #expect(verdict(head, content: .media(.id3)).kind == "accept")
        for document in BodyContent.Document.allCases {
            let error = TransferError(.unusable, "the server sent \(document.rawValue) instead of media")
            #expect(verdict(head, content: .document(document)) == .fail(error))
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
        #expect(verdict(head).kind == "accept" && verdict(head, content: .binary).kind == "accept")
        #expect(verdict(head, content: .document(.json)).kind == "fail")
    }

    @Test func aPageNeverReplacesPresentBytes() {
        let other = head(200, ["content-length": "77"])
        #expect(ResponseVerdict.needsContent(other, offset: 500, pin: pin, hasBytes: true))
        #expect(!ResponseVerdict.needsContent(other, offset: 500, pin: pin, hasBytes: false))
        #expect(!ResponseVerdict.needsContent(head(200, Self.full), offset: 500, pin: pin, hasBytes: true))
        #expect(ranged(other, pin: pin, content: .media(.ogg)).kind == "replaced")
        #expect(ranged(other, pin: pin, content: .document(.webPage)).kind == "fail")
    }

    /// In the middle of a file no format can be recognized.
    @Test func aPartUnderATypeOfTextIsJudgedByItsRange() {
        let labelled = part("500-999/1000", ["content-type": "text/html", "etag": "\"v1\""])
        #expect(!ResponseVerdict.needsContent(labelled, offset: 500, pin: pin, hasBytes: true))
        #expect(ranged(labelled, pin: pin) == accept(500, 1_000, pin))
    }

    @Test func theExpectationDecidesWhichDocumentIsAccepted() {
        let head = head(200, ["content-type": "text/plain"])
        #expect(verdict(head, expects: .playlist, content: .document(.playlist)).kind == "accept")
        #expect(verdict(head, expects: .other, content: .document(.text)).kind == "accept")
        for expectation in [ContentExpectation.playlist, .other] {
            #expect(verdict(head, expects: expectation, content: .document(.webPage)).kind == "fail")
        }
    }

    @Test(arguments: ["gzip", "br", "GZIP", "identity, gzip", "deflate", "zstd", "x-gzip"])
    func anEncodedBodyIsRefused(coding: String) {
        guard case .fail(let error) = verdict(head(200, ["content-encoding": coding]), content: .media(.id3)) else {
            Issue.record("\(coding) was accepted")
            return
        }
        #expect(error.message.hasPrefix("the server sent the file with Content-Encoding "))
    }

    @Test(arguments: ["none", "binary", "UTF-8", "Identity", "aws-chunked", "utf-8, identity", "x-own", ""])
    func aValueThatIsNoCodingIsIgnored(coding: String) {
        let head = head(200, ["content-encoding": coding])
        #expect(!ResponseVerdict.needsContent(head, offset: 0, pin: nil, hasBytes: false))
        #expect(verdict(head).kind == "accept")
    }

    // MARK: Other statuses

    @Test func aRangeErrorConfirmsTheSizeOrShowsAChange() {
        let sized = head(416, ["content-range": "bytes */1000"])
        for pin in [nil, pin] {
            let verdict = ResponseVerdict(sized, offset: 1_000, ranged: true, pin: pin, expects: .media)
            #expect(verdict == .atEnd(total: 1_000))
        }
        #expect(ranged(head(416), pin: pin) == .stale)
        #expect(ranged(head(416), pin: nil).kind == "fail", "nothing was known, so nothing can have changed")
        guard case .fail(let error) = verdict(sized, pin: pin) else {
            Issue.record("each further request for the whole would get the same response")
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
