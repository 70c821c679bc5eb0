import ArgumentParser
import Platform
import PodcastFeed
import PodcastProtocol

struct SearchCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Search the catalogues for shows, and subscribe to one of them.",
        discussion: """
            Searches the iTunes Search API, and the Podcast Index if a key is configured; see podfs.conf(5). Results and their \
            numbers are cached for an hour. For the address of a web page, lists the feeds that the page names.

            Examples:
              podfs search history of rome
              podfs search history of rome --subscribe 2
            """)

    @Argument(help: "Words of the title, or of the author's name; or the address of a web page.")
    var term: [String]

    @Flag(help: "Print JSON.")
    var json = false

    @Option(
        help: ArgumentHelp("Subscribe to the result with this number instead of listing the results.", valueName: "n"))
    var subscribe: Int?

    @OptionGroup var report: Reporting

    /// The maximum number of results, the same as in the folder `.search/TERM`.
    private static let results = 50

    func validate() throws {
        if json, subscribe != nil {
            throw ValidationError("--json and --subscribe cannot be combined: give one of them")
        }
        if let subscribe, subscribe < 1 {
            throw ValidationError("--subscribe needs the number of a result, 1 or more")
        }
    }

    func perform() async throws {
        let term = Self.address(self.term) ?? self.term.joined(separator: " ")
        let installation = try Installation()
        let (shows, problems) = try await installation.perform(.search(term: term, limit: Self.results), \.found)
        for problem in problems { Terminal.error("warning: \(problem)") }
        if let subscribe {
            guard subscribe <= shows.count else {
                let found = shows.isEmpty ? "nothing" : ReportText.count(shows.count, "show")
                throw CommandError(.usage, "there is no result \(subscribe): the search for '\(term)' found \(found)")
            }
            let command = Command.subscribe(url: shows[subscribe - 1].url, name: nil)
            report.print(SubscribeCommand.line(try await installation.perform(command, \.subscribed)))
        } else if json {
            Terminal.print(OrderedJSON.array(shows.enumerated().map { Self.json($1, number: $0 + 1) }))
        } else if shows.isEmpty {
            Terminal.print("nothing found for '\(PlainText.oneLine(term))'")
        } else {
            let width = String(shows.count).count
            for (index, show) in shows.enumerated() {
                let number = String(index + 1)
                let indent = String(repeating: " ", count: width - number.count)
                Terminal.print("\(indent)\(number). \(Self.line(show))")
            }
        }
    }

    /// Returns the address that the words are; `nil` for a search.
    private static func address(_ words: [String]) -> String? {
        guard words.count == 1, words[0].contains("/"), let address = try? FeedArgument.address(words[0]),
            address.contains("://")
        else { return nil }
        return address
    }

    /// Returns the title, author and number of episodes, and the folder if the show is subscribed. The line is
    /// sanitized, since the texts come from catalogues (podcast directories).
    private static func line(_ show: FoundShow) -> String {
        var line = show.title
        if let author = show.author { line += ", by \(author)" }
        if let episodes = show.episodes { line += ": " + ReportText.count(episodes, "episode") }
        if let folder = show.subscribed { line += " (subscribed as '\(folder)')" }
        return PlainText.oneLine(line)
    }

    private static func json(_ show: FoundShow, number: Int) -> OrderedJSON {
        .object([
            ("number", .int(Int64(number))), ("title", .string(show.title)), ("author", .string(orNull: show.author)),
            ("url", .string(show.url)), ("episodes", .int(orNull: show.episodes.map(Int64.init))),
            ("image", .string(orNull: show.artwork)), ("link", .string(orNull: show.link)),
            ("subscribed", .string(orNull: show.subscribed)),
        ])
    }
}
