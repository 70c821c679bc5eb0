import ArgumentParser
import Glibc
import Platform
import PodcastFeed
import PodcastLibrary
import PodcastProtocol
import PodcastService

struct AdoptCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt", abstract: "Add the files that another podcast program has downloaded to the archive.",
        discussion: """
            Media files in DIR and its folders are matched with episodes of the subscribed shows, by file name, title, date, \
            size and tags. A file that may be another episode's is not adopted. Files in the archive folder are adopted \
            where they are, others are copied (without using space where the file system supports it). Nothing in DIR is \
            moved or changed. After an interruption the same command continues.

            Examples:
              podfs adopt ~/gPodder/Downloads --database ~/gPodder/Database --dry-run
              podfs adopt ~/Music/'Example Show' --show 'Example Show'
            """)

    @Argument(help: ArgumentHelp("The folder with the files.", valueName: "dir"), completion: .directory)
    var folder: String

    @Option(help: "Match only with the episodes of this show.", completion: NameCompletion.shows)
    var show: String?

    @Option(
        help: ArgumentHelp(
            "gPodder's file Database, or a database that AntennaPod has exported: which file is which episode, played marks "
                + "and positions.", valueName: "file"), completion: .file())
    var database: String?

    @Flag(help: "Only list what would be adopted.")
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var report: Reporting

    func perform() async throws {
        let installation = try Installation()
        let archive = try installation.configuration().archiveFolder.map(MountPoint.absolute)
        if archive == nil, !dryRun {
            throw CommandError(
                .failed,
                """
                there is no archive folder for the files: write [archive] and folder = "/srv/podcasts" into \
                \(installation.paths.configFile), or list what would be adopted with --dry-run
                """)
        }
        let library = try installation.existingLibrary()
        let only = try show.map { try PathResolver(library: library).show($0, matching: .part).id }
        let records = try database.map(ForeignDatabase.records(at:)) ?? []
        let root = MountPoint.absolute(folder)
        if MountEntry.containing(root)?.isPodfs ?? false {
            throw CommandError(.failed, "\(folder) is in a mount of podfs, whose files need not be adopted")
        }
        let progress = ProgressLine()
        defer { progress.finish() }
        let matcher = AdoptionMatcher(
            shows: try library.subscriptions(), episodes: try library.adoptableEpisodes(), only: only,
            localOffset: Self.localOffset)
        var finder = MediaFinder(
            root: root, excluding: [MountPoint.absolute(installation.paths.cache)],
            isKnown: { path in
                guard let path = Self.path("\(root)/\(path)", below: archive) else { return false }
                return ((try? library.archivedFile(path: path)) ?? nil)?.episode != nil
            }, progress: { count in progress.show("\(ReportText.count(count, "media file")) read") })
        try finder.run()
        let known = Dictionary(records.compactMap { record in record.file.map { ($0, record) } }) { first, _ in first }
        let files = finder.files.map { file in
            var file = file
            file.record = known[file.shortPath]
            return file
        }
        progress.clear()
        var output = AdoptionOutput(isJSON: json, isQuiet: report.quiet, isDryRun: dryRun)
        output.counts = ["present": finder.known, "other": finder.others]
        for problem in finder.problems { output.add(problem.path, .unusable(problem.reason)) }
        let daemon = dryRun ? nil : try installation.daemon()
        defer { daemon?.close() }
        let decisions = matcher.decisions(about: files)
        let total = decisions.count { if case .adopt = $0 { true } else { false } }
        var done = 0
        // The reason why the archive itself has failed, so that every other file would fail as well.
        var stop: String?
        for (file, decision) in zip(files, decisions) {
            let episode = try decision.episode.flatMap { try library.path(of: $0) }
            var failure: String?
            let isOver = stop != nil
            if case .adopt(let id, _) = decision, let daemon {
                failure = stop
                do {
                    if !isOver {
                        progress.show(ProgressText.count(done, of: total, episode ?? ""))
                        let path = "\(root)/\(file.path)"
                        _ = try await daemon.perform(
                            .adopt(episode: id, path: Self.path(path, below: archive) ?? path, size: file.size),
                            \.adopted)
                    }
                } catch let error as Failure {
                    failure = error.message
                    if error.errorNumber != 0 { stop = failure }
                }
                done += 1
                progress.clear()
            }
            output.add(file.path, decision, episode, size: file.size, failure: failure, isKnownFailure: isOver)
        }
        output.end(marks: try await transfer(records, matcher, library, daemon))
        try ExitCode.check(failures: output.counts["failed"] ?? 0, of: max(1, files.count))
    }

    /// Returns a path relative to a folder; `nil` if it is not inside.
    private static func path(_ path: String, below folder: String?) -> String? {
        guard let folder, path.hasPrefix(folder + "/") else { return nil }
        return String(path.dropFirst(folder.count + 1))
    }

    /// Sets the played marks and positions of another program for the episodes that have neither.
    ///
    /// - Returns: The number of episodes marked as played, and of positions.
    private func transfer(
        _ records: [ForeignRecord], _ matcher: AdoptionMatcher, _ library: Library, _ daemon: DaemonConnection?
    ) async throws -> (played: Int, positions: Int) {
        var marks = (played: 0, positions: 0)
        for record in records where record.played || record.position != nil {
            guard let episode = matcher.episode(of: record), let stored = try library.listening(of: episode),
                !stored.played, stored.position == nil
            else { continue }
            if record.played {
                _ = try await daemon?.perform(.setPlayed(episode: episode, true))
                marks.played += 1
            } else if let position = record.position {
                _ = try await daemon?.perform(.setPosition(episode: episode, seconds: position))
                marks.positions += 1
            }
        }
        return marks
    }

    /// The UTC offset of this machine in seconds.
    private static var localOffset: Int {
        var now = time(nil)
        var parts = tm()
        return localtime_r(&now, &parts) == nil ? 0 : Int(parts.tm_gmtoff)
    }
}

