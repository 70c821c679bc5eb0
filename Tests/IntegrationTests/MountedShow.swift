import Foundation
import TestSupport
import Testing

/// A home with one subscribed show, mounted by default, and a server that the test controls.
///
/// Only other programs access the mount, never the test itself.
struct MountedShow {
    static let show = "Example Show"

    let server: HTTPTestServer
    let home: PodfsHome
    let mount: MountGuard

    /// Subscribes to the show, and mounts unless `isMounted` is false. The server has episode n at `/n.mp3`, initially
    /// with generated content.
    ///
    /// - Parameters:
    ///   - episodes: The number of episodes.
    ///   - size: The size of each in bytes.
    ///   - length: The length in the feed; `nil` for none.
    ///   - configuration: The text of config.toml.
    ///   - environment: Variables for every process of podfs.
    ///   - prepare: Called before the first process of podfs runs.
    init(
        episodes: Int = 3, size: Int = 300_000, length: Int? = 300_000, configuration: String = "",
        environment: [String: String] = [:], isMounted: Bool = true,
        prepare: (PodfsHome) async throws -> Void = { _ in }
    ) async throws {
        server = HTTPTestServer()
        try server.start()
        home = try PodfsHome(environment: environment)
        if !configuration.isEmpty { try home.configure(configuration) }
        try await prepare(home)
        mount = try home.makeMountPoint()
        for number in 1...episodes { server.serve("/\(number).mp3", Self.resource(number, size: size)) }
        server.serveShow(Self.show, episodes: episodes, length: length)
        let subscribed = try await home.run("subscribe", server.url("/feed.xml"))
        let count = episodes == 1 ? "1 episode" : "\(episodes) episodes"
        #expect(subscribed.output == "Example Show: \(count)\n", "\(subscribed.error)")
        if isMounted { try await remount() }
    }

    /// Creates another home for the same show, which is neither subscribed nor mounted there.
    init(of show: MountedShow, in home: PodfsHome) throws {
        (server, self.home, mount) = (show.server, home, try home.makeMountPoint())
    }

    static func content(_ number: Int, size: Int = 300_000) -> TestContent {
        TestContent(seed: UInt64(number), size: size)
    }

    static func resource(_ number: Int, size: Int = 300_000) -> Resource {
        Resource(content(number, size: size), etag: "\"episode-\(number)\"")
    }

    func remount() async throws {
        try await home.run("mount", mount.mountPoint).succeeded()
    }

    /// Returns the path of episode n, at most 31: its name begins with day n of January 2026.
    func path(_ number: Int) -> String {
        let day = number < 10 ? "0\(number)" : "\(number)"
        return "\(mount.mountPoint)/\(Self.show)/2026-01-\(day) Episode \(number).mp3"
    }

    /// Returns an extended attribute, read by another program; `nil` if it does not exist.
    func attribute(_ name: String, of path: String) async throws -> String? {
        let result = try await ChildProcess.run(
            "getfattr", ["--absolute-names", "--only-values", "-n", "user.podfs." + name, path])
        return result.exitCode == 0 ? result.output : nil
    }

    func waitForState(_ state: String, of path: String) async throws {
        try await waitUntil(deadline: .seconds(120), description: "\(path) is \(state)") {
            try await attribute("state", of: path) == state
        }
    }

    func read(_ path: String) async throws -> ChildProcess.Result { try await ChildProcess.run("cat", [path]) }

    /// Returns the process id of the mount.
    func mountProcess() async throws -> Int32 {
        try #require(Int32(try await attribute("mount.pid", of: mount.mountPoint) ?? ""))
    }

    func requests(_ number: Int) -> [LoggedRequest] { server.requests(for: "/\(number).mp3") }
}

extension HTTPTestServer {
    func serve(_ path: String = "/feed.xml", feed: FeedBuilder) {
        serve(path, Resource(text: feed.text, contentType: "application/rss+xml"))
    }

    /// Serves the feed of a show. Its episode n is at `/n.mp3`, unless `media` returns another URL.
    func serveShow(
        _ title: String, at path: String = "/feed.xml", episodes: Int, length: Int? = nil,
        media: ((Int) -> String)? = nil
    ) {
        serve(path, feed: .show(title, episodes: episodes, length: length) { media?($0) ?? url("/\($0).mp3") })
    }
}
