import Glibc
import TestSupport
import Testing

/// Tests of the test server with curl, since other tests rely on it.
@Suite struct HTTPTestServerTests {
    private let server: HTTPTestServer
    private let content = TestContent(seed: 7, size: 300_000)

    init() throws {
        server = HTTPTestServer()
        try server.start()
    }

    @discardableResult
    private func curl(_ arguments: String...) async throws -> ChildProcess.Result {
        try await ChildProcess.run("curl", ["-sS", "--noproxy", "*"] + arguments)
    }

    private func body(_ result: ChildProcess.Result) -> [UInt8] {
        guard let end = result.standardOutput.firstRange(of: Array("\r\n\r\n".utf8)) else { return [] }
        return Array(result.standardOutput[end.upperBound...])
    }

    @Test func contentIsTheSameWhereverItIsRead() {
        let whole = content.bytes
        #expect(whole.count == 300_000)
        for range in [0..<1, 5..<13, 7..<8, 8..<8, 4_095..<12_289, 299_990..<300_000] {
            #expect(content.bytes(in: range) == Array(whole[range]))
        }
        #expect(content.bytes(in: 299_999..<400_000).count == 1)
        #expect(content.matches(whole[100..<900], at: 100))
        #expect(!content.matches(whole[100..<900], at: 101))
        #expect(TestContent(seed: 8, size: 300_000).bytes(in: 10..<100) != content.bytes(in: 10..<100))
    }

    @Test func aWholeResourceArrivesAndIsLogged() async throws {
        server.serve("/a.mp3", Resource(content, etag: "\"v1\""))
        let result = try await curl("-i", server.url("/a.mp3?x=1"))
        #expect(result.exitCode == 0)
        #expect(result.output.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(content.matches(body(result)) && body(result).count == content.size)
        let request = try await server.waitForRequest { $0.isFinished }
        #expect(request.method == "GET" && request.path == "/a.mp3" && request.request.query == "x=1")
        #expect(request.status == 200 && request.bodyBytesWritten == content.size && request.isWhole)
        #expect(request.headers["user-agent"]?.hasPrefix("curl/") == true)
    }

    @Test(arguments: [
        ("0-0", 0..<1), ("1000-1999", 1_000..<2_000), ("299000-", 299_000..<300_000), ("-5", 299_995..<300_000),
    ])
    func rangesAreHonoured(asked: String, range: Range<Int>) async throws {
        server.serve("/a.mp3", Resource(content))
        let result = try await curl("-i", "-r", asked, server.url("/a.mp3"))
        #expect(result.output.hasPrefix("HTTP/1.1 206 "))
        #expect(result.output.contains("Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/300000\r\n"))
        #expect(body(result) == content.bytes(in: range))
    }

    @Test func aRangeBeyondTheEndIsNotSatisfiable() async throws {
        server.serve("/a.mp3", Resource(content))
        let result = try await curl("-i", "-r", "300000-", server.url("/a.mp3"))
        #expect(result.output.hasPrefix("HTTP/1.1 416 "))
        #expect(result.output.contains("Content-Range: bytes */300000\r\n"))
    }

