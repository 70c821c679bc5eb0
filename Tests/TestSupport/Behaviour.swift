/// The test server's behaviour for one request, correct or faulty.
///
/// Start from `.normal` or another static form and chain: `.throttle(bytesPerSecond: 4096).close(after: 1000)`. Byte
/// positions are counted from the start of the response's body, whatever range of the resource the body contains.
package struct Behaviour: Sendable {
    package enum Framing: Sendable, Equatable {
        /// The correct Content-Length, unless the resource sends none.
        case length
        /// This text as Content-Length. The connection is closed after the body.
        case declared(String)
        /// Transfer-Encoding: chunked.
        case chunked
        /// No length: the end of the connection ends the body.
        case closeDelimited
    }

    package enum Ending: Sendable, Equatable {
        case complete
        /// An orderly close (FIN) after this many bytes of the body.
        case close(after: Int)
        /// A reset (RST) after this many bytes of the body have arrived at the peer.
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
    var strayBytes: [UInt8] = []

    /// The response that RFC 9110 requires for the request and the resource.
    package static let normal = Behaviour()

    private func with(_ change: (inout Behaviour) -> Void) -> Behaviour {
        var copy = self
        change(&copy)
        return copy
    }

    /// Responds with this status to any request, with this body instead of the resource's.
    package func status(_ code: Int, headers: [(String, String)] = [], body: String = "") -> Behaviour {
        with {
            $0.status = code
            $0.body = Array(body.utf8)
            $0.headers += headers
        }
    }

    package static func redirect(to location: String, status: Int = 302) -> Behaviour {
        .status(status, headers: [("Location", location)])
    }

    /// Responds with 429, 503 or the like, and Retry-After: seconds or an IMF-fixdate.
    package func retryAfter(_ value: String, status: Int = 503) -> Behaviour {
        self.status(status, headers: [("Retry-After", value)], body: "later")
    }

    /// Responds with 416 to any request. `total` is the size in Content-Range; without it the field is left out.
    package static func rangeNotSatisfiable(total: Int? = nil) -> Behaviour {
        .status(416, headers: total.map { [("Content-Range", "bytes */\($0)")] } ?? [])
    }

    /// Adds a field, or replaces the server's own.
    package func header(_ name: String, _ value: String) -> Behaviour { with { $0.headers.append((name, value)) } }

    package func withoutHeader(_ name: String) -> Behaviour { with { $0.removedHeaders.append(name) } }

    /// Serves another representation than the path's: a new ETag, other content, another size.
    package func resource(_ resource: Resource) -> Behaviour { with { $0.resource = resource } }

    /// Responds to a range request with 200 and the whole content.
    package func ignoreRange() -> Behaviour { with { $0.ignoresRange = true } }

    /// Sends this text as Content-Range, with the requested bytes.
    package func contentRange(_ value: String) -> Behaviour { header("Content-Range", value) }

    /// Sends the correct range with this total size in Content-Range: digits, `*`, or anything else.
    package static func wrongTotal(_ total: String) -> Behaviour { normal.with { $0.contentRangeTotal = total } }

    /// Sends 206 without Content-Range.
    package static func withoutContentRange() -> Behaviour { normal.withoutHeader("Content-Range") }

    /// Sends these lines as the head, unchecked, and closes the connection after the body.
    package func rawHead(_ lines: String...) -> Behaviour { with { $0.rawHead = lines } }

    /// Sends bytes that belong to no response, before the response to the next request of the same connection.
    package func stray(_ text: String) -> Behaviour { with { $0.strayBytes = Array(text.utf8) } }

    package func closeDelimited() -> Behaviour { with { $0.framing = .closeDelimited } }

    package func chunked() -> Behaviour { with { $0.framing = .chunked } }

    /// Sends this text as Content-Length, such as a wrong, negative or malformed number.
    package static func contentLength(_ value: String) -> Behaviour { normal.with { $0.framing = .declared(value) } }

    /// Sends `Content-Encoding: gzip` with bytes that are not gzip.
    package static func gzipLabelled() -> Behaviour { header("Content-Encoding", "gzip") }

    /// Sends one field of this many bytes.
    package static func hugeHeader(bytes: Int) -> Behaviour {
        header("X-Padding", String(repeating: "a", count: bytes))
    }

    /// Sends this many fields of this many bytes each.
    package static func manyHeaders(_ count: Int, bytes: Int) -> Behaviour {
        let value = String(repeating: "a", count: bytes)
        return normal.with { $0.headers += (0..<count).map { ("X-Padding-\($0)", value) } }
    }

    package func throttle(bytesPerSecond rate: Int) -> Behaviour { with { $0.bytesPerSecond = max(1, rate) } }

    /// Sends the head at this rate, byte by byte.
    package static func slowHead(bytesPerSecond rate: Int) -> Behaviour { normal.with { $0.headBytesPerSecond = rate } }

    /// Pauses the body at the gate's position.
    package func hold(_ gate: Gate) -> Behaviour { with { $0.gate = gate } }

    /// Pauses the head at the gate's position, which is counted in bytes of the head.
    package func holdHead(_ gate: Gate) -> Behaviour { with { $0.headGate = gate } }

    /// Sends nothing after this many bytes of the body, until the client disconnects or the server is stopped.
    package func stall(after position: Int) -> Behaviour { hold(Gate(heldAt: position)) }

    package func close(after position: Int) -> Behaviour { with { $0.ending = .close(after: position) } }

    package func reset(after position: Int) -> Behaviour { with { $0.ending = .reset(after: position) } }
}

extension Behaviour {
    package static func status(_ code: Int, headers: [(String, String)] = [], body: String = "") -> Behaviour {
        normal.status(code, headers: headers, body: body)
    }

    package static func retryAfter(_ value: String, status: Int = 503) -> Behaviour {
        normal.retryAfter(value, status: status)
    }

    package static func header(_ name: String, _ value: String) -> Behaviour { normal.header(name, value) }
    package static func withoutHeader(_ name: String) -> Behaviour { normal.withoutHeader(name) }
    package static func resource(_ resource: Resource) -> Behaviour { normal.resource(resource) }
    package static func ignoreRange() -> Behaviour { normal.ignoreRange() }
    package static func contentRange(_ value: String) -> Behaviour { normal.contentRange(value) }
    package static func closeDelimited() -> Behaviour { normal.closeDelimited() }
    package static func chunked() -> Behaviour { normal.chunked() }
    package static func throttle(bytesPerSecond rate: Int) -> Behaviour { normal.throttle(bytesPerSecond: rate) }
    package static func hold(_ gate: Gate) -> Behaviour { normal.hold(gate) }
    package static func holdHead(_ gate: Gate) -> Behaviour { normal.holdHead(gate) }
    package static func stall(after position: Int) -> Behaviour { normal.stall(after: position) }
    package static func close(after position: Int) -> Behaviour { normal.close(after: position) }
    package static func reset(after position: Int) -> Behaviour { normal.reset(after: position) }
}
