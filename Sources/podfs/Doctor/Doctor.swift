import Foundation
import Glibc

/// The checks of `podfs doctor`. They only read and start no process, unless their comments say otherwise.
struct Doctor: Sendable {
    let installation: Installation

    /// Returns all findings, in the order of dependency.
    func examine(online: Bool) async -> [Finding] {
        var findings = [kernel(), device(), helper(), otherUsers()]
        findings += folders() + [configuration()]
        findings += library()
        findings.append(cache())
        findings += await daemon()
        findings += skippedWork()
        findings += mounts()
        findings.append(players())
        findings.append(services())
        findings.append(certificates())
        findings.append(await catalogue(online: online))
        return findings
    }

    /// Returns the first executable with this name in PATH.
    static func program(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
