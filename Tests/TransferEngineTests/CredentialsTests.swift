import Platform
import TestSupport
import Testing

@testable import Transfers

/// User names and passwords, which are sent to their origin only.
struct CredentialsTests {
    private let bench: EngineBench
    /// A server on another port, and so of another origin.
    private let other = HTTPTestServer()
    private let content = TestContent(seed: 1, size: 400_000)

    init() throws {
        bench = try EngineBench()
        try other.start()
    }

    /// `user:pass wörd` for the bench's server.
    private var credentials: Credentials {
        get throws {
            Credentials(
                user: "user", password: "pass wörd",
                origin: try #require(WebAddress.origin(of: bench.server.url("/"))))
        }
    }

    /// base64 of `user:pass wörd` in UTF-8.
    private let field = "Basic dXNlcjpwYXNzIHfDtnJk"

    private func fetch(_ url: String) async throws {
        var request = DataRequest(url: url, limit: 1 << 20)
        request.credentials = try credentials
        try await bench.fetch(request)
    }

    private func fields(_ server: HTTPTestServer) -> [String?] { server.requests.map { $0.headers["Authorization"] } }

    @Test func onlyRedirectsWithinTheOriginKeepCredentials() async throws {
        other.serve("/feed", Resource(content))
        bench.server.serve("/feed", Resource(content))
        bench.server.serve("/here") { _ in .redirect(to: "/feed") }
        let away = other.url("/feed")
        bench.server.serve("/away") { _ in .redirect(to: away, status: 301) }
        let back = bench.server.url("/feed").replacing("127.0.0.1", with: "localhost")
        #expect(back != bench.server.url("/feed"))
        bench.server.serve("/otherName") { _ in .redirect(to: back, status: 307) }
        try await fetch(bench.server.url("/here"))
        #expect(fields(bench.server) == [field, field])
        try await fetch(bench.server.url("/away"))
        #expect(fields(other) == [nil])
        try await fetch(bench.server.url("/otherName"))
        #expect(bench.server.requests(for: "/otherName").map { $0.headers["Authorization"] } == [field])
        #expect(bench.server.requests(for: "/feed").last?.headers["Authorization"] == .some(nil))
    }

    @Test func credentialsAreNotSentToAnotherOrigin() async throws {
        other.serve("/feed", Resource(content))
        try await fetch(other.url("/feed"))
        #expect(fields(other) == [nil])
        // User info in the URL is sent instead of the credentials.
        bench.server.serve("/feed", Resource(content))
        try await fetch(bench.server.url("/feed").replacing("http://", with: "http://a:b@"))
        #expect(fields(bench.server) == ["Basic YTpi"])
    }

    @Test func aDownloadSendsCredentialsOnlyToItsOrigin() async throws {
        // The bench's server redirects requests for file 1 to `other`, which breaks two connections. After the first
        // break the rest is requested directly from `other`, and after the second through the bench's server again.
        other.serve("/1.mp3", Resource(content, etag: "\"v\""), [.close(after: 100_000), .close(after: 100_000)])
        let away = other.url("/1.mp3")
        bench.server.serve("/1.mp3") { _ in .redirect(to: away) }
        bench.add(2, Resource(content, etag: "\"v\""), [.close(after: 100_000)])
        for key: MediaID in [1, 2] {
            var source = DownloadSource(key: key, url: bench.server.url("/\(key).mp3"), generation: 1)
            source.credentials = try credentials
            bench.know(source)
        }
        try bench.fill(1, 2)
        try await bench.waitUntilWhole(1, 2)
        #expect(try bench.holds(1, content) && bench.holds(2, content))
        #expect(fields(other).count >= 3 && fields(other).allSatisfy { $0 == nil })
        #expect(bench.server.requests(for: "/2.mp3").count == 2)
        #expect(fields(bench.server).allSatisfy { $0 == field })
    }

    @Test func credentialsFitURLsOfTheirOriginOnly() {
        let credentials = Credentials(user: "u", password: "secret", origin: "https://example.com:443")
        #expect(credentials.fit("https://EXAMPLE.com/x.mp3"))
        #expect(!credentials.fit("http://example.com/x.mp3") && !credentials.fit("https://example.com:444/"))
        #expect(!credentials.fit("https://example.com.evil.example/") && !credentials.fit("https://me@example.com/"))
        #expect(!credentials.fit("https://example.com\\@evil.example/"))
        #expect(!"\(credentials)".contains("secret"))
    }

    /// URLs whose host is that of the credentials to some programs, and another one to libcurl.
    @Test(arguments: ["\\@", "\\\\@", "\\.@", "\\:@", ":80\\@", "/\\@"])
    func ambiguousURLsAreRefusedBeforeTheyAreRequested(separator: String) async throws {
        other.serve("/1.mp3", Resource(content))
        let away = bench.server.url("") + separator + other.url("/1.mp3").dropFirst("http://".count)
        for url in [away, away.replacing("http://", with: "http://a:b@")] {
            await #expect(throws: TransferError.self) { try await fetch(url) }
            var source = DownloadSource(key: 1, url: url, generation: 1)
            source.credentials = try credentials
            bench.know(source)
            try bench.fill(1)
            try await bench.wait("the download has failed") { !bench.failures.isEmpty }
            #expect(bench.failures.last?.code == .unusable)
        }
        // libcurl follows redirects by its own reading of the address, and sends the credentials to their origin only.
        bench.server.serve("/away") { _ in .redirect(to: away) }
        try? await fetch(bench.server.url("/away"))
        #expect(fields(other).allSatisfy { $0 == nil } && other.requests.count <= 1)
    }
}
