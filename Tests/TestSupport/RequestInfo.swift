import Foundation
import Glibc

/// The range of a Range field (RFC 9110 §14.1.2). Suffixes and sets of several ranges are ignored: podfs requests none.
package enum RequestedRange: Sendable, Hashable {
    /// `bytes=4-9`, both ends included.
    case closed(Int, Int)
    /// `bytes=4-`
    case from(Int)

    init?(_ field: String) {
        guard field.hasPrefix("bytes=") else { return nil }
        let parts = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        guard let first = Int(parts[0]) else { return nil }
        if parts[1].isEmpty {
            self = .from(first)
        } else {
            guard let last = Int(parts[1]), first <= last else { return nil }
            self = .closed(first, last)
        }
    }

    /// The position of the first requested byte.
    package var firstByte: Int {
        switch self {
        case .closed(let first, _), .from(let first): first
        }
    }

    /// Returns the range for a content of this size, or `nil` if it cannot be satisfied.
    func resolved(size: Int) -> Range<Int>? {
        switch self {
        case .closed(let first, let last):
            first < size ? first..<min(last, size - 1) + 1 : nil
        case .from(let first):
            first < size ? first..<size : nil
        }
    }
}

/// A request as received by the test server.
package struct RequestInfo: Sendable {
    /// The position among the requests for the same path, from 0, in the order in which they arrived completely.
    package let index: Int
    /// The number of its connection, from 0 in the order of acceptance.
    package let connection: Int
    package let method: String
    /// The path as sent, without the query.
    package let path: String
    /// The text after the question mark, as sent.
    package let query: String?
    package let headers: HeaderFields
    package let range: RequestedRange?
    package let body: [UInt8]
}

/// A copy of the test server's record of a request.
package struct LoggedRequest: Sendable {
    package let request: RequestInfo
    /// The status; `nil` until the response has been decided.
    package internal(set) var status: Int?
    /// The body bytes written to the kernel, without chunk framing. Not all need have reached the client.
    package internal(set) var bodyBytesWritten = 0
    /// Whether the response has ended, successfully or not.
    package internal(set) var isFinished = false
    /// Whether the response was written as planned. It is false if the client or `stop` ended the response early.
    package internal(set) var isWhole = false

    package var method: String { request.method }
    package var path: String { request.path }
    package var headers: HeaderFields { request.headers }
    package var range: RequestedRange? { request.range }
}

/// The first line and the fields of a request.
struct RequestHead: Sendable {
    let method: String
    let target: String
    let version: String
    let headers: HeaderFields

    /// Removes the next head from `input`, the bytes received so far.
    ///
    /// - Returns: `nil` if it is incomplete. Throws for anything that is no head of at most 256 KiB.
    init?(from input: inout [UInt8]) throws {
        guard let position = input.firstRange(of: Array("\r\n\r\n".utf8)) else {
            guard input.count < 256 << 10 else { throw SystemCallError("recv", code: EMSGSIZE) }
            return nil
        }
        // "\r\n" is one character of a Swift string.
        let lines = String(decoding: input[..<position.lowerBound], as: UTF8.self).split(separator: "\r\n")
        input.removeSubrange(..<position.upperBound)
        let words = lines.first?.split(separator: " ").map(String.init) ?? []
        let fields = lines.dropFirst().map { $0.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false) }
        guard words.count == 3, fields.allSatisfy({ $0.count == 2 }) else {
            throw SystemCallError("recv", code: EBADMSG)
        }
        (method, target, version) = (words[0], words[1], words[2])
        var headers = HeaderFields()
        for field in fields { headers.append(String(field[0]), field[1].trimmingCharacters(in: .whitespaces)) }
        self.headers = headers
    }
}
