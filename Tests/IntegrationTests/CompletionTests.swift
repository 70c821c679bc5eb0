import Foundation
import TestSupport
import Testing

@testable import podfs

/// Completion by Tab in each supported shell, on a pseudo-terminal.
@Suite(.timeLimit(.minutes(5))) struct CompletionTests {
    /// Names with characters that are special in shells. A name that a shell would execute must not be offered.
    private static let titles = [
        "Example Show", "It's \"Q\" & ; * [x] (y) {a,b} ~ #1 \\ a: 日本 Show",
        "Worse $(touch owned) `touch owned` Show", "Bang !x Show",
    ]

    private let home: PodfsHome
    private let server = HTTPTestServer()

    init() async throws {
        home = try PodfsHome()
        try server.start()
        for (index, title) in Self.titles.enumerated() {
            let path = "/feed-\(index)"
            let escaped = title.replacing("&", with: "&amp;")
            server.serveShow(escaped, at: path, episodes: 3, length: 10)
            try await home.run("subscribe", server.url(path), "--name", title).succeeded()
        }
        try await home.endDaemon(SIGTERM)
        // The shells call podfs by its name in PATH.
        try home.directory.makeDirectory("bin")
        try FileManager.default.createSymbolicLink(
            atPath: home.directory.file("bin/podfs"), withDestinationPath: PodfsHome.executable)
    }

    private func shell(_ name: String) throws -> PseudoTerminal {
        var environment = home.environment
        environment["PATH"] = home.directory.file("bin") + ":" + (environment["PATH"] ?? "")
        environment["TERM"] = "dumb"
        environment["HISTFILE"] = ""
        environment["PS1"] = "ready> "
        let path = try #require(
            ["/bin", "/usr/bin", "/usr/local/bin"].map { "\($0)/\(name)" }.first {
                FileManager.default.isExecutableFile(atPath: $0)
            })
        let arguments = [
            "bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"], "fish": ["--no-config", "-i"],
        ]
        return try PseudoTerminal(
            path, arguments[name] ?? [], environment: environment, columns: 400, rows: 50)
    }

    /// Types a line and Tab, runs the completed line, and waits until it prints `output`.
    private func expect(_ terminal: PseudoTerminal, _ typed: String, runs output: String) async throws {
        let before = terminal.text.unicodeScalars.count
        func after() -> String {
            PseudoTerminal.withoutSequences(
                String(String.UnicodeScalarView(terminal.text.unicodeScalars.dropFirst(before))))
        }
        do {
            terminal.type("\(typed)\t")
            // The shell may need a moment to insert the name.
            try await waitUntil(deadline: .seconds(60)) {
                ["Show", "owned", ".mp3"].contains { after().contains($0) }
            }
            terminal.type("\r")
            try await waitUntil(deadline: .seconds(60)) { after().contains(output) }
        } catch {
            throw DeadlineError("\(typed) and Tab run what prints “\(output)”; the terminal shows: \(after())")
        }
    }

    /// - Parameter refused: The beginning of the name that this shell would execute. It must not be completed.
    private func tryAll(_ name: String, refused: String? = nil, setUp: String) async throws {
        let terminal = try shell(name)
        terminal.type("cd \(home.directory.path); \(setUp); echo set''up\n")
        try await terminal.waitForText("setup")
        for beginning in ["Exa", "It", "Wor", "Ban"] where beginning != refused {
            try await expect(terminal, "podfs list \(beginning)", runs: "2026-01-03 Episode 3.mp3  ")
        }
        if let refused {
            terminal.type("podfs set \(refused)\t keep=all\r")
            try await terminal.waitForText("there is no show '\(refused)'")
        }
        // Neither listing nor completion starts a daemon.
        #expect(home.daemonProcessIdentifier == nil)
        try await expect(terminal, "podfs set Example\\ Show/2026-01-02", runs: "played=false")
        terminal.type("exit\r")
        _ = try await terminal.wait()
        #expect(!FileManager.default.fileExists(atPath: home.directory.file("owned")))
    }

    @Test(.enabled(if: InstalledProgram.exists("bash"))) func bashCompletesShowsAndEpisodes() async throws {
        try await tryAll("bash", refused: "Wor", setUp: "source <(podfs --generate-completion-script bash)")
    }

    @Test(.enabled(if: InstalledProgram.exists("zsh"))) func zshCompletesShowsAndEpisodes() async throws {
        try await tryAll(
            "zsh", refused: "Ban",
            setUp: "mkdir -p f; podfs --generate-completion-script zsh >f/_podfs; fpath=($PWD/f $fpath); "
                + "autoload -U compinit; compinit -u -D")
    }

    @Test(.enabled(if: InstalledProgram.exists("fish"))) func fishCompletesShowsAndEpisodes() async throws {
        try await tryAll("fish", setUp: "podfs --generate-completion-script fish | source")
    }
}
