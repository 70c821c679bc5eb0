import ArgumentParser
import Glibc
import Platform
import PodcastFeed
import PodcastProtocol

struct ImportCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Subscribe to all shows of an OPML file, as other podcast programs export it.",
        discussion: """
            Shows that are already subscribed are left unchanged. A show whose feed cannot be fetched now becomes a folder \
            without episodes until podfs refresh succeeds.

            Examples:
              podfs import subscriptions.opml
              podfs export - | ssh other podfs import -
            """)

    @Argument(help: ArgumentHelp("An OPML file; - is standard input.", valueName: "file.opml"), completion: .file())
    var file: String

    @OptionGroup var report: Reporting

    private var shownFile: String { file == "-" ? "standard input" : file }

    func perform() async throws {
        let list = try parse()
        printMessages(of: list)
        // Subscriptions whose URLs differ only in spelling are one.
        var keys: Set<String> = []
        let subscriptions = list.subscriptions.filter { keys.insert(WebAddress.key($0.url)).inserted }
        guard !subscriptions.isEmpty else {
            throw CommandError(.failed, "\(shownFile): no usable subscription was found")
        }
        let daemon = try Installation().daemon()
        defer { daemon.close() }
        let progress = ProgressLine()
        progress.show(ProgressText.count(0, of: subscriptions.count))
        var (added, known, kept, refused) = (0, 0, 0, list.unusable.count)
        func record(_ subscription: OPML.Subscription, _ result: ImportResult) {
            func complain(_ problem: String) {
                progress.clear()
                Terminal.error("\(shownFile):\(subscription.line): \(problem)")
            }
            switch result {
            case .added: added += 1
            case .known: known += 1
            case .kept(let name, let error):
                kept += 1
                complain("\(error); added as '\(name)' without episodes until podfs refresh succeeds")
            case .refused(let error):
                refused += 1
                complain(error)
            }
            let done = added + known + kept + refused - list.unusable.count
            progress.show(ProgressText.count(done, of: subscriptions.count, subscription.title ?? ""))
        }
        try await withThrowingTaskGroup(of: (OPML.Subscription, ImportResult).self) { group in
            for (index, subscription) in subscriptions.enumerated() {
                if index >= Self.window, let done = try await group.next() { record(done.0, done.1) }
                group.addTask { (subscription, try await Self.send(subscription, to: daemon)) }
            }
            for try await (subscription, result) in group { record(subscription, result) }
        }
        progress.finish()
        if known > 0, added + kept + refused == 0 {
            let shows = known == 1 ? "the show is" : "all \(known) shows are"
            report.print("nothing to import: \(shows) subscribed already")
        } else {
            let others = [(known, "already subscribed"), (kept, "added without episodes"), (refused, "not usable")]
            let parts = others.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
            report.print((["\(ReportText.count(added, "show")) imported"] + parts).joined(separator: ", "))
        }
        if added + known + kept == 0 { throw ExitCode(CommandError.Code.failed.rawValue) }
        if kept + refused > 0 { throw ExitCode(CommandError.Code.partlyFailed.rawValue) }
    }

    private func parse() throws -> OPML {
        let descriptor = file == "-" ? 0 : open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandError(.failed, "\(file): \(errnoText())") }
        defer { if descriptor > 0 { close(descriptor) } }
        guard let bytes = readAll(descriptor, limit: FeedLimits.standard.bytes) else {
            throw CommandError(.failed, "\(shownFile) cannot be read: \(errnoText())")
        }
        do {
            return try OPML.parse(bytes)
        } catch {
            throw CommandError(.failed, "\(shownFile): \(error)")
        }
    }

    /// The maximum number of messages printed about mistakes that the parser has corrected.
    private static let maxNotes = 5

    private func printMessages(of list: OPML) {
        let corrected = list.diagnostics.filter { !list.unusable.contains($0) }
        for note in list.unusable + corrected.prefix(Self.maxNotes) {
            Terminal.error("\(shownFile):\(note.line): \(note.message)")
        }
        if corrected.count > Self.maxNotes {
            Terminal.error("\(shownFile): \(corrected.count - Self.maxNotes) more messages of this kind are not shown")
        }
    }

    /// The maximum number of unanswered requests to the daemon. The daemon fetches several feeds at once, and the more
    /// requests it has, the less a slow host delays the others.
    private static let window = 256

    private static func send(
        _ subscription: OPML.Subscription, to daemon: DaemonConnection
    ) async throws -> ImportResult {
        let item = ImportItem(
            url: subscription.url, title: subscription.title, link: subscription.link,
            folders: subscription.folders)
        do {
            return try await daemon.perform(.importShow(item), \.imported)
        } catch let failure as Failure {
            return .refused(error: failure.message)
        }
    }
}