extension AdoptionDecision {
    /// The episode that the decision is about; the first one of several.
    fileprivate var episode: EpisodeID? {
        switch self {
        case .adopt(let id, _), .present(let id), .duplicate(let id, _), .contradicted(let id, _, _), .weak(let id, _):
            id
        case .ambiguous(let ids, _): ids.first
        case .unknown, .unusable: nil
        }
    }
}

/// The output of `podfs adopt`: a line for each media file and a summary, or a JSON array.
private struct AdoptionOutput {
    let isJSON: Bool
    let isQuiet: Bool
    let isDryRun: Bool
    /// The number of files by result.
    var counts: [String: Int] = [:]
    var array = JSONArrayOutput()

    /// Prints and counts the decision about a file.
    ///
    /// - Parameters:
    ///   - episode: The path `SHOW/EPISODE` of the decision's episode.
    ///   - failure: Why the file was not added to the archive although it matches.
    ///   - isKnownFailure: Whether people have read the reason already.
    mutating func add(
        _ file: String, _ decision: AdoptionDecision, _ episode: String? = nil, size: Int64? = nil,
        failure: String? = nil, isKnownFailure: Bool = false
    ) {
        let (result, evidence, reason, text) = facts(of: decision, episode ?? "an episode")
        var isCertain: Bool?
        if case .adopt(_, let confidence) = decision { isCertain = confidence.isCertain }
        counts[failure == nil ? result : "failed", default: 0] += 1
        if isJSON {
            array.write(
                .object([
                    ("file", .string(file)), ("size", .int(orNull: size)),
                    ("result", .string(failure == nil ? result : "failed")), ("episode", .string(orNull: episode)),
                    ("evidence", .string(orNull: evidence)), ("certain", isCertain.map { .bool($0) } ?? .null),
                    ("reason", .string(orNull: failure ?? reason)),
                ]))
        } else if let failure {
            if !isKnownFailure { Terminal.error("\(file): not adopted as '\(episode ?? "")': \(failure)") }
        } else if !isQuiet {
            Terminal.print("\(file): \(text)")
        }
    }

    /// Returns the members `result`, `evidence` and `reason` of the JSON, and the text for people.
    private func facts(
        of decision: AdoptionDecision, _ episode: String
    ) -> (result: String, evidence: String?, reason: String?, text: String) {
        switch decision {
        case .adopt(_, let found):
            (
                isDryRun ? "matched" : "adopted", found.evidence, nil,
                "\(isDryRun ? "would be adopted" : "adopted") as '\(episode)' (\(found.evidence))"
            )
        case .present: ("present", nil, nil, "'\(episode)' is downloaded already")
        case .duplicate(_, let path):
            ("duplicate", nil, path, "not adopted: '\(path)' is the better file of '\(episode)'")
        case .ambiguous(let ids, let evidence):
            (
                "ambiguous", evidence, nil,
                "not adopted: \(ids.count) episodes fit equally well, such as '\(episode)' (\(evidence))"
            )
        case .contradicted(_, let evidence, let contradiction):
            (
                "contradicted", evidence, contradiction,
                "not adopted: it may be '\(episode)' (\(evidence)), but \(contradiction)"
            )
        case .weak(_, let evidence):
            ("weak", evidence, nil, "not adopted: only a little suggests '\(episode)' (\(evidence))")
        case .unknown: ("unknown", nil, nil, "not adopted: no episode of a subscribed show fits")
        case .unusable(let reason): ("unusable", nil, reason, "not adopted: \(reason)")
        }
    }

    func end(marks: (played: Int, positions: Int)) {
        if isJSON { return array.end() }
        guard !isQuiet else { return }
        func count(_ results: String...) -> Int { results.reduce(0) { $0 + (counts[$1] ?? 0) } }
        let parts = [
            (count("failed"), "failed"), (count("present"), "downloaded already"),
            (count("duplicate"), count("duplicate") == 1 ? "duplicate" : "duplicates"),
            (count("ambiguous", "contradicted", "weak", "unknown"), "not matched"), (count("unusable"), "not usable"),
            (count("other"), count("other") == 1 ? "other file ignored" : "other files ignored"),
        ]
        let adopted = ReportText.count(count("adopted", "matched"), "file")
        Terminal.print(
            (["\(adopted) \(isDryRun ? "would be adopted" : "adopted")"]
                + parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }).joined(separator: ", "))
        if marks.played + marks.positions > 0 {
            Terminal.print(
                "\(ReportText.count(marks.played, "played mark")) and \(ReportText.count(marks.positions, "position")) "
                    + (isDryRun ? "would be taken over" : "taken over"))
        }
    }
}
