import ArgumentParser
import Glibc
import Platform
import PodcastFeed
import PodcastLibrary
import PodcastPages
import PodcastProtocol
import PodcastService
import Transfers

struct ListCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the shows, or the episodes of one.",
        discussion: """
            A part of a show's name is enough if no other show has it. With --unplayed or --downloaded and no show, the \
            matching episodes of all shows are listed as SHOW/EPISODE.

            Examples:
              podfs list
              podfs list 'Example Show' --json
              podfs list --unplayed --downloaded
            """)

    @Argument(help: "A show, by its folder.", completion: NameCompletion.shows)
    var show: String?

    @Flag(help: "Only episodes that were not played.")
    var unplayed = false

    @Flag(help: "Only episodes that are completely downloaded.")
    var downloaded = false

    @Flag(help: "Print JSON.")
    var json = false

    func perform() async throws {
        let installation = try Installation()
        let library = try show == nil ? installation.library() : installation.existingLibrary()
        if let show, let library {
            let found = try PathResolver(library: library).show(show, matching: .part)
            try await list([found], namesShow: false, library, installation)
        } else if unplayed || downloaded {
            guard let library else {
                if json { Terminal.print("[]") }
                return
            }
            let shows = try library.folders().map { ($0.id, $0.name) }
            try await list(shows, namesShow: true, library, installation)
        } else {
            let tags = try library?.tagsOfShows() ?? [:]
            let podcasts = try library?.podcasts() ?? []
            var notices: [ShowID: TroubleNotice] = [:]
            for podcast in podcasts { notices[podcast.id] = try library.flatMap { try .init(of: podcast, in: $0) } }
            if json {
                let shows = podcasts.map { Self.json($0, tags: tags[$0.id] ?? [], notices[$0.id]) }
                return Terminal.print(OrderedJSON.array(shows))
            }
            if podcasts.isEmpty { Terminal.print("no subscriptions yet: podfs subscribe URL") }
            for podcast in podcasts {
                Terminal.print(Self.line(podcast))
                if let notice = notices[podcast.id] { Terminal.print("    " + PlainText.oneLine(notice.text)) }
            }
        }
    }

    /// Prints the episodes that match the options.
    ///
    /// - Parameter namesShow: Whether to print the show of each episode.
    private func list(
        _ shows: [(id: ShowID, name: String)], namesShow: Bool, _ library: Library, _ installation: Installation
    ) async throws {
        let live = try await Self.liveStates(installation)
        let configuration = try installation.configuration()
        var array = JSONArrayOutput()
        for show in shows {
            let podcast = try library.podcast(id: show.id)
            let reasons = try AutoDownload.reasons(
                of: show.id, in: library, count: configuration.autoDownload, rules: configuration.autoDownloadRules,
                keep: configuration.keep, now: Int64(time(nil)))
            for episode in try library.episodes(of: show.id)
            where !(unplayed && episode.played) && (!downloaded || episode.complete) {
                let progress = EpisodeProgress(episode, live[episode.id])
                if json {
                    let url = podcast?.visible(episode.url) ?? WebAddress.redacted(episode.url)
                    array.write(
                        Self.json(episode, progress, url: url, reasons[episode.id], show: namesShow ? show.name : nil))
                } else {
                    Terminal.print((namesShow ? show.name + "/" : "") + Self.line(episode, progress))
                }
            }
        }
        if json { array.end() }
    }

    /// Returns the daemon's tasks by episode; empty if no daemon runs.
    private static func liveStates(_ installation: Installation) async throws -> [EpisodeID: TaskInfo] {
        guard let daemon = try installation.runningDaemon() else { return [:] }
        defer { daemon.close() }
        return try await daemon.perform(.tasks, \.tasks).reduce(into: [:]) { result, task in
            if let id = task.episode { result[id] = task }
        }
    }

    private static func line(_ podcast: Podcast) -> String {
        var line = "\(PlainText.oneLine(podcast.name)): \(ReportText.count(podcast.episodes, "episode"))"
        if podcast.cached > 0 { line += ", \(podcast.cached) cached" }
        if let error = podcast.error { line += " (\(podcast.state): \(PlainText.oneLine(error)))" }
        return line
    }

    private static func line(_ episode: Episode, _ progress: EpisodeProgress) -> String {
        let size = episode.size
        let mark = size.source == .server ? "" : "~"
        let length = size.source == .unknown ? "?" : mark + ByteText.size(size.bytes)
        let state = progress.state
        let hasProgress = state != .remote && state != .stream && !state.isWhole
        let shown = state.rawValue + (hasProgress ? " \(Double(progress.tenths) / 10)%" : "")
        return "\(PlainText.oneLine(episode.name))  \(length)  \(shown)\(listening(episode))"
    }

    /// Returns `  played` or the playback position; empty if the episode was not started.
    private static func listening(_ episode: Episode) -> String {
        if episode.played { return "  played" }
        guard let position = episode.position, position >= 1 else { return "" }
        return "  at \(TimeText.clock(position))" + (episode.duration.map { " of \(TimeText.clock($0))" } ?? "")
    }

    private static func json(_ podcast: Podcast, tags: [String], _ notice: TroubleNotice?) -> OrderedJSON {
        .object([
            ("name", .string(podcast.name)), ("url", .string(podcast.visibleURL)),
            ("title", .string(podcast.title)), ("episodes", .int(Int64(podcast.episodes))),
            ("cached", .int(Int64(podcast.cached))), ("unplayable", .int(orNull: podcast.unplayable)),
            ("state", .string(podcast.state)),
            ("last_refresh", .string(orNull: podcast.lastRefresh.map(TimeText.iso8601))),
            ("error", .string(orNull: podcast.error)), ("trouble", .string(orNull: notice?.trouble.rawValue)),
            ("unsaved", .int(orNull: notice.map { Int64($0.unsaved.count) })),
            ("unsaved_bytes", .int(orNull: notice?.unsaved.bytes)), ("tags", .array(tags.map { .string($0) })),
        ])
    }

    private static func json(
        _ episode: Episode, _ progress: EpisodeProgress, url: String, _ reason: AutoDownload.Reason?, show: String?
    ) -> OrderedJSON {
        let size = episode.size
        return .object(
            (show.map { [("show", .string($0))] } ?? []) + [
                ("name", .string(episode.name)), ("title", .string(episode.title)),
                ("guid", .string(orNull: episode.guid)),
                ("published", .string(orNull: episode.published.map(TimeText.iso8601))),
                ("duration", .double(orNull: episode.duration)), ("url", .string(url)),
                ("type", .string(orNull: episode.type)),
                ("size", size.source == .unknown ? .null : .int(size.bytes)),
                ("size_source", .string(size.source.rawValue)), ("state", .string(progress.state.rawValue)),
                ("progress", .double(Double(progress.tenths) / 10)),
                ("auto_download", .string(orNull: reason?.rawValue)),
                ("played", .bool(episode.played)), ("position", .double(orNull: episode.position)),
                ("last_played", .string(orNull: episode.lastPlayed.map(TimeText.iso8601))),
            ])
    }
}
