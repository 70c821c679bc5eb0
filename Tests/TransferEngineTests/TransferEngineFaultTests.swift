import TestSupport
import Testing

@testable import Transfers

/// Faulty servers and networks.
@Suite struct TransferEngineFaultTests {
    private let content = TestContent(seed: 21, size: 4_000_000)
    private var resource: Resource { Resource(content, etag: "\"v1\"") }

    /// Downloads that succeed although their first responses are faulty.
    @Test(arguments: [
        [Behaviour.close(after: 1_000_000)], [.reset(after: 1_500_000)], [.close(after: 0)], [.reset(after: 0)],
        [.close(after: 100_000), .reset(after: 100_000), .close(after: 100_000)],
        [.contentLength("5000000")], [.status(503), .retryAfter("0", status: 429)],
        [.close(after: 1_000_000), .contentRange("bytes 0-2999999/4000000")],
        [.close(after: 1_000_000), .wrongTotal("5000000")], [.close(after: 1_000_000), .wrongTotal("*")],
        [.close(after: 1_000_000), .withoutContentRange()], [.close(after: 1_000_000), .withoutHeader("ETag")],
        [.close(after: 3_999_999)],
    ])
    func aDownloadSurvivesFaultyResponses(script: [Behaviour]) async throws {
        let bench = try EngineBench()
        bench.add(1, resource, script)
        try await bench.download(1, content)
    }

    @Test func hardlyAnythingIsFetchedTwice() async throws {
        let bench = try EngineBench()
        let path = bench.add(1, resource, (1...5).map { .close(after: $0 * 100_000) })
        try await bench.download(1, content)
        #expect(bench.share(path, of: content.size) <= 1.05)
        #expect(bench.server.requests(for: path).count == 6)
        #expect(bench.server.requests(for: path).dropFirst().allSatisfy { $0.headers["If-Range"] == "\"v1\"" })
    }

    @Test func aStalledTransferIsContinuedByAnotherRequest() async throws {
        let bench = try EngineBench { $0.limits.stall = .milliseconds(400) }
        let path = bench.add(1, resource, [.stall(after: 1_000_000)])
        let start = ContinuousClock.now
        try bench.fill(1)
        try await bench.waitUntilWhole(1)
        // curl's own low-speed limit averages over five seconds, so it could not have detected the stall by now.
        #expect(start.duration(to: .now) < .seconds(4))
        #expect(try bench.holds(1, content))
        #expect(bench.server.requests(for: path)[1].range == .closed(1_000_000, 3_999_999))
    }

