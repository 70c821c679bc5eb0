import Foundation
import Glibc
import TestSupport
import Testing

extension ChildProcess {
    /// Whether `runAsNobody` works: only root can switch to another user.
    static let canRunAsNobody = getuid() == 0 && InstalledProgram.exists("runuser")

    /// Runs a program as the user `nobody`. The corresponding program is runuser(1).
    static func runAsNobody(_ program: String, _ arguments: [String] = []) async throws -> Result {
        try await run("runuser", ["-u", "nobody", "--", program] + arguments)
    }

    /// Returns a file that ffmpeg makes of a source filter, such as `sine=duration=5`.
    static func ffmpeg(_ source: String, _ options: String..., as name: String) async throws -> [UInt8] {
        let folder = try TemporaryDirectory()
        let arguments = ["-v", "error", "-f", "lavfi", "-i", source] + options + [folder.file(name)]
        try await run("ffmpeg", arguments).succeeded()
        return [UInt8](try #require(FileManager.default.contents(atPath: folder.file(name))))
    }
}

extension ChildProcess.Result {
    /// Expects that the program has succeeded. Ends the test otherwise.
    @discardableResult
    func succeeded(_ location: SourceLocation = #_sourceLocation) throws -> ChildProcess.Result {
        try #require(exitCode == 0, "\(status): \(output)\(error)", sourceLocation: location)
        return self
    }

    /// Expects that the program has failed with this status, and that its errors contain these texts.
    @discardableResult
    func failed(
        _ code: Int32 = 1, says texts: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) -> ChildProcess.Result {
        #expect(exitCode == code, "\(output)\(error)", sourceLocation: sourceLocation)
        for text in texts { #expect(error.contains(text), "\(error)", sourceLocation: sourceLocation) }
        return self
    }

    /// Expects that the program has succeeded and printed this text.
    @discardableResult
    func printed(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) -> ChildProcess.Result {
        #expect(exitCode == 0 && output == text, "\(output)\(error)", sourceLocation: sourceLocation)
        return self
    }

    /// Returns the JSON value on standard output.
    func json<Value>(_ location: SourceLocation = #_sourceLocation) throws -> Value {
        let value = try? JSONSerialization.jsonObject(with: Data(standardOutput))
        return try #require(value as? Value, "\(output)\(error)", sourceLocation: location)
    }

    /// Whether the program has failed and its error message contains the text of this errno.
    func says(_ code: Int32) -> Bool {
        exitCode != 0 && error.contains(String(cString: strerror(code)))
    }
}

extension PodfsHome {
    /// Creates a folder, and mounts on it.
    func mounted() async throws -> MountGuard {
        let mount = try makeMountPoint()
        try await run("mount", mount.mountPoint).succeeded()
        return mount
    }

    /// Runs `podfs` repeatedly until its output contains the text.
    func waitForOutput(_ text: String, of arguments: String...) async throws {
        try await waitUntil(deadline: .seconds(120), description: "podfs \(arguments) prints “\(text)”") {
            try await run(arguments).output.contains(text)
        }
    }

    /// Ends the daemon, and waits until it has exited.
    func endDaemon(_ signal: Int32 = SIGKILL) async throws {
        killDaemon(signal)
        try await waitUntilDaemonHasEnded()
    }
}
