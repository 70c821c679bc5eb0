import ArgumentParser
import PodcastLibrary
import PodcastProtocol

struct SubscribeCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Add shows by the addresses of their feeds.",
        discussion: """
            A web page that names one feed leads to it; if it names several, they are listed.
            Prints the folder's name and the number of episodes. A search result can also be given as its folder.

            A user name and password in an address (https://user:password@host/feed.xml) are stored in a separate file that \
            only its owner can read; they are sent to that host only.

            Examples:
              podfs subscribe https://example.com/feed.xml
              podfs subscribe ~/Podcasts/.search/tides/Tide\\ Tables
            """)

    @Argument(
        help: ArgumentHelp(
            "The address of a feed (https:// may be left out), or of a show's web page.", valueName: "url"
        ))
    var urls: [String]

    @Option(help: "The folder's name; by default the show's title.")
    var name: String?

    @OptionGroup var report: Reporting

    func validate() throws {
        if name != nil, urls.count > 1 { throw ValidationError("--name needs exactly one address") }
    }

    func perform() async throws {
        let progress = ProgressLine()
        let daemon = try await Installation().daemon(showing: progress) { event in
            guard let fetch = event.task, fetch.kind == .refresh, !event.endsTask else { return }
            progress.show("\(fetch.path): waiting for the server")
        }
        defer { daemon.close() }
        defer { progress.finish() }
        var failures: [CommandError] = []
        for url in urls {
            do {
                let show = try await daemon.perform(.subscribe(url: Self.address(url), name: name), \.subscribed)
                progress.clear()
                report.print(Self.line(show))
            } catch {
                progress.clear()
                var problem = CommandError(error)
                if problem.code == .usage, let advice = FeedArgument.advice(on: url) {
                    problem.description += "; " + advice
                }
                failures.append(problem)
                Terminal.error(problem.description)
            }
        }
        guard let first = failures.first else { return }
        throw ExitCode(failures.count < urls.count ? CommandError.Code.partlyFailed.rawValue : first.code.rawValue)
    }

    /// Returns the feed URL for an argument. If the argument is the folder of a search result in a mount, the URL is
    /// read from the folder's extended attribute `user.xdg.origin.url`. That attribute has the full URL, because a URL
    /// from a catalogue contains no credentials to redact.
    ///
    /// - Throws: `CommandError` if the argument is the folder of a subscribed show, whose attribute may be redacted.
    private static func address(_ text: String) throws -> String {
        guard !text.contains("://"), PathResolver.attribute("user.podfs.feed.state", of: text) != nil else {
            return try FeedArgument.address(text)
        }
        let library = try Installation().existingLibrary()
        if case .show(let id)? = try PathResolver(library: library).target(at: text),
            let show = try library.podcast(id: id), !show.ephemeral
        {
            throw CommandError(
                .failed, "already subscribed as '\(show.name)'; to fetch it again: podfs refresh '\(show.name)'")
        }
        return PathResolver.attribute("user.xdg.origin.url", of: text) ?? text
    }

    /// Returns the report of a new subscription.
    static func line(_ show: (name: String, episodes: Int, skipped: Int)) -> String {
        let passed = "; skipped \(ReportText.count(show.skipped, "item")) without audio or video"
        return "\(show.name): \(ReportText.count(show.episodes, "episode"))" + (show.skipped > 0 ? passed : "")
    }
}

struct UnsubscribeCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "unsubscribe", abstract: "Remove a show, its episodes and their cached bytes.",
        discussion: """
            Example:
              podfs unsubscribe 'Example Show'
            """)

    @Argument(help: "The show's folder.", completion: NameCompletion.shows)
    var show: String

    @OptionGroup var report: Reporting

    func perform() async throws {
        let installation = try Installation()
        let found = try PathResolver(library: installation.existingLibrary()).show(show)
        try await installation.perform(.unsubscribe(podcast: found.id)) { _ in () }
        report.print("unsubscribed from \(found.name)")
    }
}
