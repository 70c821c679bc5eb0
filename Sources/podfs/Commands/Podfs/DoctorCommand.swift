import ArgumentParser
import Platform
import PodcastFeed
import PodcastPages

struct DoctorCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check everything that podfs depends on, and print what to do about problems.",
        discussion: """
            Prints a line for each check: ok, warning or problem. Changes nothing, starts no daemon and contacts no server, \
            except that --online makes one search to test the catalogues. With --verify all cached episodes are read and \
            compared with the digests of their downloads; the daemon evicts a damaged one, which is fetched again when it is \
            read. The exit code is 1 if there is a problem.

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
            for finding in findings {
                // Messages and remedies may contain untrusted text, so their control characters are removed before the
                // escape sequences of the colors are added.
                let plain = Finding(
                    check: finding.check, status: finding.status, message: PlainText.oneLine(finding.message),
                    remedy: finding.remedy.map(PlainText.oneLine))
                Terminal.write(plain.line(hasColour: hasColour) + "\n")
            }
        }
        if findings.contains(where: { $0.status == .problem }) { throw ExitCode(CommandError.Code.failed.rawValue) }
    }
}
