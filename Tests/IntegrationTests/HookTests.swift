import Foundation
import Glibc
import TestSupport
import Testing

/// Tests of hooks (programs that the daemon starts at events): the examples of the manual, and the descriptors and
/// signals that a hook inherits.
struct HookTests {
    /// Returns the example in podfs.conf(5) from the line `[hooks]` on, without roff's escapes.
    private static func example() throws -> String {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("man/podfs.conf.5")
        let lines = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n")
        let begin = try #require(lines.firstIndex(of: "[hooks]"))
        return lines[begin...].prefix { $0 != ".fi" }.joined(separator: "\n").replacing("\\-", with: "-")
            .replacing("\\e", with: "\\") + "\n"
    }

    @Test func theHooksOfTheManualNotifyTheUser() async throws {
        let show = try await MountedShow(configuration: try Self.example(), isMounted: false) { home in
            // A replacement for notify-send that records its arguments, one per line, and its environment.
            try home.directory.makeDirectory("bin")
            let program = """
                #!/bin/sh
                for word; do echo "<$word>"; done >>"$HOME/said"
                echo "$PODFS_EPISODE $PODFS_URL ${PODFS_ID:+id}" >>"$HOME/said"
                """
            try home.directory.writeProgram("bin/notify-send", text: program)
        }
        // The running daemon has a PATH without the replacement. `run` starts a daemon whose PATH has it.
        try await show.home.endDaemon(SIGTERM)
        var environment = show.home.environment
        environment["PATH"] = show.home.directory.file("bin") + ":" + (environment["PATH"] ?? "")
        func run(_ arguments: String...) async throws {
            try await ChildProcess.run(PodfsHome.executable, arguments, environment: environment).succeeded()
        }
        func said() -> String {
            (try? String(contentsOfFile: show.home.home + "/said", encoding: .utf8)) ?? ""
        }

        try await run("download", "Example Show/2026-01-01 Episode 1.mp3", "--wait")
        let url = show.server.url("/1.mp3")
        let ready = "<-a>\n<podfs>\n<-->\n<Ready: Example Show>\n<Episode 1>\n2026-01-01 Episode 1.mp3 \(url) id\n"
        try await waitUntil(description: "the download is announced: \(said())") { said() == ready }

        let server = show.server
        server.serveShow(MountedShow.show, episodes: 4, length: 300_000)
        try await run("refresh")
        let new =
            "<-a>\n<podfs>\n<-->\n<New: Example Show>\n<Episode 4>\n2026-01-04 Episode 4.mp3 \(server.url("/4.mp3")) id\n"
        try await waitUntil(description: "the new episode is announced: \(said())") { said() == ready + new }
    }

    /// The daemon has open sockets, lock files, the library's database and descriptors of linked libraries, and it
    /// ignores some signals.
    @Test func aHookInheritsNoOtherDescriptorAndNoIgnoredSignal() async throws {
        let script = """
            #!/bin/sh
            ls -l /proc/self/fd | sed -n 's/.* \\([0-9]*\\) -> \\(.*\\)/\\1 \\2/p' >"$HOME/descriptors.new"
            grep -E 'Sig(Blk|Ign)' /proc/self/status >>"$HOME/descriptors.new"
            mv "$HOME/descriptors.new" "$HOME/descriptors"
            """
        let show = try await MountedShow(
            configuration: "[hooks]\non_download = \"$HOME/hook\"\n"
        ) { home in
            try home.directory.writeProgram("home/hook", text: script)
        }
        // Connections to the server and the mount are open while the hook runs.
        let gate = Gate(heldAt: 1_000)
        show.server.serve("/2.mp3", MountedShow.resource(2), [.hold(gate)])
        let reader = try ChildProcess("cat", [show.path(2)])
        try await gate.waitUntilReached()
        try await show.home.run("download", "Example Show/2026-01-01 Episode 1.mp3", "--wait").succeeded()
        let file = show.home.home + "/descriptors"
        try await waitUntil(description: "the hook has run") { FileManager.default.fileExists(atPath: file) }
        let said = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
        let descriptors = said.filter { $0.first?.isNumber ?? false && !$0.hasSuffix("/fd") }
        // ls itself has the listed folder open, as descriptor 3.
        let own = descriptors.filter { !$0.contains("/proc/") }
        #expect(own.map { $0.prefix(2) } == ["0 ", "1 ", "2 "], "\(said)")
        #expect(own.first == "0 /dev/null" && own.last == "2 \(show.home.stateDirectory)/daemon.log", "\(said)")
        // The bits of signals 1 to 31; the C library reserves 32 and 33.
        let signals = said.filter { $0.hasPrefix("Sig") }.compactMap { line in
            line.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }
        }
        #expect(signals.map { $0 & 0x7FFF_FFFF } == [0, 0], "\(said)")
        // The daemon collects the hook's exit status: no zombie remains.
        let daemon = try #require(show.home.daemonProcessIdentifier)
        try await waitUntil(description: "the daemon has no child process") {
            // The kernel lists each child under the thread that started it.
            let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon)/task")
            return threads.allSatisfy { thread in
                // A thread may exit meanwhile; its children are then listed under another thread.
                let path = "/proc/\(daemon)/task/\(thread)/children"
                return (try? String(contentsOfFile: path, encoding: .utf8)).map(\.isEmpty) ?? false
            }
        }
        gate.open()
        #expect(try await reader.wait().exitCode == 0)
    }
}
