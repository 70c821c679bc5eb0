import TestSupport
import Testing

@testable import Transfers

@Suite struct DataExchangeTests {
    private let bench: EngineBench

    init() throws { bench = try EngineBench() }

    @Test func anAnswerComesInPiecesAfterItsHead() async throws {
        let content = TestContent(seed: 1, size: 1_000_000)
        bench.server.serve("/feed", Resource(content, contentType: "application/rss+xml", etag: "\"v1\""))
        var request = DataRequest(url: bench.server.url("/feed"), limit: 1_000_000)
        request.fields = [("Accept", "application/rss+xml")]
        let answer = try await bench.fetch(request)
        #expect(answer.bytes == content.bytes)
        #expect(answer.heads.map(\.status) == [200])
        #expect(answer.heads[0].mediaType == "application/rss+xml")
        #expect(answer.heads[0]["etag"] == "\"v1\"")
        let asked = try #require(bench.server.requests.first)
        #expect(asked.headers["Accept"] == "application/rss+xml")
        #expect(asked.headers["User-Agent"] == "podfs-test")
        #expect(asked.headers["Accept-Encoding"]?.contains("gzip") == true)
    }

    @Test func onlyTheLastHeadOfARedirectIsReported() async throws {
        bench.server.serve("/old") { _ in .redirect(to: "/new", status: 301) }
        bench.server.serve("/new", Resource(text: "<rss/>"))
        let answer = try await bench.fetch(DataRequest(url: bench.server.url("/old"), limit: 100))
        #expect(answer.heads.map(\.url) == [bench.server.url("/new")])
        #expect(answer.bytes == Array("<rss/>".utf8))
    }

    @Test func aRedirectIsTheAnswerIfRedirectsAreNotFollowed() async throws {
        bench.server.serve("/old") { _ in .redirect(to: "/new") }
        bench.server.serve("/new", Resource(text: "<rss/>"))
        var request = DataRequest(url: bench.server.url("/old"), limit: 100)
        request.fields = [("Authorization", "secret")]
        request.followsRedirects = false
        let answer = try await bench.fetch(request)
        #expect(answer.heads.map(\.status) == [302] && answer.heads.map(\.url) == [bench.server.url("/old")])
        #expect(bench.server.requests.map(\.path) == ["/old"])
    }

    @Test func aRequestEndsAtItsTimeout() async throws {
        let gate = Gate(heldAt: 5)
        bench.server.serve("/feed", Resource(TestContent(seed: 1, size: 1_000)), [.hold(gate)])
        var request = DataRequest(url: bench.server.url("/feed"), limit: 1_000)
        request.timeout = .milliseconds(200)
        let slow = request
        #expect(await failure { try await bench.fetch(slow) }?.code == .timedOut)
        try await bench.wait("the request has ended") { bench.server.requests.allSatisfy(\.isFinished) }
    }

    @Test func anAnswerThatIsTooLargeIsAnError() async throws {
        bench.server.serve("/feed", Resource(TestContent(seed: 1, size: 50_000_000)))
        let error = await failure { try await bench.fetch(DataRequest(url: bench.server.url("/feed"), limit: 100_000)) }
        #expect(error == TransferError(.unusable, "the answer is larger than 100000 bytes"))
        try await bench.wait("the request has ended") { bench.server.requests.allSatisfy(\.isFinished) }
        #expect(bench.server.bodyBytesWritten(for: "/feed") < 50_000_000)
    }

    @Test func anAnswerThatBreaksOffIsAnError() async throws {
        bench.server.serve("/feed", Resource(TestContent(seed: 1, size: 100_000)), [.close(after: 50_000)])
        let request = DataRequest(url: bench.server.url("/feed"), limit: 1_000_000)
        #expect(await failure { try await bench.fetch(request) }?.code == .failed)
    }

    @Test func aRequestEndsWithItsSequence() async throws {
        let gate = Gate(heldAt: 10)
        bench.server.serve("/feed", Resource(TestContent(seed: 1, size: 1_000_000)), [.hold(gate)])
        for try await _ in try bench.engine.data(for: DataRequest(url: bench.server.url("/feed"), limit: 1 << 20)) {
            break
        }
        try await bench.wait("the request has ended") { bench.server.requests.allSatisfy(\.isFinished) }
        #expect(bench.server.requests.first?.isWhole == false)
    }

    @Test func otherSchemesAreRefused() async throws {
        for url in ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/"] {
            #expect(await failure { try await bench.fetch(DataRequest(url: url, limit: 100)) }?.code == .unusable)
        }
    }
}
