import Synchronization
import TestSupport
import Testing

@testable import Transfers

/// The check, for every request and redirect, that a URL does not lead to a more private address space than its source.
/// 127.0.0.1 counts as an internet address here, 127.0.0.2 as one of the local network.
struct ReachTests {
    private let bench: EngineBench
    private let local = HTTPTestServer(address: "127.0.0.2")
    private let loopback = HTTPTestServer(address: "127.0.0.3")
    private let content = TestContent(seed: 3, size: 200_000)

    init() throws {
        bench = try Self.bench()
        try local.start()
        try loopback.start()
        for server in [local, loopback] {
            server.serve("/f", Resource(content))
            server.serve("/1.mp3", Resource(content, etag: "\"v\""))
        }
        bench.server.serve("/f", Resource(content))
    }

    private static func bench(
        allowing exceptions: [String] = [], resolved: @escaping @Sendable () -> [String] = { [] }
    ) throws -> EngineBench {
        try EngineBench { configuration in
            configuration.network.reach.assumed = [("127.0.0.1", AddressSpace.public), ("127.0.0.2", .local)].compactMap
            {
                block, space in AddressBlock(block).map { ($0, space) }
            }
            configuration.network.reach.exceptions = exceptions.compactMap(ReachPolicy.Exception.init)
            configuration.network.resolved = resolved
        }
    }

    private func fetch(_ url: String, from reach: AddressSpace?, by bench: EngineBench? = nil) async throws
        -> ResponseHead
    {
        var request = DataRequest(url: url, limit: 1 << 20)
        request.reach = reach
        return try #require(try await (bench ?? self.bench).fetch(request).heads.last)
    }

    private func refusal(_ url: String, from reach: AddressSpace?, by bench: EngineBench? = nil) async -> String? {
        let error = await failure { try await fetch(url, from: reach, by: bench) }
        #expect(error?.code == .outOfReach, "\(url): \(error?.message ?? "reached")")
        return error?.message
    }

