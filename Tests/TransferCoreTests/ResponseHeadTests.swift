import Testing

@testable import Transfers

@Suite struct HTTPDateTests {
    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Wed, 31 Dec 2025 23:59:60 GMT", 1_767_225_600),
        ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
    ])
    func datesOfHeaderFieldsAreRead(text: String, seconds: Int64) {
        #expect(HTTPDate.seconds(text) == seconds)
    }

    @Test(arguments: [
        "", "now", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nix 1994 08:49:37 GMT", "Sun, 06 Nov 1969 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37:11 GMT", "06 Nov 1994 08:49:37 GMT",
    ])
    func otherTextIsNoDate(text: String) {
        #expect(HTTPDate.seconds(text) == nil)
    }
}

@Suite struct ResponseHeadTests {
    private func head(_ fields: [String: String]) -> ResponseHead { ResponseHead(status: 200, fields: fields) }

    @Test(
        arguments: [
            ("audio/mpeg", "audio/mpeg"), ("Audio/MPEG; charset=x", "audio/mpeg"), (" text/html ;q", "text/html"),
            ("; charset=utf-8", nil),
        ] as [(String, String?)])
    func theMediaTypeComesWithoutParameters(text: String, type: String?) {
        #expect(head(["content-type": text]).mediaType == type)
    }

    @Test func retryAfterIsSecondsOrADateAgainstTheServersOwnClock() {
        #expect(head(["retry-after": "120"]).retryAfter == .seconds(120))
        #expect(head(["retry-after": "-1"]).retryAfter == nil)
        #expect(head(["retry-after": "soon"]).retryAfter == nil)
        let date = "Sun, 06 Nov 1994 08:50:37 GMT"
        #expect(head(["retry-after": date, "date": "Sun, 06 Nov 1994 08:49:37 GMT"]).retryAfter == .seconds(60))
        #expect(head(["retry-after": date, "date": "Sun, 06 Nov 1994 09:49:37 GMT"]).retryAfter == .zero)
        #expect(head(["retry-after": date]).retryAfter == nil)
    }

    @Test(
        arguments: [
            ("bytes 0-99/1000", 0..<100, 1_000), ("bytes 5-5/6", 5..<6, 6), ("bytes 0-99/*", 0..<100, nil),
            ("bytes */1000", nil, 1_000), ("BYTES 0-0/1", 0..<1, 1), ("bytes 5-5/6, bytes 5-5/6", 5..<6, 6),
        ] as [(String, Range<Int64>?, Int64?)])
    func contentRangesAreRead(text: String, range: Range<Int64>?, total: Int64?) {
        #expect(head(["content-range": text]).contentRange == ContentRange(range: range, total: total))
    }

    @Test(arguments: [
        "", "bytes", "bytes 0-99", "bytes */*", "items 0-99/1000", "bytes 99-0/1000", "bytes 0-1000/1000",
        "bytes -1-5/10", "bytes 0-+5/10", "bytes 0-5/-10", "bytes 0-5/10/11", "bytes 0-5-6/10",
        "bytes 0-9223372036854775807/*", "0-99/1000", "bytes 0-99/9223372036854775807", "bytes */17592186044417",
        "bytes 0-99/1000, bytes 0-99/1001", "bytes 0-9/10, 20-29/30",
    ])
    func otherTextIsNoContentRange(text: String) {
        #expect(head(["content-range": text]).contentRange == nil)
    }
}

@Suite struct ValidatorTests {
    private let date = "Sun, 06 Nov 1994 09:49:37 GMT"
    private let hourBefore = "Sun, 06 Nov 1994 08:49:37 GMT"

    private func validator(_ fields: [String: String]) -> Validator? {
        Validator(ResponseHead(status: 200, fields: fields))
    }

    @Test func aStrongTagIsTheBestValidator() {
        #expect(validator(["etag": "\"v1\""]) == .entityTag("\"v1\""))
        #expect(validator(["etag": "\"\""]) == .entityTag("\"\""))
        #expect(validator(["etag": "\"v1\"", "last-modified": hourBefore, "date": date]) == .entityTag("\"v1\""))
    }

    @Test(arguments: ["W/\"v1\"", "v1", "\"", "\"a\"b\"", "\"a b\"", "\"é\"", "\"\u{FFFD}\"", ""])
    func anyOtherTagIsNoValidator(tag: String) {
        #expect(validator(["etag": tag]) == nil)
        #expect(validator(["etag": tag, "last-modified": hourBefore, "date": date]) == .lastModified(hourBefore))
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 09:48:37 GMT", true), ("Sun, 06 Nov 1994 09:48:38 GMT", false),
        ("Sun, 06 Nov 1994 09:49:37 GMT", false), ("Sun, 06 Nov 1994 10:49:37 GMT", false), ("yesterday", false),
    ])
    func aModificationDateIsStrongAMinuteLater(modified: String, isStrong: Bool) {
        #expect(validator(["last-modified": modified, "date": date]) == (isStrong ? .lastModified(modified) : nil))
        #expect(validator(["last-modified": modified]) == nil, "without a clock to compare with it is weak")
    }

    @Test func agreementIsShownOnlyByTheSameField() {
        func head(_ fields: [String: String]) -> ResponseHead { ResponseHead(status: 206, fields: fields) }
        let tag = Validator.entityTag("\"v1\"")
        #expect(tag.agrees(with: head(["etag": "\"v1\""])) == true)
        #expect(tag.agrees(with: head(["etag": "\"v2\""])) == false)
        #expect(tag.agrees(with: head(["etag": "W/\"v1\""])) == nil)
        #expect(tag.agrees(with: head(["last-modified": hourBefore, "date": date])) == nil)
        let modified = Validator.lastModified(hourBefore)
        #expect(modified.agrees(with: head(["last-modified": hourBefore])) == true)
        #expect(modified.agrees(with: head(["last-modified": date])) == false)
        #expect(modified.agrees(with: head(["etag": "\"v1\""])) == nil)
    }

    @Test(arguments: [Validator.entityTag("\"a:b\""), .lastModified("Sun, 06 Nov 1994 08:49:37 GMT")])
    func theStoredFormIsReadBack(validator: Validator) {
        #expect(Validator(text: validator.text) == validator)
        #expect(Validator(text: validator.headerValue) == nil)
    }
}
