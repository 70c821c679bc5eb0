import ArgumentParser
import Glibc
import PodcastLibrary
import PodcastPages
import PodcastProtocol
import PodcastService

struct StatusCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the active tasks, as the file .status in a mount does.",
        discussion: """
            With --watch it shows live bars until q or Ctrl-C, which do not affect the transfers. Keys: arrows select a task, s \
            suspends it, r resumes it, c cancels it, o opens its file. If standard output is not a terminal it prints a line for \
            each change instead.

            Examples:
              podfs status
              podfs status --watch
              podfs status --json
            """)

    @Flag(help: "List all tasks, not only the first 100.")
    var all = false

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Show live bars until q or Ctrl-C.")
    var watch = false

    func validate() throws {
        if watch, all { throw ValidationError("--watch displays all tasks: leave out --all") }
        if watch, json { throw ValidationError("--json prints once; for a stream of JSON: podfs events --json") }
    }

    func perform() async throws {
        let installation = try Installation()
        if watch { return try await StatusWatch(installation: installation).run() }
        var report = try await report(installation)
        report.skipped = WorkJournal.skipped(installation.paths, now: Int64(time(nil))).map(\.explanation)
        let library = try installation.library()
        report.archive = try library?.archiveProblem()
        report.covers = try library?.coverCount(dueAt: Int64(time(nil))) ?? 0
        if json {
            Terminal.print(report.json)
        } else {
            Terminal.write(report.text)
        }
    }

    /// Returns the report from the daemon if one runs, otherwise from the library, without starting a daemon.
    private func report(_ installation: Installation) async throws -> StatusReport {
        if let daemon = try installation.runningDaemon() {
            defer { daemon.close() }
            var report =
                try await all
                ? StatusReport(daemon.perform(.tasks, \.tasks)) : StatusReport(daemon.perform(.status, \.status))
            if json { report.probed = try await daemon.perform(.counters, \.probed) }
            return report
        }
        let tasks = try installation.library()?.outstandingTasks() ?? []
        return StatusReport(TaskList(tasks, limit: all ? .max : TaskList.limit))
    }
}