    @Test func noRequestReachesAMorePrivateHost() async throws {
        let (near, own) = (local.url("/f"), loopback.url("/f"))
        #expect(
            await refusal(near, from: .public)
                == "127.0.0.2 is on the local network, but the address that led to it is not; "
                + "add 127.0.0.2 to transfers.allow_private to allow it")
        #expect(
            await refusal(own, from: .local)
                == "127.0.0.3 is on this computer, but the address that led to it is not; "
                + "add 127.0.0.3 to transfers.allow_private to allow it")
        // Other spellings of the same address, and other addresses that Linux treats as loopback.
        let port = loopback.port
        for host in ["0x7f000003", "127.3", "2130706435", "0177.0.0.3", "0.0.0.0", "[::ffff:127.0.0.3]", "0"] {
            _ = await refusal("http://\(host):\(port)/f", from: .public)
        }
        #expect(local.connectionsAccepted == 0 && loopback.connectionsAccepted == 0, "not even a connection")
        // Requests reach the same space and more public ones.
        for (url, space) in [(near, AddressSpace.local), (own, .loopback), (bench.server.url("/f"), .public)] {
            for reach in [nil] + AddressSpace.allCases.filter({ $0 >= space }) {
                let head = try await fetch(url, from: reach)
                #expect(head.status == 200 && head.space == space && head.firstSpace == space)
            }
        }
    }

    @Test func everyHopIsChecked() async throws {
        let (near, own, away) = (local.url("/f"), loopback.url("/f"), bench.server.url("/f"))
        bench.server.serve("/near") { _ in .redirect(to: near) }
        bench.server.serve("/own") { _ in .redirect(to: own, status: 308) }
        let detour = bench.server.url("/near")
        local.serve("/away") { _ in .redirect(to: away) }
        local.serve("/detour") { _ in .redirect(to: detour) }
        for path in ["/near", "/own"] {
            for reach in [AddressSpace.public, nil] { _ = await refusal(bench.server.url(path), from: reach) }
        }
        _ = await refusal(local.url("/detour"), from: nil)
        #expect(local.requests(for: "/f").isEmpty && loopback.connectionsAccepted == 0)
        let head = try await fetch(local.url("/away"), from: nil)
        #expect(head.space == .public && head.firstSpace == .local)
    }

    /// A reused connection is checked again, without a new connect.
    @Test func aReusedConnectionIsCheckedToo() async throws {
        _ = try await fetch(local.url("/f"), from: nil)
        _ = await refusal(local.url("/f"), from: .public)
        _ = try await fetch(local.url("/f"), from: .local)
        #expect(local.requests(for: "/f").count == 2)
    }

    @Test func aNameWithChangingAddressesReachesNoPrivateHost() async throws {
        let port = bench.server.port
        let answer = Mutex("127.0.0.1")
        let bench = try Self.bench { ["name.example:\(port):\(answer.withLock { $0 })"] }
        // This server has the same port number as the bench's server, at another address.
        let inside = HTTPTestServer(address: "127.0.0.2")
        try inside.start(on: port)
        inside.serve("/f", Resource(content))
        let url = "http://name.example:\(port)/f"
        self.bench.server.serve("/f", Resource(content)) { _ in .normal }
        #expect(try await fetch(url, from: .public, by: bench).space == .public)
        // The reused connection leads to the old address; once it is closed, the new DNS answer applies.
        answer.withLock { $0 = "127.0.0.2" }
        self.bench.server.stop()
        #expect(
            await refusal(url, from: .public, by: bench)
                == "name.example is on the local network, but the address that led to it is not; "
                + "add name.example to transfers.allow_private to allow it")
        #expect(inside.connectionsAccepted == 0)
        // The user's own request leaves a connection to the local network open, which other requests may not use.
        #expect(try await fetch(url, from: nil, by: bench).space == .local)
        _ = await refusal(url, from: .public, by: bench)
        // If a DNS answer has several addresses, only the permitted ones are tried.
        answer.withLock { $0 = "127.0.0.2,127.0.0.1" }
        try self.bench.server.start()
        #expect(try await fetch(url, from: .public, by: bench).space == .public)
        #expect(inside.requests.count == 1)
    }

    @Test func exceptionsAreReached() async throws {
        let bench = try Self.bench(allowing: ["127.0.0.2/31"])
        #expect(try await fetch(local.url("/f"), from: .public, by: bench).space == .public)
        #expect(try await fetch(loopback.url("/f"), from: .public, by: bench).status == 200)
        #expect(try await fetch(local.url("/f"), from: nil, by: bench).space == .local)
    }

    /// A reader gets the error at once, and nothing is retried automatically.
    @Test func aDownloadOutOfReachFailsForGood() async throws {
        var source = DownloadSource(key: 1, url: local.url("/1.mp3"), generation: 1)
        source.reach = .public
        bench.know(source)
        #expect(await failure { try await bench.open(1) }?.code == .outOfReach)
        try bench.fill(1)
        try await bench.wait("the download has failed") { bench.failures.contains { $0.code == .outOfReach } }
        #expect(local.connectionsAccepted == 0)
        source.key = 2
        source.reach = .local
        bench.know(source)
        try await bench.download(2, content)
    }

    /// A later request goes directly to the redirect's target, which must still be in the space in which it was first
    /// reached.
    @Test func theFinalAddressMustRemainInItsSpace() async throws {
        let port = bench.server.port
        let answer = Mutex("127.0.0.1")
        let bench = try Self.bench { ["cdn.example:\(port):\(answer.withLock { $0 })"] }
        let inside = HTTPTestServer(address: "127.0.0.2")
        try inside.start(on: port)
        let other = TestContent(seed: 9, size: 200_000)
        inside.serve("/1.mp3", Resource(other, etag: "\"v\""))
        self.bench.server.serve("/1.mp3", Resource(content, etag: "\"v\"")) { request in
            if request.index == 0 { answer.withLock { $0 = "127.0.0.2" } }
            return request.index == 0 ? .close(after: 100_000) : .normal
        }
        self.bench.server.serve("/start") { _ in .redirect(to: "http://cdn.example:\(port)/1.mp3") }
        var source = DownloadSource(key: 1, url: self.bench.server.url("/start"), generation: 1)
        source.reach = .local
        bench.know(source)
        try bench.fill(1)
        try await bench.wait("the download has failed") { !bench.failures.isEmpty }
        #expect(bench.failures.first?.code == .outOfReach && inside.connectionsAccepted == 0)
    }
}
