import Foundation
import Glibc

/// The checks of `podfs doctor`. A check changes nothing and starts no daemon, unless its own comment says so.
struct Doctor: Sendable {
    let installation: Installation

    /// Returns the findings of all checks, ordered so that a check follows those it depends on.
    func examine(online: Bool) async -> [Finding] {
        var findings = [kernel(), device(), helper(), otherUsers()]
        findings += folders() + [configuration()]
        findings += library()
        findings.append(cache())
        findings += archive()
        findings += await daemon()
        findings += skippedWork()
        findings += mounts()
        findings.append(players())
        findings.append(services())
        findings.append(certificates())
        findings.append(await catalogue(online: online))
        return findings
    }

    /// Returns the path of the first executable with this name in PATH; `nil` if there is none.
    static func program(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }
}
