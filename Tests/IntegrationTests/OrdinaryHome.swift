import Foundation
import Glibc
import TestSupport
import Testing

/// A home that belongs to the user `nobody` and has a subscribed show, for tests that run as root.
///
/// Its programs run in a mount namespace in which an ordinary user may open /dev/fuse.
struct OrdinaryHome {
    static let isPossible = MountNamespace.isPossible
    static let requirement: Comment = "needs root, and a mount namespace with a device node of its own"

    /// The user id of `nobody` and the group id of `nogroup` on Debian.
    static let user = 65_534

    let home: PodfsHome
    let mount: MountGuard
    let namespace: MountNamespace
    let server = HTTPTestServer()
    /// A copy of the program that `nobody` can execute.
    let program: String
    private let folder: TemporaryDirectory

    init() async throws {
        namespace = try await MountNamespace()
        home = try PodfsHome()
        mount = try home.makeMountPoint(in: namespace)
        folder = try TemporaryDirectory()
        program = folder.file("podfs")
        // The build folder may be accessible to root only.
        try await ChildProcess.run(
            "sh",
            [
                "-c", "cp --reflink=auto \"$0\" \"$1/podfs\" && chmod 755 \"$1\" && chown -R \"$2:$2\" \"$3\"",
                PodfsHome.executable, folder.path, "\(Self.user)", home.directory.path,
            ]
        ).succeeded()
        try server.start()
        server.serve("/1.mp3", MountedShow.resource(1))
        let server = server
        let feed = FeedBuilder.show(MountedShow.show, episodes: 1, length: 300_000) { server.url("/\($0).mp3") }
        server.serve(feed: feed)
        try await run(program, "subscribe", server.url("/feed.xml")).succeeded()
    }

    /// The words to put before a command, so that it runs as `nobody`.
    static let asUser = ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--"]

    /// Runs a program as `nobody`, in the namespace.
    func run(_ arguments: String...) async throws -> ChildProcess.Result {
        try await runAsRoot(Self.asUser + arguments)
    }

    /// Runs a program as root, in the same namespace.
    func runAsRoot(_ command: [String]) async throws -> ChildProcess.Result {
        let words = namespace.entering(command)
        return try await ChildProcess.run(words[0], Array(words.dropFirst()), environment: home.environment)
    }

    var episode: String { "\(mount.mountPoint)/\(MountedShow.show)/2026-01-01 Episode 1.mp3" }

    func mountProcess() async throws -> Int32 {
        let result = try await run(
            "getfattr", "--absolute-names", "--only-values", "-n", "user.podfs.mount.pid", mount.mountPoint)
        return try #require(Int32(result.output), "\(result.error)")
    }

    /// Returns the filesystem user id of a process: the last number of `Uid` in /proc/PID/status.
    func user(of process: Int32) throws -> String? {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        return status.split(separator: "\n").first { $0.hasPrefix("Uid:") }
            .flatMap { $0.split(whereSeparator: \.isWhitespace).last.map(String.init) }
    }
}
