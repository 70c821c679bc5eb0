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
        if archive == nil, !dryRun { throw Self.withoutArchive(installation) }
        let library = try installation.existingLibrary()
        let only = try show.map { try PathResolver(library: library).show($0, matching: .part).id }
        let records = try database.map(Self.records) ?? []
        let root = MountPoint.absolute(folder)
        if MountEntry.containing(root)?.isPodfs ?? false {
            throw CommandError(.failed, "\(folder) is in a mount of podfs, whose files need not be adopted")
        }
        let progress = ProgressLine()
        let shows = try library.subscriptions()
        let matcher = AdoptionMatcher(
            shows: shows, episodes: try library.adoptableEpisodes(), only: only, localOffset: Self.localOffset)
        var finder = MediaFinder(
            root: root, excluding: [MountPoint.absolute(installation.paths.cache)],
            isKnown: { path in
                guard let path = archive.flatMap({ Adoption.path("\(root)/\(path)", below: $0) }) else { return false }
                return ((try? library.archivedFile(path: path)) ?? nil)?.episode != nil
            }, progress: { count in progress.show("\(ReportText.count(count, "media file")) read") })
        try finder.run()
        progress.clear()
        let files = Self.named(finder.files, by: records)
        let adoption = Adoption(
            root: root, archive: archive, isDryRun: dryRun, library: library, progress: progress,
            print: AdoptionReport(isJSON: json, isQuiet: report.quiet, isDryRun: dryRun),
            names: Dictionary(uniqueKeysWithValues: shows.map { ($0.podcast, $0.name) }))
        let failures = try await adoption.run(
            files, matcher.decisions(about: files), finder, records, matcher, installation)
        try ExitCode.check(failures: failures, of: max(1, files.count))
    }

    private static func withoutArchive(_ installation: Installation) -> CommandError {
        CommandError(
            .failed,
            """
            there is no archive folder for the files: write [archive] and folder = "/srv/podcasts" into \
            \(installation.paths.configFile), or list what would be adopted with --dry-run
            """)
    }

    private static func records(_ path: String) throws -> [ForeignRecord] {
        do {
            return try ForeignDatabase.records(at: path)
        } catch let failure as ForeignDatabase.Failure {
            throw CommandError(.failed, failure.description)
        }
    }

    /// The UTC offset of this machine in seconds.
    private static var localOffset: Int {
        var now = time(nil)
        var parts = tm()
        return localtime_r(&now, &parts) == nil ? 0 : Int(parts.tm_gmtoff)
    }

    /// Returns the files with the records of another program's database that name them.
    private static func named(_ files: [AdoptableFile], by records: [ForeignRecord]) -> [AdoptableFile] {
        guard !records.isEmpty else { return files }
        let known = Dictionary(records.compactMap { record in record.file.map { ($0, record) } }) { first, _ in first }
        return files.map { file in
            var file = file
            file.record = known[file.shortPath]
            return file
        }
    }
}
