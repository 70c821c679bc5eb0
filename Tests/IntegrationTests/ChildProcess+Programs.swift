import Foundation
import Glibc
import TestSupport

extension ChildProcess {
    /// Whether a program is in PATH, as execvp(3) searches it.
    static func isInstalled(_ program: String) -> Bool {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    /// Whether `runAsNobody` works: only root can switch to another user.
    static let canRunAsNobody = getuid() == 0 && isInstalled("runuser")

    /// Runs a program as the user `nobody`. The corresponding program is runuser(1).
    static func runAsNobody(_ program: String, _ arguments: [String] = []) async throws -> Result {
        try await run("runuser", ["-u", "nobody", "--", program] + arguments)
    }
}
