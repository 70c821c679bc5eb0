import Foundation
import Glibc
import TestSupport
import Testing

@testable import Transfers

/// Tests which HTTP versions the engine offers to a TLS server. The ALPN extension (RFC 7301 §3.1) lists them in
/// the ClientHello (RFC 8446 §4.1.2).
struct ProtocolVersionTests {
    @Test func onlyHTTP11IsOffered() async throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try #require(listener >= 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        try #require(inet_pton(AF_INET, "127.0.0.1", &address.sin_addr) == 1)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        try #require(isListening)
        let bench = try EngineBench()
        let request = DataRequest(url: "https://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/feed", limit: 100)
        async let answer = failure { for try await _ in try bench.engine.data(for: request) {} }
        let hello = try await Self.firstBytes(of: listener)
        #expect(hello.firstRange(of: [8] + Array("http/1.1".utf8)) != nil)
        #expect(hello.firstRange(of: [2] + Array("h2".utf8)) == nil)
        // The server has hung up.
        #expect(await answer?.message == "no TLS connection was made: the server may have only http")
    }

    private static func firstBytes(of listener: Int32) async throws -> [UInt8] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                // If the engine fails before it connects, no connection ever arrives.
                var entry = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
                guard poll(&entry, 1, 60_000) == 1 else { return continuation.resume(returning: []) }
                let connection = accept(listener, nil, nil)
                var buffer = [UInt8](repeating: 0, count: 16 * 1_024)
                let count = read(connection, &buffer, buffer.count)
                close(connection)
                continuation.resume(returning: Array(buffer.prefix(max(0, count))))
            }
        }
    }
}
