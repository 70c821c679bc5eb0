import TestSupport
import Testing

@testable import Transfers

/// Responses whose heads state a wrong length or type of the body, and what libcurl and the engine make of them.
@Suite struct TransferEngineFramingTests {
    private let content = TestContent(seed: 91, size: 60_000)

    private var resource: Resource { Resource(content, etag: "\"v1\"") }

    private static let status = "HTTP/1.1 200 OK"
    private static let type = "Content-Type: audio/mpeg"

    // MARK: Lengths

    @Test(arguments: ["10", "60000", "70000", "0", "10, 20", "x"])
    func aChunkedBodyIgnoresANumericContentLength(length: String) async throws {
        // curl checks Content-Length before it knows that the body is chunked. So curl rejects a value that is not a
        // number, although the length would be ignored.
        let isNumber = length.first?.isNumber == true
        for isFirst in [true, false] {
            let coding = "Transfer-Encoding: chunked"
            let bench = try EngineBench(resource) { _ in
                let length = "Content-Length: \(length)"
                return .chunked().rawHead(Self.status, Self.type, isFirst ? length : coding, isFirst ? coding : length)
            }
            guard isNumber else {
                #expect(await failure { try await bench.read(1, 0..<100) }?.code == .unusable)
                continue
            }
            try await bench.download(1, content)
        }
    }

    @Test(arguments: [
        ["Content-Length: 60000", "Content-Length: 60000"], ["Content-Length: 60000, 60000"],
        ["Content-Length: 060000"], ["content-length:60000", "CONTENT-LENGTH:  60000  "],
    ])
    func aRepeatedEqualLengthIsAccepted(lines: [String]) async throws {
        let bench = try EngineBench(resource) { _ in
            .normal.rawHead(Self.status, Self.type, lines[0], lines.last ?? "")
        }
        #expect(try await bench.open(1).total == 60_000)
        try await bench.download(1, content)
    }

    @Test(arguments: [
        (["Content-Length: 10", "Content-Length: 60000"], "the server sent two different Content-Lengths"),
        (["Content-Length: 60000", "Content-Length: 10"], "the server sent two different Content-Lengths"),
        (["Content-Length: 60000, 10"], "the server sent two different Content-Lengths"),
        (["Content-Length: +60000"], "the server sent a Content-Length that is not the size of a file"),
        (["Content-Length: 60000 bytes"], "the server sent a Content-Length that is not the size of a file"),
        (["Content-Length: 60 000"], "the server sent a Content-Length that is not the size of a file"),
        (["Transfer-Encoding: xyz"], "the server sent Transfer-Encoding xyz"),
        (["Transfer-Encoding: gzip"], "the server sent Transfer-Encoding gzip"),
    ])
    func contradictoryOrInvalidLengthsFail(lines: [String], says: String) async throws {
        let bench = try EngineBench(resource) { _ in
            .normal.rawHead(Self.status, Self.type, lines[0], lines.last ?? "")
        }
        let error = try #require(await failure { try await bench.read(1, 0..<100) })
        #expect(error.code == .unusable)
        // For a transfer coding the message may differ, because curl decodes some codings and rejects unknown ones
        // itself.
        #expect(error.message == says || lines[0].hasPrefix("Transfer-Encoding"), "\(error.message)")
        #expect(try bench.engine.cache.names() == [])
    }

    /// Heads that curl parses differently from RFC 9112 (sections 5.1, 5.2). Without a check of its own, podfs would
    /// accept nine bytes as the whole episode.
    @Test(arguments: [
        ["Transfer-Encoding:", " chunked", "Content-Length: 9"], ["Transfer-Encoding : chunked", "Content-Length: 9"],
        ["Content-Length: 9", "Transfer-Encoding:\t", "\tchunked"], ["Content-Length: 9", " 0000"],
        ["Content-Length : 60000", "Content-Length: 9"],
    ])
    func aFoldedOrMalformedLengthFails(lines: [String]) async throws {
        let third = lines.count > 2 ? lines[2] : Self.type
        let bench = try EngineBench(resource) { _ in
            .chunked().rawHead(Self.status, Self.type, lines[0], lines[1], third)
        }
        let error = try #require(await failure { try await bench.read(1, 0..<5) })
        #expect(error.code == .unusable, "\(error.message)")
        #expect(try bench.engine.cache.names() == [])
    }

