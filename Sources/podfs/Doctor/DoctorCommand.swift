import ArgumentParser
import Foundation
import Platform
import PodcastFeed

struct DoctorCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check everything that podfs depends on, and print what to do about problems.",
        discussion: """
            Prints a line for each check: ok, warning or problem. Changes nothing, starts no daemon and contacts no server, \
            except that --online makes one search to test the catalogues. With --verify the daemon reads all cached and \
            archived episodes and compares them with the digests of their downloads; it evicts a damaged one from the \
            cache, which is fetched again when it is read. The exit code is 1 if there is a problem.

            Examples:
              podfs doctor
              podfs doctor --online --json
            """)

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Also test the catalogues, with one search.")
    var online = false

    @Flag(help: "Also read all cached episodes, and evict those that differ from what was downloaded.")
    var verify = false

    func perform() async throws {
        let doctor = try Doctor(installation: Installation())
        var findings = await doctor.examine(online: online)
        if verify { findings += await doctor.verification() }
        if json {
            Terminal.print(OrderedJSON.array(findings.map(\.json)))
        } else {
            let hasColour = TerminalTraits(descriptor: 1).hasColour
            for finding in findings { Terminal.write(finding.line(hasColour: hasColour) + "\n") }
        }
        if findings.contains(where: { $0.status == .problem }) { throw ExitCode(CommandError.Code.failed.rawValue) }
    }
}

/// The checks of `podfs doctor`. A check changes nothing and starts no daemon, unless its own comment says so.
struct Doctor: Sendable {
    let installation: Installation

    /// Returns the findings of all checks, ordered so that a check follows those it depends on.
    func examine(online: Bool) async -> [Finding] {
        await [kernel(), device(), helper(), otherUsers()] + folders() + [configuration()] + library() + [cache()]
            + archive() + [daemon()] + skippedWork() + mounts()
            + [players(), services(), certificates(), catalogue(online: online)]
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

    /// Formats the finding: `problem  library: it is damaged; do this`. Messages and remedies may contain untrusted
    /// text, so their control characters are removed.
    func line(hasColour: Bool) -> String {
        let word = TextWidth.padded(status.rawValue, to: 7)
        let colours: [Status: StatusScreen.Style] = [.ok: .green, .warning: .yellow, .problem: .red]
        let style = colours[status]?.rawValue ?? 0
        let shown = hasColour ? "\u{1B}[\(style)m\(word)\u{1B}[0m" : word
        return "\(shown)  " + PlainText.oneLine("\(check): \(message)" + (remedy.map { "; \($0)" } ?? ""))
    }

    var json: OrderedJSON {
        .object([
            ("check", .string(check)), ("status", .string(status.rawValue)), ("message", .string(message)),
            ("remedy", .string(orNull: remedy)),
        ])
    }
}
