/// What tells one rendition of a file from another: a *strong* validator in the sense of RFC 9110 §8.8.1.
///
/// Weak entity tags are no validators here: two bodies with the same weak tag may differ in bytes, and podfs joins
/// bodies at byte positions.
package enum Validator: Sendable, Hashable {
    /// A strong entity tag with its quotation marks.
    case entityTag(String)
    /// A Last-Modified date that counts as strong, as sent.
    case lastModified(String)

    /// How much older than the answer's Date a Last-Modified must be to be strong, in seconds. RFC 9110 §8.8.2.2 asks
    /// for at least one second and clocks known to agree; RFC 7232 asked for 60 s where that is not known, and here it
    /// never is.
    private static let strongAfter: Int64 = 60

    /// The best strong validator in a response head.
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

    /// RFC 9110 §8.8.3 without `obs-text`: what is not ASCII does not survive as text, so two such tags could look alike.
    private static func isStrongTag(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22 else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) }
    }

    /// Whether an answer is of the rendition that this names.
    ///
    /// - Returns: `nil` when the answer does not say: a server may leave a field out, or send it from one machine and
    ///   not from another.
    package func agrees(with head: ResponseHead) -> Bool? {
        switch self {
        case .entityTag(let tag):
            guard let other = head["etag"], Self.isStrongTag(other) else { return nil }
            return tag == other
        case .lastModified(let date):
            return head["last-modified"].map { $0 == date }
        }
    }

    /// The value of an If-Range header field.
    package var headerValue: String {
        switch self {
        case .entityTag(let tag): return tag
        case .lastModified(let date): return date
        }
    }

    /// A form for storage, read back by `init(text:)`.
    package var text: String {
        switch self {
        case .entityTag(let tag): return "etag:" + tag
        case .lastModified(let date): return "date:" + date
        }
    }

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
