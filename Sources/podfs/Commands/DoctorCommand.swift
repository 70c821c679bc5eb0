import ArgumentParser
import PodcastFeed
import PodcastPages

struct DoctorCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Look for what keeps podfs from working, and say what to do about it.",
        discussion: """
            A line for each thing that was looked at: ok, warning or problem. Nothing is changed, no daemon is started, and no \
            server is asked: only with --online a search is made, to see whether the catalogues can be reached. With --verify \
            all cached episodes are read and compared with the digests of their downloads; the daemon drops a bad one, which \
            is fetched again when it is read. The exit code is 1 when there is a problem.

            Examples:
              podfs doctor
              podfs doctor --online --json
            """)

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Also ask the catalogues, by one search.")
    var online = false

    @Flag(help: "Also read all cached episodes, and drop those that are not what was downloaded.")
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
                // Only the colours may contain control characters; the texts are untrusted.
                let plain = Finding(
                    check: finding.check, status: finding.status, message: PlainText.oneLine(finding.message),
                    remedy: finding.remedy.map(PlainText.oneLine))
                Terminal.put(plain.line(hasColour: hasColour) + "\n")
            }
        }
        if findings.contains(where: { $0.status == .problem }) { throw ExitCode(CommandError.Code.failed.rawValue) }
    }
}