    @Test func otherFieldsMayBeFolded() async throws {
        let bench = try EngineBench(resource) { _ in
            .normal.rawHead(Self.status, "Content-Type: audio/mpeg;", "\tx=y", "Content-Length: 60000")
        }
        #expect(try await bench.open(1).total == 60_000)
        try await bench.download(1, content)
    }

    /// A feed's response, which is received in memory, also fails if it has two different lengths.
    @Test func anAnswerInMemoryWithTwoLengthsFails() async throws {
        let bench = try EngineBench(resource) { _ in
            .normal.rawHead(Self.status, "Content-Length: 10", "Content-Length: 60000")
        }
        let request = DataRequest(url: bench.server.url("/1.mp3"), limit: 100_000)
        let error = await failure { try await bench.fetch(request) }
        #expect(error == TransferError(.unusable, "the server sent two different Content-Lengths"))
    }

    @Test(arguments: ["bytes 0-29999/60000", "bytes 30000-59999/60000", "bytes 0-29999/*"])
    func aPartWithStatus200IsNotStored(value: String) async throws {
        let short = Resource(TestContent(seed: 91, size: 30_000), etag: "\"v1\"")
        let bench = try EngineBench(short) { request in .ignoreRange().contentRange(value) }
        let error = try #require(await failure { try await bench.read(1, 0..<100) })
        #expect(
            error.message == "the server sent a part as if it were the whole (status 200 with Content-Range)",
            "\(error)")
        #expect(try bench.engine.cache.names() == [])
    }

    // MARK: Bytes that belong to no answer

    /// The body of a 204 or 304, and bytes after the end of any response: they arrive on the connection after the
    /// response, and would be parsed as the head of the next.
    @Test(arguments: [
        Behaviour.status(204).stray("nothing to see"), .status(304).stray(String(repeating: "x", count: 70_000)),
        .status(204, headers: [("Content-Length", "5")]).stray("abcde"),
        .status(204, headers: [("Transfer-Encoding", "chunked")]).stray("5\r\nabcde\r\n0\r\n\r\n"),
        .status(200, body: "<rss/>").stray("\r\n\r\nmore"),
    ])
    func strayBytesSpoilNoOtherRequest(behaviour: Behaviour) async throws {
        let bench = try EngineBench(resource) { _ in .normal }
        bench.server.serve("/stray") { _ in behaviour }
        bench.server.serve("/feed", Resource(text: "<rss/>"))
        func fetch(_ path: String) async throws -> [UInt8] {
            try await bench.fetch(DataRequest(url: bench.server.url(path), limit: 100_000)).bytes
        }
        _ = try await fetch("/stray")
        #expect(try await fetch("/feed") == Array("<rss/>".utf8))
        _ = try await fetch("/stray")
        #expect(try await bench.open(1).total == 60_000)
    }

    @Test func anAnswerWithoutAHeadFails() async throws {
        let bench = try EngineBench(resource) { _ in .normal.rawHead("ID3 and more") }
        let error = try #require(await failure { try await bench.read(1, 0..<100) })
        #expect(error == TransferError(.unusable, "the server's answer has no head (HTTP/0.9)"))
        #expect(bench.server.requests.count == 2, "it is requested once more, on a new connection")
    }

    @Test(arguments: [true, false]) func aServerThatSendsLessThanItAnnouncesFails(hasRanges: Bool) async throws {
        var resource = Resource(content, etag: "\"v1\"")
        resource.supportsRanges = hasRanges
        let bench = try EngineBench(resource) {
            $0.limits.retry.firstDelay = .milliseconds(10)
        } behaviour: { request in
            .close(after: max(0, 40_000 - (hasRanges ? request.range?.firstByte ?? 0 : 0)))
        }
        // The first response starts at the reader's offset if the server supports ranges.
        let end = hasRanges ? 59_000 : 40_000
        let error = try #require(await failure { try await bench.read(1, 59_000..<59_100) })
        #expect(error.message.hasPrefix("the server announces 60000 bytes and sends \(end): "), "\(error.message)")
        #expect(bench.failures == [error])
        #expect(bench.server.requests.count == 3)
        #expect(try await bench.snapshot(1)?.error == error)
    }

    @Test func aTrickleHoldsNoReaderBeyondItsDeadline() async throws {
        let bench = try EngineBench(resource) {
            $0.limits.readerDeadline = .seconds(1)
        } behaviour: { _ in
            .throttle(bytesPerSecond: 20)
        }
        let start = ContinuousClock.now
        let error = await failure { try await bench.read(1, 50_000..<50_100) }
        #expect(error?.code == .timedOut)
        #expect(start.duration(to: .now) < .seconds(20), "the file would take fifty minutes")
        #expect(try await bench.snapshot(1)?.error == error, "the task goes on, and shows why the read failed")
    }

    // MARK: Types

    @Test(
        arguments: [
            "text/plain", "text/html; charset=utf-8", "application/json", "application/xml", "text/xml", "nonsense", "",
        ].map { ("Content-Type", $0) }
            + ["none", "binary", "UTF-8", "identity", "aws-chunked"].map { ("Content-Encoding", $0) })
    func mediaIsAcceptedUnderAnyTypeAndCodingWithoutEffect(field: String, value: String) async throws {
        let bench = try EngineBench(resource) { _ in .header(field, value).close(after: 30_000) }
        #expect(try await bench.open(1).total == 60_000)
        try await bench.download(1, content)
        #expect(bench.source(1)?.generation == 1)
    }

    @Test(arguments: [
        ("<!-- expired --><html><body>Log in", "a web page"), ("<?xml version=\"1.0\"?><Error/>", "an XML document"),
        ("{\"error\":\"expired\"}", "JSON"), ("#EXTM3U\nhttp://127.0.0.1/", "a playlist"),
        ("# mpv EDL v0\n/etc/passwd", "a playlist"), ("Forbidden", "text"),
    ])
    func otherContentIsRefusedUnderMediaAndTextTypes(text: String, name: String) async throws {
        for type in ["audio/mpeg", "application/octet-stream", "text/plain", "text/html"] {
            let bench = try EngineBench(Resource(text: text, contentType: type)) { _ in .normal }
            let error = await failure { try await bench.read(1, 0..<10) }
            #expect(error == TransferError(.unusable, "the server sent \(name) instead of media"), "\(type)")
            #expect(try await bench.snapshot(1)?.received == 0)
        }
    }

    /// A reader gets no byte of a web page, even while only its first three bytes, which are spaces, have arrived.
    @Test func noByteOfAPageIsGrantedBeforeItIsKnown() async throws {
        let gate = Gate(heldAt: 3)
        let page = Resource(text: "   <!-- a page --><html><body>Log in</body></html>", contentType: "audio/mpeg")
        let bench = try EngineBench(page) { _ in .hold(gate) }
        _ = try await bench.open(1)
        async let error = failure { try await bench.read(1, 0..<2) }
        try await gate.waitUntilReached()
        #expect(try await bench.open(1).head.isEmpty)
        #expect(try await bench.snapshot(1)?.received == 0)
        gate.open()
        #expect(await error == TransferError(.unusable, "the server sent a web page instead of media"))
    }

    /// A captive portal answers every request with its own page. The engine must then keep the bytes received so far.
    @Test(arguments: ["text/html", "audio/mpeg"]) func aPageDiscardsNoReceivedBytes(type: String) async throws {
        let page = Resource(text: "<html><body>Log in to the hotel</body></html>", contentType: type)
        let bench = try EngineBench(resource) { request in
            request.index == 0 ? .close(after: 30_000) : request.index < 3 ? .resource(page) : .normal
        }
        try bench.fill(1)
        try await bench.wait("the download fails") { !bench.failures.isEmpty }
        #expect(bench.failures == [TransferError(.unusable, "the server sent a web page instead of media")])
        #expect(try await bench.snapshot(1)?.present.text == "0-29999")
        try await bench.download(1, content)
        #expect(bench.source(1)?.generation == 1)
        #expect(bench.server.requests.last?.range != nil, "it continues after the received bytes")
    }
}
