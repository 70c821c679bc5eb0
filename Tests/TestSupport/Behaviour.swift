/// How the test server answers one request, truly or not.
///
/// Start from `.normal` or any of the static forms and chain: `.throttle(bytesPerSecond: 4096).close(after: 1000)`.
/// Byte counts are of the body of that response, from its first byte, whatever range it carries.
package struct Behaviour: Sendable {
    package enum Framing: Sendable, Equatable {
        /// A true Content-Length, unless the resource sends none.
        case length
        /// This text as Content-Length. The connection is closed after the body.
        case declared(String)
        /// Transfer-Encoding: chunked.
        case chunked
        /// No length: the body ends with the connection.
        case closeDelimited
    }

    package enum Ending: Sendable, Equatable {
        case complete
        /// An orderly close (FIN) after so many bytes of the body.
        case close(after: Int)
        /// A reset (RST) after so many bytes of the body have arrived at the peer.
        case reset(after: Int)
    }

    var status: Int?
    var body: [UInt8]?
    var headers: [(String, String)] = []
    var removedHeaders: [String] = []
    var resource: Resource?
    var ignoresRange = false
    var framing: Framing?
    var ending = Ending.complete
    var bytesPerSecond: Int?
    var headBytesPerSecond: Int?
    var gate: Gate?
    var headGate: Gate?
    var contentRangeTotal: String?
    var rawHead: [String]?

    /// What RFC 9110 asks for, given the request and the resource.
    package static let normal = Behaviour()

    private func with(_ change: (inout Behaviour) -> Void) -> Behaviour {
        var copy = self
        change(&copy)
        return copy
    }

    /// This status whatever the request says, with this body instead of the resource's.
    package func status(_ code: Int, headers: [(String, String)] = [], body: String = "") -> Behaviour {
        with {
            $0.status = code
            $0.body = Array(body.utf8)
            $0.headers += headers
        }
    }

    package func redirect(to location: String, status: Int = 302) -> Behaviour {
        self.status(status, headers: [("Location", location)])
    }

    /// 429, 503 and their like, with Retry-After: seconds or an IMF-fixdate.
    package func retryAfter(_ value: String, status: Int = 503) -> Behaviour {
        self.status(status, headers: [("Retry-After", value)], body: "later")
    }

    /// 416 whatever the request asked for. `total` is what Content-Range says the size is, if it is to say something.
    package func rangeNotSatisfiable(total: Int? = nil) -> Behaviour {
        status(416, headers: total.map { [("Content-Range", "bytes */\($0)")] } ?? [])
    }

    /// Adds a field, or replaces one that the server would have sent.
    package func header(_ name: String, _ value: String) -> Behaviour { with { $0.headers.append((name, value)) } }

    package func withoutHeader(_ name: String) -> Behaviour { with { $0.removedHeaders.append(name) } }

    /// Another representation than the path's: a new ETag, other content, another size.
    package func resource(_ resource: Resource) -> Behaviour { with { $0.resource = resource } }

    /// 200 with the whole, although a range was asked for.
    package func ignoreRange() -> Behaviour { with { $0.ignoresRange = true } }

    /// This text as Content-Range, over the bytes that were asked for.
    package func contentRange(_ value: String) -> Behaviour { header("Content-Range", value) }

    /// A Content-Range with the true range and this as the size of the whole: digits, `*`, anything.
    package func wrongTotal(_ total: String) -> Behaviour { with { $0.contentRangeTotal = total } }

    /// 206 without Content-Range.
    package func withoutContentRange() -> Behaviour { withoutHeader("Content-Range") }

    /// These lines as the head, whatever they say, and the connection closed after the body.
    package func rawHead(_ lines: String...) -> Behaviour { with { $0.rawHead = lines } }

    package func closeDelimited() -> Behaviour { with { $0.framing = .closeDelimited } }

    package func chunked() -> Behaviour { with { $0.framing = .chunked } }

    /// This text as Content-Length: too large, too small, negative, absurd.
    package func contentLength(_ value: String) -> Behaviour { with { $0.framing = .declared(value) } }

    /// `Content-Encoding: gzip` over bytes that are not.
    package func gzipLabelled() -> Behaviour { header("Content-Encoding", "gzip") }

    /// One field of this many bytes.
    package func hugeHeader(bytes: Int) -> Behaviour { header("X-Padding", String(repeating: "a", count: bytes)) }

    /// So many fields of this many bytes each.
    package func manyHeaders(_ count: Int, bytes: Int) -> Behaviour {
        let value = String(repeating: "a", count: bytes)
        return with { $0.headers += (0..<count).map { ("X-Padding-\($0)", value) } }
    }

    package func throttle(bytesPerSecond rate: Int) -> Behaviour { with { $0.bytesPerSecond = max(1, rate) } }

    /// The head alone at this rate, byte by byte.
    package func slowHead(bytesPerSecond rate: Int) -> Behaviour { with { $0.headBytesPerSecond = max(1, rate) } }

    /// The body goes no further than the gate lets it.
    package func hold(_ gate: Gate) -> Behaviour { with { $0.gate = gate } }

    /// The head goes no further than the gate lets it; its positions are bytes of the head.
    package func holdHead(_ gate: Gate) -> Behaviour { with { $0.headGate = gate } }

    /// Nothing more comes after so many bytes of the body, until the client goes away or the server is stopped.
    package func stall(after position: Int) -> Behaviour { hold(Gate(heldAt: position)) }

    package func close(after position: Int) -> Behaviour { with { $0.ending = .close(after: position) } }

    package func reset(after position: Int) -> Behaviour { with { $0.ending = .reset(after: position) } }
}

