import ArgumentParser
import PodcastClient
import PodcastFilesystem
import PodcastLibrary
import PodcastPages
import PodcastProtocol

struct StatusCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the active tasks, as the file .status in a mount does.",
        discussion: """
            Examples:
              podfs status
              podfs status --json
            """)

    @Flag(help: "Print JSON.")
    var json = false

    func perform() async throws {
        let report = try await report(Installation())
        if json {
            Terminal.print(report.json)
        } else {
            Terminal.put(report.text)
        }
    }

    /// Without a daemon nothing runs, and the library knows what is to be carried on: none is started to ask.
    private func report(_ installation: Installation) async throws -> StatusReport {
        if let daemon = try installation.runningDaemon() {
            defer { daemon.end() }
            guard case .tasks(let tasks) = try await daemon.perform(.tasks) else { return StatusReport(tasks: []) }
            return StatusReport(tasks)
        }
        return StatusReport(try installation.library()?.outstandingTasks() ?? [])
    }
}
