import Foundation
import Glibc
import TestSupport
import Testing

/// The commands of `podfs sync`, most of them run without a terminal.
@Suite(.timeLimit(.minutes(10))) struct SyncCommandTests {
    private let home: PodfsHome
    private let server = SyncServer()
    private let web = HTTPTestServer()

    init() throws {
        home = try PodfsHome()
        try server.start()
        try web.start()
        web.serveShow("Show", episodes: 2) { "https://m.example/\($0).mp3" }
    }

    private func login(_ arguments: String..., password: String = "s3cret pass\n") async throws -> ChildProcess.Result {
        try await home.run(
            ["sync", "login", server.url, "--password-stdin"] + arguments, input: Array(password.utf8))
    }

    @Test func aLoginSyncsAndTheStatusReportsIt() async throws {
        server.change(add: [web.url("/feed.xml")])
        let none = try await home.run("sync", "status")
        #expect(none.output.contains("podfs sync login"))
        #expect(try await home.run("sync").error.contains("podfs sync login"))

        let result = try await login("--user", "anna", "--device", "laptop").succeeded()
        #expect(result.output.contains("logged in") && result.output.contains("all changes are sent"))
        #expect(try await home.run("list").output.contains("Show"))

        let episode = "Show/2026-01-02 Episode 2.mp3"
        #expect(try await home.run("set", episode, "position=61").exitCode == 0)
        #expect(try await home.run("sync", "--now").exitCode == 0)
        #expect(server.actions.map { $0["position"] as? Int } == [61])
        #expect(server.actions.map { $0["device"] as? String } == ["laptop"])

        let json = try await home.run("sync", "status", "--json")
        let status: [String: Any] = try json.json()
        #expect(status["state"] as? String == "idle" && status["user"] as? String == "anna")
        #expect(status["kind"] as? String == "gpodder" && status["waiting_actions"] as? Int == 0)
        #expect(status["error"] is NSNull && status["last_sync"] is String)

        #expect(try await home.run("sync", "logout").exitCode == 0)
        #expect(try await home.run("sync", "status", "--json").output.contains("\"none\""))
        #expect(try await home.run("list").output.contains("Show"))
    }

    @Test func thePasswordIsReadFromTheTerminalWithoutEcho() async throws {
        let terminal = try PseudoTerminal(
            PodfsHome.executable, ["sync", "login", server.url, "--user", "anna"], environment: home.environment,
            columns: 80, rows: 24)
        try await terminal.waitForText("Password of anna")
        try await waitUntil(description: "echo is off") { !terminal.echoes }
        terminal.type("s3cret pass\n")
        #expect(try await terminal.wait() == .exited(0), "\(terminal.text)")
        #expect(terminal.echoes && !terminal.text.contains("s3cret"))
    }

    @Test func thePasswordIsNeitherPrintedNorLogged() async throws {
        let refused = try await login("--user", "anna", password: "hunter2").failed(77)
        let result = try await login("--user", "anna").succeeded()
        let log = try String(contentsOfFile: home.stateDirectory + "/daemon.log", encoding: .utf8)
        for text in [log, result.output, result.error, refused.error, try await home.run("sync", "status").output] {
            #expect(!text.contains("s3cret") && !text.contains("hunter2"))
        }
    }

    @Test func wrongInputIsReported() async throws {
        #expect(try await login().error.contains("--user"))
        #expect(try await login("--user", "anna", "--kind", "soundcloud").exitCode == 64)
        #expect(try await login("--user", "anna", "--device", "my device").exitCode == 64)
        #expect(try await login("--user", "anna", password: "\n").exitCode == 64)
        let long = try await login("--user", "anna", password: String(repeating: "x", count: 4_097) + "\n")
        #expect(long.exitCode == 64 && long.error.contains("longer than 4096 bytes"), "\(long.error)")
        #expect(try await login("--user", "anna", password: String(repeating: "x", count: 4_096) + "\n").exitCode == 77)
        try await home.run(
            ["sync", "login", "http://sync.example", "--user", "a", "--password-stdin"], input: Array("x\n".utf8)
        ).failed(64, says: "--allow-http")
        for (url, words) in [
            ("http://127.0.0.1:1", "check the address"), (web.url(""), "neither a gPodder server nor a Nextcloud"),
            ("ftp://sync.example", "https://"), ("https:// sync", "https://"),
        ] {
            let result = try await home.run(
                ["sync", "login", url, "--user", "anna", "--password-stdin"], input: Array("x\n".utf8))
            #expect(result.exitCode != 0 && result.error.contains(words), "\(url): \(result.error)")
            #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
        }
        // Without a terminal there is no prompt.
        try await ChildProcess.run(
            "setsid", ["--wait", PodfsHome.executable, "sync", "login", server.url, "--user", "anna"],
            environment: home.environment
        ).failed(64, says: "--password-stdin")
    }

    @Test func theLoginIsReadFromNetrc() async throws {
        try home.directory.write(
            "home/.netrc",
            text: "machine other.example login x password y\nmachine 127.0.0.1\n  login anna\n  password s3cret\n")
        #expect(
            try await home.run("sync", "login", server.url).exitCode == 77,
            "the password in .netrc is not the one of this server")
        let other = SyncServer(password: "s3cret")
        try other.start()
        let result = try await home.run("sync", "login", other.url)
        #expect(result.exitCode == 0 && result.output.contains("as anna"), "\(result.error)")
    }
}
