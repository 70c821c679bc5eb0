import ArgumentParser
import Glibc
import PodcastLibrary
import PodcastProtocol

struct RefreshCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh", abstract: "Fetch feeds again, all or the named ones.",
        discussion: """
            The requests are conditional: an unchanged feed is not transferred again.

            Example:
              podfs refresh 'Example Show'
            """)

    @Argument(help: "Shows, by their folders; default: all.", completion: NameCompletion.shows)
    var shows: [String] = []

    @OptionGroup var report: Reporting

    func perform() async throws {
        let installation = try Installation()
        let line = ProgressLine()
        // Opening the library takes time, so an existing library is opened only if names of shows are needed. If there
        // is no library, `existingLibrary` has the daemon restore it, or throws.
        let needsLibrary = !shows.isEmpty || line.isShown || access(installation.paths.library, F_OK) != 0
        let library = needsLibrary ? try installation.existingLibrary() : nil
        let resolver = library.map { PathResolver(library: $0) }
        let named = try shows.compactMap { try resolver?.show($0, matching: .part) }
        let names = try named.isEmpty ? library?.folders().map(\.name) ?? [] : named.map { $0.name }
        let daemon = try await installation.daemon(
            showing: line, onEvent: FetchProgress(line, shows: Set(names)).apply)
        defer { daemon.close() }
        defer { line.finish() }
        let results = try await daemon.perform(.refresh(podcasts: named.map { $0.id }), \.refreshed)
        line.finish()
        for result in results {
            if let error = result.error {
                Terminal.error("\(result.name): \(error)")
            } else if result.added > 0 {
                report.print("\(ReportText.count(result.added, "new episode")) in \(result.name)")
            }
        }
        let unchanged = results.filter { $0.error == nil && $0.added == 0 }
        if let one = unchanged.first {
            let shows = ReportText.count(unchanged.count, "show") + (unchanged.count == 1 ? " has" : " have")
            report.print(results.count == 1 ? "\(one.name): nothing new" : "\(shows) nothing new")
        }
        try ExitCode.check(failures: results.count { $0.error != nil }, of: results.count)
    }
}
