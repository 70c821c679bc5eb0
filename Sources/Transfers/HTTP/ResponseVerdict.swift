/// The identity of the rendition (version of the media file) to which a download is bound: its total size and its
/// strong validator.
///
/// All bytes of a cache file belong to one pin. A response that disagrees with this pin is never written to the file.
package struct Pin: Sendable, Equatable {
    /// The size in bytes; `nil` if the server has not stated it.
    package var total: Int64?
    /// `nil` without a strong validator.
    package var validator: Validator?
    /// Whether the server supports range requests; `true` until shown otherwise.
    package var acceptsRanges: Bool = true
}

/// The meaning of a response head for the download.
package enum ResponseVerdict: Sendable, Equatable {
    /// The body contains the file's bytes from `offset` to `end`, or to the file's end. If `compare` is true, no strong
    /// validator proves that the body is of the same rendition, so its bytes have to be compared with bytes that are
    /// already in the cache file.
    case accept(offset: Int64, end: Int64?, pin: Pin, compare: Bool)
    /// The body is another rendition, from byte 0, and starts a new generation.
    case replaced(pin: Pin)
    /// The rendition has changed, but this body is unusable.
    case stale
    /// The response does not match the request. None of its bytes may be stored.
    case drop(reason: String)
    /// All requested bytes are beyond the end of the file. A 416 response has stated the file's size, `total`.
    case atEnd(total: Int64)
    /// The server says that the file is empty, which no episode is.
    case empty
    /// A transient failure.
    case retry(TransferError, after: Duration?)
    /// A permanent failure.
    case fail(TransferError)
}

extension ResponseVerdict {
    /// Evaluates the head of a response.
    ///
    /// - Parameters:
    ///   - head: The response after redirects.
    ///   - offset: The first requested byte.
    ///   - ranged: Whether the request had a Range.
    ///   - pin: The rendition to which the download is bound, if any.
    ///   - expects: The expected content.
    ///   - content: The kind of content that the first bytes of the body show. Required if `needsContent` returned
    ///     `true`.
    package init(
        _ head: ResponseHead, offset: Int64, ranged: Bool, pin: Pin?, expects: ContentExpectation,
        content: BodyContent? = nil
    ) {
        switch head.status {
        case 200:
            self = Self.whole(head, ranged: ranged, pin: pin, expects, content)
        case 206:
            // Some servers answer a request without a Range with 206. A 206 with the whole file is equivalent to a 200.
            if !ranged {
                guard let content = head.contentRange, let total = content.total, content.range == 0..<total else {
                    self = .drop(reason: "the server sent a part that was not requested")
                    return
                }
            }
            self = Self.part(head, offset: offset, pin: pin, expects, content)
        case 416:
            guard ranged else {
                self = .fail(TransferError(.unusable, "the server answered 416 to a request for the whole file"))
                return
            }
            guard let total = head.contentRange?.total else {
                self = pin == nil ? .fail(TransferError(.unusable, "the server answered 416")) : .stale
                return
            }
            self = total == 0 ? .empty : .atEnd(total: total)
        default:
            self = Self.failure(head)
        }
    }

    /// Returns whether the first bytes are needed to evaluate a response: if its head suggests that the body is not
    /// media, or if the body may replace present bytes, which an error page must not do. Any other response is
    /// evaluated by its head at once, so that an open does not wait longer; its bytes are examined before they are
    /// stored.
    ///
    /// - Parameter hasBytes: Whether bytes of the rendition are present.
    package static func needsContent(_ head: ResponseHead, offset: Int64, pin: Pin?, hasBytes: Bool) -> Bool {
        switch head.status {
        case 200:
            if head.doubt > .none { return true }
            return hasBytes && pin?.validator?.agrees(with: head) != true
        // No format can be recognized in the middle of a file.
        case 206: return head.doubt > .none && offset == 0
        default: return false
        }
    }

    /// Returns the reason why the body cannot be used, by its framing, coding, type and first bytes; `nil` if it can.
    private static func unusableBody(
        _ head: ResponseHead, offset: Int64, _ expects: ContentExpectation, _ content: BodyContent?
    ) -> TransferError? {
        if case .invalid(let reason) = head.framing { return TransferError(.unusable, reason) }
        if let coding = head.contentCoding {
            return TransferError(.unusable, "the server sent the file with Content-Encoding \(coding)")
        }
        guard offset == 0 else { return nil }
        if let content { return expects.refusal(of: content, head) }
        return head.doubt > .none && expects == .media ? ContentExpectation.refusal(head) : nil
    }

