import TestSupport

@testable import Transfers

/// A server that responds as RFC 9110 requires, or with random faults, for a file whose renditions (its successive
/// contents) differ in every byte.
struct ModelServer {
    enum Tags: CaseIterable {
        case strong, weak, none
    }

    var tags: Tags
    var hasRanges: Bool
    var sendsLength: Bool
    /// The percentage of faulty responses.
    var badness = 0
    /// The percentage of bodies that break off early, among those with a known end.
    var brokenness = 0
    /// The offset at which every body with a known end breaks off if it contains that offset, whatever its head
    /// announces.
    var stopsAt: Int64?
    /// The maximum length of a 206's body, in bytes.
    var largestPart: Int64?
    /// The size of each rendition so far, in bytes; the last one is served.
    private(set) var sizes: [Int64]

    struct Answer {
        var head: ResponseHead
        var rendition: Int
        var body: Range<Int64>
        /// Whether the whole body arrives.
        var isWhole = true
        /// Whether the end of the body can be distinguished from a broken connection.
        var hasKnownEnd = true
        /// The content detected from the first bytes of the body. A web page contains no byte of any rendition.
        var content = BodyContent.media(.id3)
    }

    /// A server with random tags. The percentages are the chances that it has ranges, and that it sends the length.
    init(size: Int64, ranges: Int, lengths: Int, _ random: inout SeededGenerator) {
        tags = Tags.allCases.randomElement(using: &random) ?? .strong
        hasRanges = random.chance(ranges)
        sendsLength = random.chance(lengths)
        sizes = [size]
    }

    var rendition: Int { sizes.count - 1 }

    /// The number in `Answer.rendition` if a web page is sent instead of a rendition.
    static let page = 7
    var size: Int64 { sizes[rendition] }

    mutating func change(size: Int64) { sizes.append(size) }

    /// Returns the byte at an offset of a rendition. At each offset, consecutive renditions have different bytes.
    static func byte(_ rendition: Int, _ offset: Int64) -> UInt8 {
        UInt8(truncatingIfNeeded: offset &* 7 + Int64(rendition))
    }

    func answer(_ request: DownloadMachine.ConnectRequest, _ random: inout SeededGenerator) -> Answer {
        var answer = goodAnswer(request)
        if random.chance(badness) { spoil(&answer, request, &random) }
        if let stopsAt, answer.hasKnownEnd, answer.body.contains(stopsAt) {
            answer.body = answer.body.lowerBound..<stopsAt
            answer.isWhole = false
        }
        if answer.hasKnownEnd, random.chance(brokenness), !answer.body.isEmpty {
            let end = Int64.random(in: answer.body.lowerBound..<answer.body.upperBound, using: &random)
            answer.body = answer.body.lowerBound..<end
            answer.isWhole = false
        }
        return answer
    }

    private func goodAnswer(_ request: DownloadMachine.ConnectRequest) -> Answer {
        var fields = ["content-type": "audio/mpeg"]
        let tag = "\"\(rendition)\""
        switch tags {
        case .strong: fields["etag"] = tag
        case .weak: fields["etag"] = "W/" + tag
        case .none: break
        }
        let holds = request.ifRange.map { tags == .strong && $0 == .entityTag(tag) } ?? true
        guard request.ranged, hasRanges, holds else {
            if sendsLength { fields["content-length"] = "\(size)" }
            let head = ResponseHead(status: 200, fields: fields)
            return Answer(head: head, rendition: rendition, body: 0..<size, hasKnownEnd: sendsLength)
        }
        guard request.offset < size else {
            fields["content-range"] = "bytes */\(size)"
            return Answer(head: ResponseHead(status: 416, fields: fields), rendition: rendition, body: 0..<0)
        }
        var end = min(request.end ?? size, size)
        if let largestPart { end = min(end, request.offset + largestPart) }
        let total = sendsLength ? "\(size)" : "*"
        fields["content-range"] = "bytes \(request.offset)-\(end - 1)/\(total)"
        let head = ResponseHead(status: 206, fields: fields)
        return Answer(head: head, rendition: rendition, body: request.offset..<end)
    }

    private func spoil(
        _ answer: inout Answer, _ request: DownloadMachine.ConnectRequest, _ random: inout SeededGenerator
    ) {
        switch Int.random(in: 0..<14, using: &random) {
        case 0: answer.head.status = 503
        case 1:
            answer.head.status = 429
            answer.head.fields["retry-after"] = "\(Int.random(in: 0..<4, using: &random))"
        case 2: answer.head.status = 404
        case 3: answer.head.fields["content-type"] = "text/html"
        case 4: answer.head.fields["content-range"] = nil
        case 5: answer.head.fields["content-range"] = "bytes \(request.offset + 1)-\(size)/\(size + 1)"
        case 6: answer.head.fields["content-length"] = "99999999999999999999"
        case 7: answer.head.fields["etag"] = nil
        case 8:
            answer.head.status = 416
            answer.head.fields["content-range"] = "bytes */\(size)"
        case 9:
            // The server sends a part even if If-Range does not match, and sends no ETag that would reveal the
            // mismatch.
            guard request.ranged, hasRanges, request.offset < size else { return }
            answer.head.status = 206
            answer.head.fields["etag"] = nil
            answer.head.fields["content-length"] = nil
            answer.head.fields["content-range"] = "bytes \(request.offset)-\(size - 1)/\(size)"
            answer.body = request.offset..<size
        case 10:
            // A web page that a captive portal sends in place of any file.
            let type = random.chance(50) ? "text/html" : "audio/mpeg"
            answer = Answer(
                head: ResponseHead(status: 200, fields: ["content-type": type, "content-length": "77"]),
                rendition: Self.page, body: 0..<77, content: .document(.webPage))
        case 11:
            answer.head.fields["transfer-encoding"] = "chunked"
            answer.head.fields["content-length"] = "10"
        case 12:
            answer.head = ResponseHead(status: 200, fields: ["content-type": "audio/mpeg"])
            if random.chance(50) { answer.head.fields["content-length"] = "0" }
            answer.body = 0..<0
            answer.hasKnownEnd = false
        default:
            // The server sends the whole file although the range is valid.
            answer.head.status = 200
            answer.head.fields["content-range"] = nil
            if sendsLength { answer.head.fields["content-length"] = "\(size)" }
            answer.body = 0..<size
            answer.hasKnownEnd = sendsLength
        }
    }
}
