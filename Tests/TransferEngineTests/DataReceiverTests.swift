import Platform
import Synchronization
import TestSupport
import Testing

@testable import Transfers

/// Data requests with callbacks, and their shared curl handles.
struct DataReceiverTests {
    /// A receiver that sends the next request as soon as the previous response has ended.
    private final class Chain: DataReceiver {
        struct State {
            var rest: [DataRequest]
            var statuses: [Int] = []
            var bytes = 0
            var ends: [TransferError?] = []
        }

        let state: Mutex<State>

        init(_ requests: [DataRequest]) { state = Mutex(State(rest: requests)) }

        func next() -> [DataTask] {
            state.withLock { $0.rest.isEmpty ? [] : [DataTask($0.rest.removeFirst(), self)] }
        }

        func didReceive(_ head: ResponseHead) { state.withLock { $0.statuses.append(head.status) } }

        func didReceive(_ bytes: UnsafeRawBufferPointer) { state.withLock { $0.bytes += bytes.count } }

        func didEnd(_ error: TransferError?) -> [DataTask] {
            state.withLock { $0.ends.append(error) }
            return next()
        }

        func waitForEnds(_ count: Int) async throws {
            try await waitUntil(description: "\(count) responses have ended") {
                state.withLock { $0.ends.count } == count
            }
        }
    }

    private let bench: EngineBench

    init() throws { bench = try EngineBench() }

    private func request(_ path: String, host: String = "127.0.0.1") -> DataRequest {
        DataRequest(url: bench.server.url(path, host: host), limit: 1 << 20)
    }

    @Test func theNextRequestReusesTheConnection() async throws {
        bench.server.serve("/feed", Resource(TestContent(seed: 1, size: 10_000)))
        bench.server.serve("/304") { _ in .status(304, body: "") }
        let chain = Chain((0..<40).map { request($0 % 4 == 0 ? "/feed" : "/304") })
        try bench.engine.send(chain.next())
        try await chain.waitForEnds(40)
        let state = chain.state.withLock { $0 }
        #expect(state.statuses == (0..<40).map { $0 % 4 == 0 ? 200 : 304 })
        #expect(state.bytes == 100_000 && state.ends.allSatisfy { $0 == nil })
        #expect(Set(bench.server.requests.map(\.request.connection)).count == 1)
    }

    @Test func aFailureIsReportedAndDoesNotEndTheChain() async throws {
        bench.server.serve("/large", Resource(TestContent(seed: 1, size: 3 << 20)))
        bench.server.serve("/broken") { _ in .reset(after: 0) }
        bench.server.serve("/feed", Resource(text: "x"))
        let chain = Chain([request("/large"), request("/broken"), request("/feed")])
        try bench.engine.send(chain.next())
        try await chain.waitForEnds(3)
        let ends = chain.state.withLock { $0.ends }
        #expect(ends[0]?.code == .unusable && ends[1] != nil && ends[2] == nil)
    }

    @Test func aShutdownEndsTheRequestsOfAllReceivers() async throws {
        let gate = Gate(heldAt: 0)
        bench.server.serve("/feed", Resource(text: "x")) { _ in .holdHead(gate) }
        let chains = (0..<3).map { _ in Chain([request("/feed"), request("/feed")]) }
        try bench.engine.send(chains.flatMap { $0.next() })
        try await waitUntil(description: "all requests are sent") { bench.server.requests.count == 3 }
        let engine = try bench.engine
        bench.shutDown()
        for chain in chains {
            let ends = chain.state.withLock { $0.ends }
            #expect(ends.count == 1 && ends[0] != nil)
        }
        let late = Chain([request("/feed")])
        engine.send(late.next())
        #expect(late.state.withLock { $0.ends.count } == 1)
        gate.open()
    }

    @Test func aReusedHandleKeepsNoOptions() async throws {
        bench.server.serveElsewhere { _ in .status(200, body: "x") }
        var first = request("/1")
        first.fields = [("If-None-Match", "\"1\""), ("X-Secret", "s")]
        first.userAgent = "Other/1"
        first.followsRedirects = false
        first.timeout = .seconds(100)
        var second = request("/2")
        second.body = Array("question".utf8)
        var third = request("/3")
        third.credentials = Credentials(
            user: "u", password: "p", origin: try #require(WebAddress.origin(of: third.url)))
        let chain = Chain([first, request("/a"), second, request("/b"), third, request("/c")])
        try bench.engine.send(chain.next())
        try await chain.waitForEnds(6)
        #expect(chain.state.withLock { $0.ends.allSatisfy { $0 == nil } })
        #expect(bench.server.requests.map(\.method) == ["GET", "GET", "POST", "GET", "GET", "GET"])
        for path in ["/a", "/b", "/c"] {
            let headers = try #require(bench.server.requests(for: path).first).headers
            #expect(headers["User-Agent"] == "podfs-test")
            for field in ["If-None-Match", "X-Secret", "Authorization", "Content-Type"] {
                #expect(headers[field] == nil, "\(path): \(field)")
            }
        }
    }

    @Test func fieldValuesAreTrimmedAndOtherwiseUnchanged() async throws {
        bench.server.serve("/feed", Resource(text: "x", headers: [("X-Word", "wörld"), ("X-TABBED", "\t a b\t ")]))
        let head = try #require(try await bench.fetch(request("/feed")).heads.first)
        #expect(head["x-word"] == "wörld" && head["x-tabbed"] == "a b" && head.status == 200)
    }
}