    private static func whole(
        _ head: ResponseHead, ranged: Bool, pin: Pin?, _ expects: ContentExpectation, _ content: BodyContent?
    ) -> ResponseVerdict {
        if head.contentLength == 0 { return .empty }
        if let error = unusableBody(head, offset: 0, expects, content) { return .fail(error) }
        if head.isPartInDisguise {
            let reason = "the server sent a part as if it were the whole (status 200 with Content-Range)"
            return ranged ? .drop(reason: reason) : .fail(TransferError(.unusable, reason))
        }
        let saysNoRanges = head["accept-ranges"]?.lowercased() == "none"
        let found = Pin(total: head.contentLength, validator: Validator(head), acceptsRanges: !saysNoRanges)
        // A server answers a range request with the whole file for one of two reasons. If the If-Range condition is
        // false, the file is another rendition. Otherwise the server does not support ranges, and the rendition may be
        // the same.
        var same = found
        if ranged { same.acceptsRanges = false }
        guard let pin else { return .accept(offset: 0, end: same.total, pin: same, compare: false) }
        if let total = pin.total, let other = found.total, total != other { return .replaced(pin: found) }
        let agreement = pin.validator.map { $0.agrees(with: head) } ?? nil
        if agreement == false { return .replaced(pin: found) }
        // No validator proves the rendition, and the response states no length. So nothing shows that its body has the
        // known size.
        if agreement == nil, pin.total != nil, found.total == nil { return .replaced(pin: found) }
        let merged = merged(pin, same)
        return .accept(offset: 0, end: merged.total, pin: merged, compare: agreement == nil)
    }

    private static func part(
        _ head: ResponseHead, offset: Int64, pin: Pin?, _ expects: ContentExpectation, _ content: BodyContent?
    ) -> ResponseVerdict {
        if let error = unusableBody(head, offset: offset, expects, content) { return .fail(error) }
        guard let content = head.contentRange, let range = content.range else {
            return .drop(reason: "the server sent a part without saying which (no Content-Range)")
        }
        guard range.lowerBound == offset else {
            return .drop(reason: "the server sent bytes from \(range.lowerBound) where \(offset) was requested")
        }
        switch head.framing {
        case .length(range.upperBound - range.lowerBound), .chunked, .untilClose, .invalid: break
        case .length: return .drop(reason: "Content-Length and Content-Range disagree")
        }
        let found = Pin(total: content.total, validator: Validator(head))
        guard let pin else { return .accept(offset: offset, end: range.upperBound, pin: found, compare: false) }
        let agreement = pin.validator.map { $0.agrees(with: head) } ?? nil
        if agreement == false { return .stale }
        if let total = pin.total {
            if let other = content.total, total != other {
                return agreement == true
                    ? .drop(reason: "the server gives \(other) bytes as the size, instead of \(total)") : .stale
            }
            if range.upperBound > total { return .drop(reason: "the server sent bytes from beyond the end") }
        }
        let merged = merged(pin, found)
        switch pin.validator {
        case .entityTag:
            // RFC 9110 §15.3.7 requires the tag in a 206 too. A server that omits it may not support If-Range.
            return .accept(offset: offset, end: range.upperBound, pin: merged, compare: agreement == nil)
        case .lastModified:
            // A server should omit Last-Modified in a 206 to a request with If-Range (same section): the status alone
            // confirms the date.
            return .accept(offset: offset, end: range.upperBound, pin: merged, compare: false)
        case nil:
            return .accept(offset: offset, end: range.upperBound, pin: merged, compare: true)
        }
    }

    private static func merged(_ pin: Pin, _ found: Pin) -> Pin {
        Pin(
            total: pin.total ?? found.total, validator: pin.validator ?? found.validator,
            acceptsRanges: pin.acceptsRanges && found.acceptsRanges)
    }

    private static func failure(_ head: ResponseHead) -> ResponseVerdict {
        let says = "the server answered \(head.status)"
        switch head.status {
        case 401, 403: return .fail(TransferError(.refused, says))
        case 404, 410: return .fail(TransferError(.missing, says))
        case 408, 425, 429, 500...599:
            return .retry(TransferError(.failed, says), after: head.retryAfter)
        case 400...499: return .fail(TransferError(.failed, says))
        default: return .fail(TransferError(.unusable, says))
        }
    }
}
