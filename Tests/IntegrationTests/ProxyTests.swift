import Foundation
import TestSupport
import Testing

/// Feeds, downloads and uploads through the proxies that the environment names. Only the proxy can resolve the names
/// of the hosts.
@Suite(.timeLimit(.minutes(5)), .enabled(if: InstalledProgram.exists("python3"), "python3 is not installed"))
struct ProxyTests {
    private let content = TestContent(seed: 17, size: 300_000)

    private func subscribeAndDownload(_ home: PodfsHome, _ feed: String) async throws {
        try await home.run("subscribe", feed).succeeded()
        try await home.run("download", "Show", "--latest", "1").succeeded()
        try await waitUntil(deadline: .seconds(60), description: "the episode is cached") {
            let listed = try await home.run("list", "Show", "--json").output
            return listed.contains("\"cached\"")
        }
    }

    private static func feed(_ media: String) -> String {
        FeedBuilder.show("Show", episodes: 1, length: 300_000) { _ in media }.text
    }

    @Test func requestsGoThroughTheProxyButNotToExceptedHosts() async throws {
        let (web, videos) = (HTTPTestServer(), try VideoServer())
        try web.start()
        let port = try #require(URLComponents(string: videos.url())?.port.map { UInt16($0) })
        let proxy = try await ForwardProxy(["pod.example": web.port, "cdn.example": web.port, "up.example": port])
        web.serve("/1.mp3", Resource(content, etag: "\"1\""))
        web.serve("/play") { _ in .redirect(to: "http://cdn.example/1.mp3") }
        web.serve(
            "/feed.xml", Resource(text: Self.feed("http://pod.example/play"), contentType: "application/rss+xml"))
        let home = try PodfsHome(environment: ["http_proxy": proxy.url, "NO_PROXY": "127.0.0.1"])
        try await subscribeAndDownload(home, "http://pod.example/feed.xml")
        let file = try home.directory.write("talk.mp4", content.bytes)
        try await home.run("publish", file, "--to", "http://up.example/videos", "--title", "Talk", "--wait").succeeded()
        #expect(videos.videos.first?.movie != nil)
        let asked = proxy.requests
        #expect(asked.first == "GET http://pod.example/feed.xml")
        // The address that redirects to the file is requested once.
        #expect(asked.count { $0 == "GET http://pod.example/play" } == 1)
        #expect(asked.contains("GET http://cdn.example/1.mp3"))
        #expect(asked.contains { $0.hasPrefix("POST http://up.example/") })
        // A host in NO_PROXY is reached directly.
        let count = asked.count
        web.serve("/own.xml", Resource(text: Self.feed("http://cdn.example/1.mp3"), contentType: "application/rss+xml"))
        #expect(try await home.run("subscribe", web.url("/own.xml"), "--name", "Own").exitCode == 0)
        #expect(proxy.requests.count == count)
    }

    /// A feed on the internet must not cause requests to private hosts through the proxy. Two of the three media URLs
    /// lead to the proxy itself.
    @Test func aFeedLeadsToNoPrivateHostThroughAProxy() async throws {
        let web = HTTPTestServer()
        try web.start()
        let proxy = try await ForwardProxy(["pod.example": web.port, "127.0.0.1": web.port, "localhost": web.port])
        for (name, url) in [
            ("a", "http://127.0.0.1:\(proxy.port)/1.mp3"), ("b", "http://localhost:\(proxy.port)/1.mp3"),
            ("c", "http://127.0.0.1/1.mp3"),
        ] {
            web.serveShow(name, at: "/\(name).xml", episodes: 1, length: 300_000) { _ in url }
        }
        web.serve("/1.mp3", Resource(content, etag: "\"1\""))
        let home = try PodfsHome(environment: ["http_proxy": proxy.url])
        for (count, name) in ["a", "b", "c"].enumerated() {
            #expect(try await home.run("subscribe", "http://pod.example/\(name).xml").exitCode == 0)
            _ = try await home.run("download", name, "--latest", "1")
            try await waitUntil(deadline: .seconds(60), description: "\(name) is refused") {
                let tasks = try await home.run("status", "--json").output
                let reason = "is on this computer, but the address that led to it is not"
                return tasks.ranges(of: reason).count == count + 1
            }
        }
        #expect(web.requests(for: "/1.mp3").isEmpty)
    }

    /// With TLS the proxy sees only the host's name, and podfs accepts a certificate that the authority in
    /// `transfers.ca_file` has issued.
    @Test func aCertificateOfTheGivenAuthorityIsAcceptedThroughAProxy() async throws {
        let server = try await SecureServer(names: ["DNS:pod.example"])
        try server.write("1.mp3", content.bytes)
        try server.write("feed.xml", Array(Self.feed("https://pod.example/1.mp3").utf8))
        let proxy = try await ForwardProxy(["pod.example": server.port])
        let home = try PodfsHome(environment: ["https_proxy": proxy.url])
        try home.configure("[transfers]\nca_file = \"\(server.authority)\"\n")
        try await subscribeAndDownload(home, "https://pod.example/feed.xml")
        #expect(Set(proxy.requests) == ["CONNECT pod.example:443"])
    }
}
