import Synchronization
import TestSupport
import Testing

@testable import Transfers

/// Changes of the network while an episode is read. The engine and the servers run in a network namespace, from which
/// the test removes an address and to which it adds it again. Packets to a removed address disappear, as on a cut
/// cable.
@Suite(
    .timeLimit(.minutes(5)), .enabled(if: NetworkNamespace.isPossible, "\(NetworkNamespace.requirement)")
) struct NetworkChangeTests {
    private static let address = "192.0.2.1"
    private let network: NetworkNamespace
    private let bench: EngineBench
    private let content = TestContent(seed: 31, size: 3_000_000)

    init() async throws {
        let network = try await NetworkNamespace(addresses: [Self.address])
        self.network = network
        let made = Mutex<EngineBench?>(nil)
        // The threads of the engine and the server stay in the namespace of the thread that starts them.
        try await network.inside {
            let bench = try EngineBench(sendBuffer: 64 * 1_024, address: Self.address) {
                $0.limits.retry = RetryPolicy()
            }
            made.withLock { $0 = bench }
        }
        bench = try #require(made.withLock { $0 })
    }

    private func ip(_ arguments: String...) async throws {
        let words = network.entering(["ip"] + arguments)
        let result = try await ChildProcess.run(words[0], Array(words.dropFirst()))
        try #require(result.exitCode == 0, "\(result.error)")
    }

    /// The address disappears in mid-transfer, and a reader waits. The tracker, a server that counts plays and
    /// redirects to the file, gets only one request. The engine does not request bytes again that have arrived.
    @Test func aReadContinuesWhenTheAddressReturns() async throws {
        let file = bench.server.url("/1.mp3")
        let tracker = HTTPTestServer(address: Self.address)
        try await network.inside { try tracker.start() }
        tracker.serve("/play") { _ in .redirect(to: file) }
        let gate = Gate(heldAt: 1_000_000)
        bench.server.serve("/1.mp3", Resource(content, etag: "\"v\"")) { request in
            request.index == 0 ? .hold(gate) : .normal
        }
        bench.know(DownloadSource(key: 1, url: tracker.url("/play"), generation: 1))
        _ = try await bench.open(1)
        try bench.fill(1)
        try await gate.waitUntilReached()
        try await bench.waitUntilReceived(1, 1_000_000)
        let bench = bench
        let reading = Task { try await bench.read(1, 1_000_000..<1_001_000) }
        defer { reading.cancel() }

        try await ip("addr", "del", "\(Self.address)/32", "dev", "lo")
        try await bench.wait("the lost connection is reported") {
            try await bench.snapshot(1)?.error?.code == .unreachable
        }
        gate.open()
        let clock = ContinuousClock()
        try await ip("addr", "add", "\(Self.address)/32", "dev", "lo")
        let back = clock.now
        #expect(try await reading.value == Array(content.bytes[1_000_000..<1_001_000]))
        #expect(back.duration(to: clock.now) < .seconds(3))
        try await bench.expectWhole(1, content)
        #expect(tracker.requests.count == 1, "a play is counted once")
        let again = bench.server.requests.dropFirst().map { $0.headers["Range"] }
        #expect(again == ["bytes=1000000-2999999"], "bytes that have arrived are not sent again")
    }
}
