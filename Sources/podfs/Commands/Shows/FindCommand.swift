import ArgumentParser
import Platform
import PodcastFeed
import PodcastLibrary
import PodcastPages
import PodcastProtocol
import Transfers

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
        let finder = Finder(library, installation, try FindExcerpts(term))
        var count = 0
        // Printed one by one, since the excerpts of the last results are made after the first result is read.
        for entry in try library.foundEntries(try index.episodes(matching: term), limit: Self.limit) {
            guard let found = try finder.found(entry) else { continue }
            count += 1
            if json {
                Terminal.write(json: count == 1 ? "[" : ",\n ")
                Terminal.write(json: String(decoding: found.json.encoded(pretty: false), as: UTF8.self))
            } else {
                for line in found.lines { Terminal.print(line) }
            }
        }
        if json { Terminal.print(count == 0 ? "[]" : "]") } else if count == 0 { Terminal.print(Self.nothing(text)) }
        try reportProgress(of: index, library, installation)
    }

    /// Returns the term that the arguments mean: an argument with spaces is a phrase, unless it has quotation marks.
    static func text(of arguments: [String]) -> String {
        arguments.map { $0.contains(" ") && !$0.contains("\"") ? "\"\($0)\"" : $0 }.joined(separator: " ")
    }

    private static func nothing(_ text: String) -> String { "nothing found for \(PlainText.oneLine(text))" }

    /// Prints how many episodes are indexed, if not all are, and starts the daemon, which indexes the others.
    private func reportProgress(of index: FindIndex, _ library: Library, _ installation: Installation) throws {
        let (indexed, all) = (try index.count(), try library.findableCount())
        guard indexed < all else { return }
        Terminal.error("note: \(indexed) of \(ReportText.count(all, "episode")) are indexed so far")
        try installation.daemon().close()
    }
}

/// An episode that `podfs find` has found.
private struct FoundEpisode {
    var show: String
    var name: String
    var title: String
    /// The day of publication in the feed's time zone, `YYYY-MM-DD`; the day on which the episode was first seen if it
    /// is undated.
    var day: String
    var published: Int64?
    /// The part of the notes that matches; `nil` if none does.
    var notes: String?
    var spoken: SpokenCue?
    /// The command that plays the episode from the match in the transcript; `nil` without one, or if the folder is not
    /// mounted.
    var command: String?

    var lines: [String] {
        var lines = ["\(show), \(day): \(title)"]
        if let notes { lines.append("    " + notes) }
        if let spoken { lines.append("    \(TimeText.clock(spoken.start))  \(spoken.text)") }
        lines = lines.map(PlainText.oneLine)
        if let command { lines.append("    " + command) }
        return lines
    }

    var json: OrderedJSON {
        .object([
            ("show", .string(show)), ("name", .string(name)), ("title", .string(title)),
            ("published", .string(orNull: published.map(TimeText.iso8601))), ("notes", .string(orNull: notes)),
            (
                "transcript",
                spoken.map { .object([("time", .double($0.start)), ("text", .string($0.text))]) } ?? .null
            ), ("command", .string(orNull: command)),
        ])
    }
}

/// The source of what is printed about found episodes.
private final class Finder {
    private let library: Library
    private let installation: Installation
    private let excerpts: FindExcerpts
    private let transcripts: TranscriptFiles
    /// The folder where this user has mounted the library; `nil` if there is none.
    private lazy var mount: String? = MountEntry.own().first {
        if case .process = $0.answer() { $0.shows(library.path) } else { false }
    }?.path

    init(_ library: Library, _ installation: Installation, _ excerpts: FindExcerpts) {
        self.library = library
        self.installation = installation
        self.excerpts = excerpts
        transcripts = TranscriptFiles(folder: installation.paths.assets)
    }

    /// Returns what is printed about an episode; `nil` if it was removed meanwhile.
    func found(_ entry: EpisodeEntry) throws -> FoundEpisode? {
        guard let episode = try library.episode(id: entry.id), let show = try library.folder(id: entry.podcast) else {
            return nil
        }
        let moment = (episode.published ?? episode.firstSeen) + Int64(episode.publishedOffset)
        var found = FoundEpisode(
            show: show.name, name: episode.name, title: episode.title, day: String(TimeText.iso8601(moment).prefix(10)),
            published: episode.published)
        found.notes = try episode.notes.flatMap(excerpts.notes)
        let cues = transcripts.cues(of: episode.id, archivedAt: try library.opening(of: episode.id)?.archive)
        found.spoken = try excerpts.spoken(cues ?? [])
        if let spoken = found.spoken, let mount {
            let path = "\(mount)/\(show.name)/\(episode.name)"
            found.command = "mpv --start=\(Int(spoken.start)) \(ShellQuoting.quoted(path))"
        }
        return found
    }
}
