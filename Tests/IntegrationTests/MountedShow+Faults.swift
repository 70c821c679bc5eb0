import Foundation
import Glibc
import TestSupport
import Testing

// Helpers for tests of faulty servers and killed processes.
extension MountedShow {
    /// Returns a configuration with these timeouts, in seconds. Their defaults are those of podfs.
    static func patience(stall: Int = 20, reader: Int = 60, giveUp: Int = 86_400) -> String {
        "[transfers]\nstall = \"\(stall) s\"\nreader_deadline = \"\(reader) s\"\ngive_up = \"\(giveUp) s\"\n"
    }

    /// Returns the text of `.status`.
    func status() async throws -> String {
        try await ChildProcess.run("cat", ["\(mount.mountPoint)/.status"]).output
    }

    /// Waits until no task is active. A mount learns of the end of a task a moment after the library has recorded it.
    func waitForNoTasks() async throws {
        try await waitUntil(deadline: .seconds(60), description: "no task is active") {
            try await status() == "no active tasks\n"
        }
    }

    /// Evicts an episode as soon as no program has it open. close(2) does not wait until podfs has handled it.
    func waitUntilEvicted(_ path: String) async throws {
        try await waitUntil(deadline: .seconds(60), description: "the episode can be evicted") {
            try await home.run("evict", path).exitCode == 0
        }
    }

    /// Opens and closes a file, so that the server's response confirms its size.
    func confirmSize(of path: String) async throws {
        try await ChildProcess.run("sh", ["-c", ": < \"$0\"", path]).succeeded()
        #expect(try await attribute("size_source", of: path) == "server")
    }

    /// Reads a range of a file.
    func read(_ path: String, _ range: Range<Int>) async throws -> ChildProcess.Result {
        try await ChildProcess.run(
            "dd",
            [
                "if=\(path)", "bs=65536", "skip=\(range.lowerBound)", "count=\(range.count)",
                "iflag=skip_bytes,count_bytes,fullblock", "status=none",
            ])
    }

    /// Reads and compares a whole episode, waits until it is cached and compares its digest.
    func expectWhole(_ number: Int, _ content: TestContent, sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        let path = path(number)
        let result = try await read(path).succeeded(sourceLocation)
        #expect(result.standardOutput.count == content.size, sourceLocation: sourceLocation)
        #expect(content.matches(result.standardOutput), sourceLocation: sourceLocation)
        try await waitForState("cached", of: path)
        #expect(try await attribute("error", of: path) == nil, sourceLocation: sourceLocation)
        let source = try home.directory.write("source-\(number)", content.bytes)
        let sum = try await ChildProcess.run("sha256sum", [source]).output.prefix(64)
        #expect(try await attribute("sha256", of: path) == String(sum), sourceLocation: sourceLocation)
    }

    /// Returns the offset at which each request for an episode starts, `nil` for a request without a range.
    func starts(_ number: Int) -> [Int?] { requests(number).map { $0.range?.firstByte } }
}
