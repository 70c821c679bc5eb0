/// The way in which a response delimits its body (RFC 9112 §6.3).
package enum BodyFraming: Sendable, Equatable {
    /// Content-Length, in bytes.
    case length(Int64)
    /// Transfer-Encoding: chunked. The body marks its own end; a Content-Length is ignored.
    case chunked
    /// Neither field is present. The body ends when the server closes the connection.
    case untilClose
    /// The fields are malformed or contradict each other, for the reason in the text. The body must not be used.
    case invalid(String)

    /// The maximum size: 16 TiB, the largest file of ext4.
    package static let largestSize: Int64 = 1 << 44

    /// - Parameters:
    ///   - length: The value of Content-Length. If the response has several such lines, their values are joined by
    ///     commas.
    ///   - coding: The value of Transfer-Encoding, joined in the same way.
    package init(length: String?, coding: String?) {
        // RFC 2616 defined `identity` as no coding.
        let codings = Self.items(coding ?? "").map { $0.lowercased() }.filter { $0 != "identity" && !$0.isEmpty }
        if !codings.isEmpty {
            // A server may send other codings only if the request permits them with TE, and double chunking is invalid.
            self =
                codings == ["chunked"]
                ? .chunked : .invalid("the server sent Transfer-Encoding \(codings.joined(separator: ", "))")
            return
        }
        guard let length else {
            self = .untilClose
            return
        }
        let values = Set(Self.items(length).map { Int64(digits: $0) })
        if values.count > 1 {
            self = .invalid("the server sent two different Content-Lengths")
        } else if let value = values.first ?? nil, value <= Self.largestSize {
            self = .length(value)
        } else {
            self = .invalid("the server sent a Content-Length that is not the size of a file")
        }
    }

    static func items(_ text: String) -> [Substring] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { item in
            var item = item.drop { $0 == " " || $0 == "\t" }
            while item.last == " " || item.last == "\t" { item.removeLast() }
            return item
        }
    }
}
