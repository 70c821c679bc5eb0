import ArgumentParser
import Platform
import PodcastFeed
import PodcastLibrary
import PodcastPages
import PodcastProtocol

struct FindCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "Find episodes by words of their titles, notes and cached transcripts, and of their show's title.",
        discussion: """
            All words must occur; an argument with spaces is a phrase, and word* finds all words that begin with word. Case \
            and accents are ignored. A match in a transcript is printed with its time and a command that plays it from there. \
            Nothing is fetched; the folder .find/TERM in the mount has the same episodes as links.

            Examples:
              podfs find giant squid
              podfs find 'what is it like to be a bat'
              podfs find cephalopod* --json
            """)

    @Argument(help: "Words and phrases.")
    var term: [String]

    @Flag(help: "Print JSON.")
    var json = false

    /// The maximum number of results.
    private static let limit = 50

    func perform() async throws {
        let text = Self.text(of: term)
        guard let term = FindTerm(text) else {
            throw CommandError(.usage, "'\(PlainText.oneLine(text))' contains no word to search for")
        }
        let installation = try Installation()
        guard let library = try installation.library() else {
            return Terminal.print(json ? "[]" : Self.nothing(text))
        }
        let index = FindIndex(path: installation.paths.findIndex)
        let (excerpts, transcripts) = (try FindExcerpts(term), TranscriptFiles(folder: installation.paths.assets))
        // The folder where this user has mounted the library.
        lazy var mount = MountEntry.own().first {
            if case .process = $0.answer() { $0.shows(library.path) } else { false }
        }?.path
        var array = JSONArrayOutput()
        var isEmpty = true
        // Printed one by one, since the excerpts of the last results are made after the first result is read.
        for entry in try library.foundEntries(try index.episodes(matching: term), limit: Self.limit) {
            // An episode that was removed meanwhile is not listed.
            guard let episode = try library.episode(id: entry.id), let show = try library.folder(id: entry.podcast)
            else { continue }
            isEmpty = false
            let notes = try episode.notes.flatMap(excerpts.notes)
            let cues = transcripts.cues(of: episode.id, archivedAt: try library.opening(of: episode.id)?.archive)
            let spoken = try excerpts.spoken(cues ?? [])
            let command = spoken.flatMap { spoken in
                mount.map {
                    "mpv --start=\(Int(spoken.start)) \(ShellQuoting.quoted("\($0)/\(show.name)/\(episode.name)"))"
                }
            }
            if json {
                array.write(
                    .object([
                        ("show", .string(show.name)), ("name", .string(episode.name)),
                        ("title", .string(episode.title)),
                        ("published", .string(orNull: episode.published.map(TimeText.iso8601))),
                        ("notes", .string(orNull: notes)),
                        (
                            "transcript",
                            spoken.map { .object([("time", .double($0.start)), ("text", .string($0.text))]) } ?? .null
                        ), ("command", .string(orNull: command)),
                    ]))
                continue
            }
            // The day in the feed's time zone; that on which the episode was first seen if it is undated.
            let moment = (episode.published ?? episode.firstSeen) + Int64(episode.publishedOffset)
            Terminal.print(
                PlainText.oneLine("\(show.name), \(TimeText.iso8601(moment).prefix(10)): \(episode.title)"))
            if let notes { Terminal.print(PlainText.oneLine("    " + notes)) }
            if let spoken {
                Terminal.print(PlainText.oneLine("    \(TimeText.clock(spoken.start))  \(spoken.text)"))
            }
            if let command { Terminal.print("    " + command) }
        }
        if json { array.end() } else if isEmpty { Terminal.print(Self.nothing(text)) }
        let (indexed, all) = (try index.count(), try library.findableCount())
        guard indexed < all else { return }
        Terminal.error("note: \(indexed) of \(ReportText.count(all, "episode")) are indexed so far")
        // The daemon indexes the others.
        try installation.daemon().close()
    }

    /// Returns the term that the arguments mean: an argument with spaces is a phrase, unless it has quotation marks.
    static func text(of arguments: [String]) -> String {
        arguments.map { $0.contains(" ") && !$0.contains("\"") ? "\"\($0)\"" : $0 }.joined(separator: " ")
    }

    private static func nothing(_ text: String) -> String { "nothing found for \(PlainText.oneLine(text))" }
}
