import Foundation
import Glibc
import TestSupport
import Testing

/// A feed on the internet that refers to private networks. podfs and the test servers run in a network namespace. A
/// public address that is assigned to an interface there stands for a host on the internet.
@Suite(
    .timeLimit(.minutes(5)), .enabled(if: NetworkNamespace.isPossible, "\(NetworkNamespace.requirement)")
) struct ReachTests {
    /// A public address. The addresses for documentation would not do, because they are in reserved blocks.
    private static let far = "93.184.215.14"
    private static let near = "10.0.0.1"
    private static let content = TestContent(seed: 5, size: 50_000)

    private let network: NetworkNamespace
    private let servers: [String: HTTPTestServer]
    private let home: PodfsHome
    private let mount: MountGuard

    init() async throws {
        network = try await NetworkNamespace(addresses: [Self.far, Self.near])
        var servers: [String: HTTPTestServer] = [:]
        for address in [Self.far, Self.near, "127.0.0.1"] {
            let server = HTTPTestServer(address: address)
            try await network.inside { try server.start() }
            server.serve("/1.mp3", Resource(Self.content, etag: "\"1\""))
            server.serve("/t.vtt", Resource(text: "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n"))
            server.serve("/c.json", Resource(text: "{\"chapters\":[]}", contentType: "application/json"))
            server.serve("/art.jpg", Resource(bytes: [0xFF, 0xD8, 0xFF, 0xE0, 1, 2, 3, 4], contentType: "image/jpeg"))
            servers[address] = server
        }
        self.servers = servers
        home = try PodfsHome()
        mount = try home.makeMountPoint()
    }

    private func podfs(_ arguments: String...) async throws -> ChildProcess.Result {
        let words = network.entering([PodfsHome.executable] + arguments)
        return try await ChildProcess.run(words[0], Array(words.dropFirst()), environment: home.environment)
    }

    private func error(of path: String) async throws -> String {
        try await ChildProcess.run(
            "getfattr", ["--absolute-names", "--only-values", "-n", "user.podfs.error", path]
        ).output
    }

    @Test func aFeedOfTheInternetLeadsToNoPrivateHost() async throws {
        let far = try #require(servers[Self.far])
        let inside = try [#require(servers[Self.near]), #require(servers["127.0.0.1"])]
        // The episodes' hosts in order: on the local network; on this computer; on this computer, after two redirects;
        // on the internet; on the local network, without a listener.
        let middle = HTTPTestServer(address: Self.far)
        try await network.inside { try middle.start() }
        far.serve("/3.mp3", Resource(Self.content)) { _ in .redirect(to: middle.url("/3.mp3")) }
        middle.serve("/3.mp3", Resource(Self.content)) { _ in .redirect(to: inside[1].url("/1.mp3")) }
        let addresses = [
            inside[0].url("/1.mp3"), inside[1].url("/1.mp3"), far.url("/3.mp3"), far.url("/1.mp3"),
            "http://10.0.0.2/1.mp3",
        ]
        var feed = FeedBuilder.show("Show", episodes: 5, length: 50_000) { addresses[$0 - 1] }
        feed.image = inside[1].url("/art.jpg")
        // The newest episode is first, so this is the fourth.
        feed.items[1].raw = """
            <podcast:transcript url="\(inside[1].url("/t.vtt"))" type="text/vtt"/>
            <podcast:chapters url="\(inside[1].url("/c.json"))" type="application/json+chapters"/>
            """
        far.serve(feed: feed)

        // `allow_private` permits the host of the first episode.
        try home.configure("[transfers]\nallow_private = [\"\(Self.near)/32\"]\n")
        #expect(try await podfs("subscribe", far.url("/feed.xml")).output == "Show: 5 episodes\n")
        try await podfs("mount", mount.mountPoint).succeeded()
        let path = { (number: Int) in "\(mount.mountPoint)/Show/2026-01-0\(number) Episode \(number).mp3" }
        let message = { (host: String, place: String) in
            "\(host) is \(place), but the address that led to it is not; "
                + "add \(host) to transfers.allow_private to allow it"
        }
        let refusals = [
            2: message("127.0.0.1", "on this computer"), 3: message("127.0.0.1", "on this computer"),
            5: message("10.0.0.2", "on the local network"),
        ]
        for (number, refusal) in refusals {
            #expect(try await ChildProcess.run("cat", [path(number)]).says(EACCES))
            let error = try await error(of: path(number))
            #expect(error == refusal)
        }
        let fourth = "2026-01-04 Episode 4"
        for name in ["cover.jpg", "\(fourth).vtt", ".chapters/\(fourth).json"] {
            let path = "\(mount.mountPoint)/Show/\(name)"
            #expect(try await error(of: path) == "")
            #expect(try await ChildProcess.run("cat", [path]).says(EACCES), "\(name)")
            let error = try await error(of: path)
            #expect(error == message("127.0.0.1", "on this computer"))
        }
        for number in [1, 4] {
            #expect(Self.content.matches(try await ChildProcess.run("cat", [path(number)]).standardOutput))
        }
        #expect(inside[1].requests.isEmpty && inside[1].connectionsAccepted == 0)
    }
}