    @Test func theRateOfARunningDownloadIsReportedAndFallsWhileNoBytesArrive() async throws {
        let bench = try EngineBench()
        bench.add(1, resource, [.stall(after: 1_000_000)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000_000)
        let snapshot = try #require(try await bench.snapshot(1))
        #expect(snapshot.state == .running && snapshot.isTask)
        #expect(snapshot.total == 4_000_000 && snapshot.present.text == "0-999999")
        try await bench.wait("the rate falls") {
            let rates = bench.snapshots(1).filter { $0.received == 1_000_000 }.compactMap(\.rate)
            return rates.first.flatMap { first in rates.last.map { $0 < first / 2 } } ?? false
        }
        #expect(bench.snapshots(1).last?.state == .running)
    }

    @Test func aServerThatNeverAnswersTimesOut() async throws {
        let gate = Gate(heldAt: 0)
        let bench = try EngineBench(resource) {
            $0.limits.stall = .seconds(1)
            $0.limits.readerDeadline = .milliseconds(1_500)
        } behaviour: { _ in
            .holdHead(gate)
        }
        #expect(await failure { try await bench.open(1) }?.code == .timedOut)
        #expect(await failure { try await bench.read(1, 0..<10) }?.code == .timedOut)
    }

    @Test func aServerThatIsGoneIsUnreachable() async throws {
        let bench = try EngineBench { $0.limits.readerDeadline = .milliseconds(1_200) }
        bench.add(1, resource)
        bench.server.stop()
        #expect(await failure { try await bench.open(1) }?.code == .unreachable)
        #expect(await failure { try await bench.read(1, 0..<10) }?.code == .unreachable)
        try bench.server.start()
        #expect(try await bench.read(1, 0..<10) == content.bytes(in: 0..<10))
    }

    @Test func aHostThatDoesNotExistIsUnreachable() async throws {
        let bench = try EngineBench()
        bench.know(DownloadSource(key: 1, url: "http://podfs.invalid/1.mp3", generation: 1))
        #expect(await failure { try await bench.open(1) }?.code == .unreachable)
    }

    // MARK: Renditions

    @Test func aChangedTagBeginsANewFileAndOldReadersGetAnError() async throws {
        let bench = try EngineBench()
        let other = TestContent(seed: 22, size: 4_500_000)
        let gate = Gate(heldAt: 1_000_000)
        let path = bench.add(1, resource, [.hold(gate).close(after: 1_000_000)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000_000)
        let old = try #require(bench.source(1)?.file)
        bench.server.serve(path, Resource(other, etag: "\"v2\""))
        #expect(await failure { try await bench.read(1, 2_000_000..<2_000_010, generation: 1) }?.code == .changed)
        gate.open()
        try await bench.expectWhole(1, other)
        #expect(bench.source(1)?.generation == 2)
        #expect(bench.source(1)?.file != old)
        #expect(
            try bench.bytes(of: old, 0..<1_000_000) == content.bytes(in: 0..<1_000_000),
            "earlier readers still have the old bytes")
        #expect(await failure { try await bench.read(1, 0..<10, generation: 1) }?.code == .changed)
    }

    @Test func contentThatChangesUnderAWeakTagIsDetected() async throws {
        let bench = try EngineBench()
        let other = TestContent(seed: 23, size: 4_000_000)
        let gate = Gate(heldAt: 1_000_000)
        let path = bench.add(1, Resource(content, etag: "W/\"v\""), [.hold(gate).close(after: 1_000_000)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000_000)
        bench.server.serve(path, Resource(other, etag: "W/\"v\""))
        gate.open()
        try await bench.expectWhole(1, other)
        #expect(bench.source(1)?.generation == 2)
    }

    @Test func aServerWithoutRangesSendsTheWholeAgain() async throws {
        let bench = try EngineBench()
        var plain = resource
        plain.supportsRanges = false
        let path = bench.add(1, plain, [.close(after: 1_000_000)])
        #expect(try await bench.read(1, 3_000_000..<3_000_100) == content.bytes(in: 3_000_000..<3_000_100))
        try await bench.expectWhole(1, content)
        #expect(bench.source(1)?.generation == 1)
        #expect(bench.server.requests(for: path).count <= 3)
    }

    @Test func anAddressThatExpiresIsResolvedAgain() async throws {
        let bench = try EngineBench()
        bench.server.serve("/feed.mp3") { request in .redirect(to: request.index == 0 ? "/a.mp3" : "/b.mp3") }
        bench.server.serve("/a.mp3", resource, [.close(after: 1_000_000), .status(403)])
        bench.server.serve("/b.mp3", resource)
        bench.know("/feed.mp3")
        try await bench.download(1, content)
        #expect(bench.server.requests.map(\.path) == ["/feed.mp3", "/a.mp3", "/a.mp3", "/feed.mp3", "/b.mp3"])
        #expect(
            bench.server.requests[4].range == .closed(1_000_000 - 65_536, 3_999_999),
            "a new server sends the overlap again, for comparison")
    }

    // MARK: Bodies that are not media

    @Test(arguments: [
        (Behaviour.status(404), TransferError.Code.missing), (.status(410), .missing), (.status(403), .refused),
        (.status(401), .refused), (.status(400), .failed), (.status(204), .unusable),
        (.resource(Resource(text: "<html>Log in</html>", contentType: "text/html; charset=utf-8")), .unusable),
        (.resource(Resource(text: "{\"error\":1}", contentType: "application/json")), .unusable),
        (.resource(Resource(text: "Not found", contentType: "text/plain")), .unusable), (.gzipLabelled(), .unusable),
        (.contentLength("-5"), .unusable), (.redirect(to: "/1.mp3"), .unusable),
        (.redirect(to: "file:///etc/passwd"), .unusable), (.redirect(to: "ftp://127.0.0.1/x"), .unusable),
    ])
    func anOpenReportsTheErrorOfTheHead(behaviour: Behaviour, code: TransferError.Code) async throws {
        let bench = try EngineBench(resource) { _ in behaviour }
        let error = await failure { try await bench.open(1) }
        #expect(error?.code == code, "\(String(describing: error))")
        let asked = bench.server.requests.count
        #expect(await failure { try await bench.open(1) } == error)
        #expect(await failure { try await bench.read(1, 0..<10) } == error)
        #expect(bench.server.requests.count == asked, "the remembered error is returned")
        #expect(try bench.engine.cache.names() == [])
        #expect(bench.failures.first == error)
    }

    @Test func textIsAcceptedIfItIsExpected() async throws {
        let bench = try EngineBench()
        let text = "#EXTM3U\na.mp3\n"
        bench.server.serve("/1.m3u", Resource(text: text, contentType: "text/plain"))
        for (key, expects) in [(1, ContentExpectation.playlist), (2, .other)] as [(MediaID, ContentExpectation)] {
            var source = DownloadSource(key: key, url: bench.server.url("/1.m3u"), generation: 1)
            source.expects = expects
            bench.know(source)
            #expect(try await bench.read(key, 0..<100) == Array(text.utf8))
        }
    }

    @Test func redirectsAreFollowed() async throws {
        let bench = try EngineBench()
        bench.server.serve("/a") { _ in .redirect(to: "/b", status: 301) }
        bench.server.serve("/b") { _ in .redirect(to: "/c", status: 307) }
        bench.server.serve("/c", resource)
        bench.know("/a")
        #expect(try await bench.open(1).total == 4_000_000)
        try bench.fill(1)
        try await bench.waitUntilWhole(1)
        #expect(bench.server.requests.map(\.path) == ["/a", "/b", "/c"])
        let finalURLs = bench.events.compactMap { if case .fileCreated(_, _, _, _, let url) = $0 { url } else { nil } }
        #expect(finalURLs == [bench.server.url("/c")])
    }

    @Test func fieldsOfTheTrailerAreNotPartOfTheHead() async throws {
        let bench = try EngineBench()
        // A chunked body, written here by hand, whose trailer contains fields that belong in the head.
        let body = "5\r\n\u{1}ello\r\n0\r\nETag: \"other\"\r\nContent-Length: 99\r\n\r\n"
        bench.server.serve("/1") { _ in
            .status(200, headers: [("Transfer-Encoding", "chunked"), ("Content-Type", "audio/mpeg")], body: body)
                .withoutHeader("Content-Length")
        }
        bench.know("/1")
        #expect(try await bench.read(1, 0..<100) == Array("\u{1}ello".utf8))
        try await bench.waitUntilWhole(1)
        #expect(bench.source(1)?.generation == 1)
    }
}