    @Test(arguments: [
        ("If-Range: \"v1\"", 206), ("If-Range: \"v2\"", 200), ("If-Range: W/\"v1\"", 200),
        ("If-Range: Sun, 06 Nov 1994 08:49:37 GMT", 206), ("If-Range: Sun, 06 Nov 1994 08:49:38 GMT", 200),
        ("If-None-Match: \"v0\", W/\"v1\"", 304), ("If-None-Match: *", 304), ("If-None-Match: \"v2\"", 206),
        ("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", 304),
        ("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT", 206),
    ])
    func preconditionsFollowTheRFC(field: String, status: Int) async throws {
        server.serve(
            "/a.mp3", Resource(content, etag: "\"v1\"", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"))
        let result = try await curl("-i", "-r", "0-9", "-H", field, server.url("/a.mp3"))
        #expect(result.output.hasPrefix("HTTP/1.1 \(status) "))
        #expect(body(result).count == [200: 300_000, 206: 10, 304: 0][status])
    }

    @Test func aConnectionIsReused() async throws {
        server.serve("/a.mp3", Resource(content))
        try await curl("-o", "/dev/null", "-o", "/dev/null", server.url("/a.mp3"), server.url("/missing"))
        #expect(server.requests.map(\.status) == [200, 404])
        #expect(server.connectionsAccepted == 1)
    }

    @Test func theScriptCountsRequests() async throws {
        let second = TestContent(seed: 8, size: 1_000)
        server.serve(
            "/a.mp3", Resource(content, etag: "\"v1\""),
            [.retryAfter("7"), .redirect(to: server.url("/b.mp3")), .resource(Resource(second, etag: "\"v2\""))])
        server.serve("/b.mp3", Resource(text: "b"))
        let first = try await curl("-i", server.url("/a.mp3"))
        #expect(first.output.hasPrefix("HTTP/1.1 503 ") && first.output.contains("Retry-After: 7\r\n"))
        #expect(try await curl("-L", server.url("/a.mp3")).output == "b")
        let third = try await curl("-i", server.url("/a.mp3"))
        #expect(third.output.contains("ETag: \"v2\"\r\n") && body(third) == second.bytes)
        #expect(body(try await curl("-i", server.url("/a.mp3"))).count == content.size)
    }

    @Test(arguments: [Behaviour.chunked(), .closeDelimited()])
    func aBodyWithoutLengthArrivesCompletely(behaviour: Behaviour) async throws {
        server.serve("/a.mp3", Resource(content), [behaviour])
        let result = try await curl("-i", server.url("/a.mp3"))
        #expect(result.exitCode == 0)
        #expect(!result.output.contains("Content-Length"))
        #expect(body(result).count == content.size && content.matches(body(result)))
    }

    @Test func aBodyCanEndEarlyOrWithAReset() async throws {
        server.serve("/a.mp3", Resource(content), [.close(after: 1_000), .reset(after: 2_000)])
        let closed = try await curl("-i", server.url("/a.mp3"))
        #expect(closed.exitCode == 18, "CURLE_PARTIAL_FILE")
        #expect(body(closed) == content.bytes(in: 0..<1_000))
        let reset = try await curl("-i", server.url("/a.mp3"))
        #expect(reset.exitCode == 56, "CURLE_RECV_ERROR")
        #expect(body(reset) == content.bytes(in: 0..<2_000))
        #expect(server.requests.map(\.bodyBytesWritten) == [1_000, 2_000])
    }

    @Test func lengthsAndRangesCanLie() async throws {
        server.serve(
            "/a.mp3", Resource(content),
            [
                .contentLength("300001"), .contentLength("-1"), .ignoreRange(), .contentRange("bytes 5-14/300000"),
                .wrongTotal("77"), .withoutContentRange(), .rangeNotSatisfiable(total: 3),
            ])
        #expect(try await curl("-o", "/dev/null", server.url("/a.mp3")).exitCode == 18)
        #expect(try await curl("-i", server.url("/a.mp3")).exitCode == 8, "CURLE_WEIRD_SERVER_REPLY")
        var heads: [String] = []
        for _ in 0..<5 { heads.append(try await curl("-i", "-r", "0-9", server.url("/a.mp3")).output) }
        #expect(heads[0].hasPrefix("HTTP/1.1 200 "))
        #expect(heads[1].contains("Content-Range: bytes 5-14/300000\r\n"))
        #expect(heads[2].contains("Content-Range: bytes 0-9/77\r\n"))
        #expect(heads[3].hasPrefix("HTTP/1.1 206 ") && !heads[3].contains("Content-Range"))
        #expect(heads[4].hasPrefix("HTTP/1.1 416 ") && heads[4].contains("Content-Range: bytes */3\r\n"))
    }

    @Test func headersCanBeHugeOrMislabelTheBody() async throws {
        server.serve("/a.mp3", Resource(content), [.hugeHeader(bytes: 20_000), .gzipLabelled()])
        #expect(try await curl("-I", server.url("/a.mp3")).output.contains("X-Padding: aaaa"))
        #expect(try await curl("--compressed", "-o", "/dev/null", server.url("/a.mp3")).exitCode == 61)
    }

    @Test func aGateHoldsTheBodyAtItsByte() async throws {
        let gate = Gate(heldAt: 5_000)
        server.serve("/a.mp3", Resource(content), [.hold(gate)])
        let child = try ChildProcess("curl", ["-sS", "--noproxy", "*", server.url("/a.mp3")])
        try await gate.waitUntilReached()
        #expect(server.bodyBytesWritten(for: "/a.mp3") == 5_000)
        gate.advance(to: 6_000)
        try await gate.waitUntilReached()
        #expect(server.bodyBytesWritten(for: "/a.mp3") == 6_000)
        #expect(child.isRunning)
        gate.open()
        let result = try await child.wait()
        #expect(result.standardOutput.count == content.size && content.matches(result.standardOutput))
    }

    @Test func aStalledResponseEndsWithItsClient() async throws {
        server.serve("/a.mp3", Resource(content), [.stall(after: 100)])
        let child = try ChildProcess("curl", ["-sS", "--noproxy", "*", "-o", "/dev/null", server.url("/a.mp3")])
        try await server.waitForRequest { $0.bodyBytesWritten == 100 }
        child.kill()
        let status = try await child.wait().status
        #expect(status == .signalled(9))
        let request = try await server.waitForRequest { $0.isFinished }
        #expect(!request.isWhole)
    }

    @Test func theHeadCanComeSlowlyOrBeHeld() async throws {
        let gate = Gate(heldAt: 12)
        server.serve("/a.mp3", Resource(text: "x"), [.slowHead(bytesPerSecond: 20_000), .holdHead(gate)])
        #expect(try await curl(server.url("/a.mp3")).output == "x")
        let child = try ChildProcess("curl", ["-sS", "--noproxy", "*", server.url("/a.mp3")])
        try await gate.waitUntilReached()
        #expect(child.isRunning && child.output.isEmpty)
        gate.open()
        #expect(try await child.wait().output == "x")
    }

    @Test func aThrottledBodyArrivesCompletely() async throws {
        server.serve("/a.mp3", Resource(content), [.throttle(bytesPerSecond: 3_000_000)])
        let result = try await curl("-i", server.url("/a.mp3"))
        #expect(body(result).count == content.size && content.matches(body(result)))
    }

    @Test(arguments: [
        ["-d", "hello"], ["-H", "Transfer-Encoding: chunked", "-H", "Expect: 100-continue", "-d", "hello"],
    ])
    func bodiesOfRequestsAreRead(arguments: [String]) async throws {
        server.serve("/echo") { .status(200, body: String(decoding: $0.body, as: UTF8.self)) }
        let result = try await ChildProcess.run("curl", ["-sS", "--noproxy", "*", server.url("/echo")] + arguments)
        #expect(result.output == "hello")
    }

    @Test func stoppingEndsStalledResponsesAndRefusesNewConnections() async throws {
        server.serve("/a.mp3", Resource(content), [.stall(after: 100)])
        let child = try ChildProcess("curl", ["-sS", "--noproxy", "*", "-o", "/dev/null", server.url("/a.mp3")])
        try await server.waitForRequest { $0.bodyBytesWritten == 100 }
        server.stop()
        #expect(try await child.wait().exitCode != 0)
        #expect(try await curl(server.url("/a.mp3")).exitCode == 7, "CURLE_COULDNT_CONNECT")
        try server.start()
        #expect(try await curl("-o", "/dev/null", server.url("/a.mp3")).exitCode == 0)
    }

    @Test func theServerStartsAgainWhileAProcessIsBeingStarted() async throws {
        server.serve("/a.mp3", Resource(text: "x"))
        let process = try await UnfinishedSpawn()
        server.stop()
        #expect(try await curl(server.url("/a.mp3")).exitCode == 7, "CURLE_COULDNT_CONNECT")
        try server.start()
        #expect(await process.finish() == 0)
        #expect(try await curl(server.url("/a.mp3")).output == "x")
    }

    /// If another socket got the port, the server could not start again.
    @Test func theServerKeepsItsPortWhileStopped() async throws {
        server.serve("/a.mp3", Resource(text: "x"))
        server.stop()
        let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(other) }
        #expect(Self.bind(other, to: server.port) == EADDRINUSE)
        try server.start()
        #expect(try await curl(server.url("/a.mp3")).output == "x")
    }

    private static func bind(_ descriptor: Int32, to port: UInt16) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, length) }
        }
        return result == 0 ? 0 : errno
    }
}
