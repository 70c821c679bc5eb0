import Foundation
import TestSupport
import Testing

@testable import Transfers

/// Tests of the engine against malicious servers.
@Suite struct TransferEngineHostileTests {
    private let content = TestContent(seed: 81, size: 2_000_000)
    private var resource: Resource { Resource(content, etag: "\"v1\"") }

    // MARK: Heads that lie

    @Test(arguments: [
        "bytes 0-9/10", "bytes 0-1999999/2000000", "bytes 9223372036854775806-9223372036854775807/9223372036854775808",
        "bytes -5-10/2000000", "bytes 1000000-999999/2000000", "items 0-9/10", "bytes", "",
    ])
    func aWrongContentRangeIsNotBelieved(value: String) async throws {
        let bench = try EngineBench(resource) { request in
            request.range != nil ? .contentRange(value) : request.index == 0 ? .close(after: 500_000) : .normal
        }
        #expect(try await bench.read(1, 1_500_000..<1_500_100) == content.bytes(in: 1_500_000..<1_500_100))
        try await bench.download(1, content)
    }

    @Test(arguments: [
        "-5", "-0", "0x10", "ten", "-9223372036854775808", "10, 20",
        "9223372036854775807", "18446744073709551616",
    ])
    func aMalformedLengthFails(value: String) async throws {
        let bench = try EngineBench(resource) { _ in .contentLength(value) }
        let error = await failure { try await bench.read(1, 0..<100) }
        #expect(error?.code == .unusable, "\(String(describing: error))")
        #expect(try bench.engine.cache.names() == [])
    }

    @Test func anEncodedBodyIsNotStoredInMidFileEither() async throws {
        let bench = try EngineBench(resource) { request in
            request.index == 0 ? .close(after: 500_000) : .gzipLabelled()
        }
        try bench.fill(1)
        try await bench.wait("the download fails") { bench.failures.count == 1 }
        #expect(bench.failures[0] == TransferError(.unusable, "the server sent the file with Content-Encoding gzip"))
        #expect(try await bench.snapshot(1)?.present.text == "0-499999")
        #expect(try await bench.read(1, 0..<500_000) == content.bytes(in: 0..<500_000))
        #expect(bench.server.requests.allSatisfy { $0.headers["Accept-Encoding"] == "identity" })
    }

    // MARK: Endless heads

    @Test(arguments: [true, false]) func aHeadOfAMebibyteIsRefusedAndNotAskedForAgain(isOneField: Bool) async throws {
        let bench = try EngineBench(resource) { _ in
            if isOneField { return .hugeHeader(bytes: 1 << 20) }
            let value = String(repeating: "a", count: 1_024)
            return (0..<1_024).reduce(.normal) { $0.header("X-\($1)", value) }
        }
        let error = TransferError(.unusable, "the head of the server's answer is too large")
        #expect(await failure { try await bench.open(1) } == error)
        #expect(await failure { try await bench.read(1, 0..<10) } == error)
        #expect(bench.server.requests.count == 1)
    }

    /// Until curl 8.5 a long line has the code of missing memory.
    @Test func missingMemoryIsNoLongHead() throws {
        let request = DataRequest(url: "http://127.0.0.1/", limit: 1)
        let handle = try #require(EasyHandle(request, in: TransferConfiguration(userAgent: "podfs-test")))
        let failure = handle.failure(.outOfMemory)
        #expect(failure.isTransient && failure.error == TransferError(.failed, "out of memory"))
    }

    @Test func aHeadThatArrivesByteByByteTimesOut() async throws {
        // The head would take more than a minute. No pause between two bytes is as long as a second,
        // so the limit on stalls does not apply.
        let bench = try EngineBench(resource) {
            $0.limits.stall = .seconds(1)
            $0.limits.readerDeadline = .milliseconds(1_500)
            $0.limits.retry.firstDelay = .seconds(60)
        } behaviour: { _ in
            .slowHead(bytesPerSecond: 3)
        }
        #expect(await failure { try await bench.open(1) }?.code == .timedOut)
        try await bench.wait("the connection has ended") { bench.server.requests.first?.isFinished == true }
        #expect(bench.server.requests.first?.isWhole == false)
    }

    // MARK: Redirects

    @Test(arguments: ["file:///etc/passwd", "FILE:/etc/passwd", "ftp://127.0.0.1/x", "dict://127.0.0.1:1/x"])
    func aRedirectToAnotherSchemeIsNotFollowed(location: String) async throws {
        let bench = try EngineBench(resource) { _ in .redirect(to: location) }
        #expect(
            await failure { try await bench.read(1, 0..<10) }
                == TransferError(.unusable, "the address, or a redirect, is not http or https"))
        #expect(try bench.engine.cache.names() == [])
    }

    @Test func userInfoIsNotSentToAnotherHost() async throws {
        let bench = try EngineBench()
        let other = bench.server.url("/b.mp3", host: "localhost")
        bench.server.serve("/a.mp3") { _ in .redirect(to: other) }
        bench.server.serve("/b.mp3", resource, [.close(after: 1_000_000)])
        let url = bench.server.url("/a.mp3").replacingOccurrences(of: "//", with: "//user:secret@")
        bench.know(DownloadSource(key: 1, url: url, generation: 1))
        try await bench.download(1, content)
        // curl sends the credentials to the first host only.
        let basic = "Basic " + Data("user:secret".utf8).base64EncodedString()
        #expect(bench.server.requests(for: "/a.mp3").allSatisfy { $0.headers["Authorization"] == basic })
        let others = bench.server.requests(for: "/b.mp3")
        #expect(others.count == 2, "the second request goes there directly")
        #expect(others.allSatisfy { $0.headers["Authorization"] == nil && $0.headers["Referer"] == nil })
        #expect(others.allSatisfy { $0.headers["Host"] == "localhost:\(bench.server.port)" })
    }

    // MARK: Certificates

    private static let openSSL = ["/usr/bin/openssl", "/usr/local/bin/openssl"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    @Test(.enabled(if: openSSL != nil)) func aSelfSignedCertificateIsRefused() async throws {
        let openSSL = try #require(Self.openSSL)
        let folder = try TemporaryDirectory()
        let made = try await ChildProcess.run(
            openSSL,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder.file("key"),
                "-out", folder.file("certificate"),
            ])
        #expect(made.exitCode == 0, "\(made.error)")
        let server = try ChildProcess(
            openSSL,
            [
                "s_server", "-accept", "127.0.0.1:0", "-www", "-key", folder.file("key"), "-cert",
                folder.file("certificate"),
            ])
        try await server.waitForOutput("ACCEPT 127.0.0.1:")
        let line = server.output.split(separator: "\n").first { $0.hasPrefix("ACCEPT") }
        let port = try #require(line?.split(separator: ":").last)
        let bench = try EngineBench()
        bench.know(DownloadSource(key: 1, url: "https://127.0.0.1:\(port)/1.mp3", generation: 1))
        let error = try #require(await failure { try await bench.open(1) })
        #expect(error.code == .unreachable)
        #expect(error.message.hasPrefix("the certificate of 127.0.0.1 is not trusted: it is self-signed"))
        #expect(await failure { try await bench.open(1) } == error, "it is not tried again at once")
        #expect(try await bench.snapshot(1)?.state == .failed)
        server.kill()
    }
}