extension Behaviour {
    package static func status(_ code: Int, headers: [(String, String)] = [], body: String = "") -> Behaviour {
        normal.status(code, headers: headers, body: body)
    }

    package static func redirect(to location: String, status: Int = 302) -> Behaviour {
        normal.redirect(to: location, status: status)
    }

    package static func retryAfter(_ value: String, status: Int = 503) -> Behaviour {
        normal.retryAfter(value, status: status)
    }

    package static func rangeNotSatisfiable(total: Int? = nil) -> Behaviour { normal.rangeNotSatisfiable(total: total) }
    package static func header(_ name: String, _ value: String) -> Behaviour { normal.header(name, value) }
    package static func withoutHeader(_ name: String) -> Behaviour { normal.withoutHeader(name) }
    package static func resource(_ resource: Resource) -> Behaviour { normal.resource(resource) }
    package static func ignoreRange() -> Behaviour { normal.ignoreRange() }
    package static func contentRange(_ value: String) -> Behaviour { normal.contentRange(value) }
    package static func wrongTotal(_ total: String) -> Behaviour { normal.wrongTotal(total) }
    package static func withoutContentRange() -> Behaviour { normal.withoutContentRange() }
    package static func closeDelimited() -> Behaviour { normal.closeDelimited() }
    package static func chunked() -> Behaviour { normal.chunked() }
    package static func contentLength(_ value: String) -> Behaviour { normal.contentLength(value) }
    package static func gzipLabelled() -> Behaviour { normal.gzipLabelled() }
    package static func hugeHeader(bytes: Int) -> Behaviour { normal.hugeHeader(bytes: bytes) }
    package static func manyHeaders(_ count: Int, bytes: Int) -> Behaviour {
        normal.manyHeaders(count, bytes: bytes)
    }
    package static func throttle(bytesPerSecond rate: Int) -> Behaviour { normal.throttle(bytesPerSecond: rate) }
    package static func slowHead(bytesPerSecond rate: Int) -> Behaviour { normal.slowHead(bytesPerSecond: rate) }
    package static func hold(_ gate: Gate) -> Behaviour { normal.hold(gate) }
    package static func holdHead(_ gate: Gate) -> Behaviour { normal.holdHead(gate) }
    package static func stall(after position: Int) -> Behaviour { normal.stall(after: position) }
    package static func close(after position: Int) -> Behaviour { normal.close(after: position) }
    package static func reset(after position: Int) -> Behaviour { normal.reset(after: position) }
}
