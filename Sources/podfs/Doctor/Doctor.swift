import Foundation
import Glibc
import PodcastFeed

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

/// The result of one check of `podfs doctor`.
struct Finding: Equatable, Sendable {
    enum Status: String, Sendable {
        case ok
        /// A defect despite which podfs works.
        case warning
        /// A defect that keeps podfs, or a part of it, from working.
        case problem
    }

    /// The name of the check, one or two words.
    var check: String
    var status: Status
    var message: String
    /// The remedy for the user; `nil` if there is nothing to do.
    var remedy: String?

    static func ok(_ check: String, _ message: String) -> Finding {
        Finding(check: check, status: .ok, message: message)
    }

    static func warning(_ check: String, _ message: String, remedy: String) -> Finding {
        Finding(check: check, status: .warning, message: message, remedy: remedy)
    }

    static func problem(_ check: String, _ message: String, remedy: String) -> Finding {
        Finding(check: check, status: .problem, message: message, remedy: remedy)
    }

    /// Formats the finding: `problem  library: it is damaged; do this`.
    func line(hasColour: Bool) -> String {
        let word = TextWidth.padded(status.rawValue, to: 7)
        let colours: [Status: StatusScreen.Style] = [.ok: .green, .warning: .yellow, .problem: .red]
        let style = colours[status]?.rawValue ?? 0
        let shown = hasColour ? "\u{1B}[\(style)m\(word)\u{1B}[0m" : word
        return "\(shown)  \(check): \(message)" + (remedy.map { "; \($0)" } ?? "")
    }

    var json: OrderedJSON {
        .object([
            ("check", .string(check)), ("status", .string(status.rawValue)), ("message", .string(message)),
            ("remedy", .string(orNull: remedy)),
        ])
    }
}
