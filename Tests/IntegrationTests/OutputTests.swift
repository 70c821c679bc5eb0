import Glibc
import Platform
import TestSupport
import Testing

@testable import podfs

/// Tests of commands that write to a full disk, and of the quoting of words that the user may paste into a shell.
@Suite struct OutputTests {
    @Test(arguments: ["export > /dev/full", "export /dev/full", "list --json > /dev/full", "--version > /dev/null"])
    func truncatedOutputIsAFailure(_ arguments: String) async throws {
        let home = try PodfsHome()
        let result = try await ChildProcess.run(
            "sh", ["-c", "exec \"$0\" \(arguments)", PodfsHome.executable], environment: home.environment)
        guard arguments.contains("/dev/full") else {
            #expect(result.exitCode == 0)
            return
        }
        #expect(result.exitCode == 1)
        #expect(result.error.contains("No space left on device"), "\(result.error)")
        #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
    }

    @Test func theVersionNamesTheCommitAndTheLibraries() async throws {
        let output = try await PodfsHome().run("--version").output
        let lines = /(?<version>\S+)( \([0-9a-f]{12}\+?\))?\nlibcurl [\d.]+\S*, libfuse [\d.]+\S*, SQLite [\d.]+\n/
        #expect(output.wholeMatch(of: lines).map { String($0.version) } == Podfs.version, "\(output)")
    }

    @Test(arguments: [
        "plain-word_1.2/ä", "two words", "it's", "$HOME", "a|b", "*", "(x)", "<5m", "a\\b", "`x`", "!!", "", "\"",
        "~/x", "it'\u{301}s; echo", "\u{D4E};echo",
    ])
    func aShellReadsAQuotedWordUnchanged(_ word: String) async throws {
        let result = try await ChildProcess.run("sh", ["-c", "printf %s \(ShellQuoting.quoted(word))"])
        #expect(result.output == word)
    }
}
