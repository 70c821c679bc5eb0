/// The identity of a rendition, one version of a media file: a *strong* validator in the sense of RFC 9110 §8.8.1.
///
/// Weak entity tags are not used: two bodies with the same weak tag may differ in bytes, and podfs joins bodies at byte
/// offsets.
package enum Validator: Sendable, Hashable {
    /// A strong entity tag with its quotation marks.
    case entityTag(String)
    /// A Last-Modified date that is strong, as sent.
    case lastModified(String)

    /// The minimum time in seconds by which a strong Last-Modified date precedes the Date of its response. RFC 9110
    /// §8.8.2.2 requires at least one second and synchronized clocks. RFC 7232 required 60 s if it is unknown whether
    /// the clocks are synchronized. Here it is unknown.
    private static let strongAfter: Int64 = 60

    /// Creates the validator of a response head: its strong entity tag, or else its strong Last-Modified date.
    package init?(_ head: ResponseHead) {
        if let tag = head["etag"], Self.isStrongTag(tag) {
            self = .entityTag(tag)
            return
        }
        if let modified = head["last-modified"], let moment = HTTPDate.seconds(modified),
            let date = head["date"].flatMap(HTTPDate.seconds), date - moment >= Self.strongAfter
        {
            self = .lastModified(modified)
            return
        }
        return nil
    }

    /// Returns whether a tag is strong according to RFC 9110 §8.8.3 and contains no `obs-text` (non-ASCII bytes). Such
    /// bytes are not preserved in a string, so two different tags could become equal.
    private static func isStrongTag(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22 else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) }
    }

    /// Returns whether a response is of the rendition that this validator identifies.
    ///
    /// - Returns: `nil` if the response has no such field, or a weak tag. A server may omit the field in some
    ///   responses, or only some of its machines may send it.
    package func agrees(with head: ResponseHead) -> Bool? {
        switch self {
        case .entityTag(let tag):
            guard let other = head["etag"], Self.isStrongTag(other) else { return nil }
            return tag == other
        case .lastModified(let date):
            return head["last-modified"].map { $0 == date }
        }
    }

    /// The value of the If-Range field.
    package var headerValue: String {
        switch self {
        case .entityTag(let tag): return tag
        case .lastModified(let date): return date
        }
    }

    /// The form for storage, parsed by `init(text:)`.
    package var text: String {
        switch self {
        case .entityTag(let tag): return "etag:" + tag
        case .lastModified(let date): return "date:" + date
        }
    }

    /// Parses `text`; `nil` if it is malformed.
    package init?(text: String) {
        if text.hasPrefix("etag:") {
            self = .entityTag(String(text.dropFirst(5)))
        } else if text.hasPrefix("date:") {
            self = .lastModified(String(text.dropFirst(5)))
        } else {
            return nil
        }
    }
}
