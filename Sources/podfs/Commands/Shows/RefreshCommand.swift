import ArgumentParser
import PodcastLibrary
import PodcastProtocol
import Synchronization

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
        // Opening the library takes time, so an existing library is opened only if names of shows must be looked up. If
        // there is no library, `existingLibrary` has the daemon restore it, or throws.
        let needsLibrary = !shows.isEmpty || line.isShown || !installation.hasLibrary
        let library = needsLibrary ? try installation.existingLibrary() : nil
        let resolver = library.map { PathResolver(library: $0) }
        let named = try shows.compactMap { try resolver?.show($0, matching: .part) }
        let ids = named.map { $0.id }
        var names = named.map { $0.name }
        if line.isShown, named.isEmpty { names = try library?.folders().map(\.name) ?? [] }
        let daemon = try installation.daemon(onEvent: RefreshProgress(line, shows: names).apply)
        defer { daemon.close() }
        if line.isShown { _ = try await daemon.perform(.watch) }
        defer { line.finish() }
        let results = try await daemon.perform(.refresh(podcasts: ids), \.refreshed)
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

/// The progress of `podfs refresh`: how many of the command's shows have been fetched, and the name of the last one.
/// The daemon may fetch other shows at the same time, which do not count.
final class RefreshProgress: Sendable {
    private let line: ProgressLine
    /// The names of the shows' folders.
    private let shows: Set<String>
    private let fetched = Mutex<Set<String>>([])

    /// - Parameter shows: The names of the shows' folders.
    init(_ line: ProgressLine, shows: [String]) {
        self.line = line
        self.shows = Set(shows)
    }

    /// The number of shows fetched so far.
    var count: Int { fetched.withLock { $0.count } }

    /// Handles an event of the daemon.
    func apply(_ event: Event) {
        guard event.task?.kind == .refresh, let show = event.path, shows.contains(show) else { return }
        if event.endsTask { fetched.withLock { _ = $0.insert(show) } }
        line.show(ProgressText.count(count, of: shows.count, show))
    }
}
