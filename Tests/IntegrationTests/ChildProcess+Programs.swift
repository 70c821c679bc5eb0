import Glibc
import TestSupport

extension ChildProcess {
    /// Whether `runAsNobody` works: only root can switch to another user.
    static let canRunAsNobody = getuid() == 0 && InstalledProgram.exists("runuser")

    /// Runs a program as the user `nobody`. The corresponding program is runuser(1).
    static func runAsNobody(_ program: String, _ arguments: [String] = []) async throws -> Result {
        try await run("runuser", ["-u", "nobody", "--", program] + arguments)
    }
}
