import ArgumentParser
import Foundation
import Glibc
import Platform
import PodcastFeed
import PodcastProtocol
import PodcastService

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
        printSummary(list)
        let subscriptions = Self.distinct(list.subscriptions)
        guard !subscriptions.isEmpty else {
            throw CommandError(.failed, "\(shownFile): no usable subscription was found")
        }
        let daemon = try Installation().daemon()
        defer { daemon.close() }
        let progress = ProgressLine()
        var done = 0
        progress.show(ProgressText.count(0, of: subscriptions.count))
        var tally = Tally(refused: list.unusable.count)
        try await Self.send(subscriptions, to: daemon) { subscription, result in
            if let problem = Self.problem(of: result) {
                progress.clear()
                Terminal.error("\(shownFile):\(subscription.line): \(problem)")
            }
            tally.count(result)
            done += 1
            progress.show(ProgressText.count(done, of: subscriptions.count, subscription.title ?? ""))
        }
        progress.finish()
        report.print(tally.text)
        if tally.isPartlyFailed { throw ExitCode((tally.isFailed ? CommandError.Code.failed : .partlyFailed).rawValue) }
    }

    // MARK: File

    private func parse() throws -> OPML {
        let handle: FileHandle
        if file == "-" {
            handle = .standardInput
        } else {
            let descriptor = open(file, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw CommandError(.failed, "\(file): \(errnoText())") }
            handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }
        let parser = FeedParser()
        do {
            while let data = try handle.read(upToCount: 1 << 16), !data.isEmpty {
                data.withUnsafeBytes { parser.parse($0) }
            }
        } catch {
            throw CommandError(.failed, "\(shownFile) cannot be read: \(error.localizedDescription)")
        }
        do {
            return try parser.finishSubscriptions()
        } catch let error as DocumentError {
            throw CommandError(.failed, "\(shownFile): \(error)")
        }
    }

    /// The maximum number of messages printed about mistakes that the parser has corrected.
    private static let maxNotes = 5

    private func printSummary(_ list: OPML) {
        for problem in list.unusable { Terminal.error("\(shownFile):\(problem.line): \(problem.message)") }
        let corrected = list.diagnostics.filter { !list.unusable.contains($0) }
        for note in corrected.prefix(Self.maxNotes) { Terminal.error("\(shownFile):\(note.line): \(note.message)") }
        if corrected.count > Self.maxNotes {
            Terminal.error("\(shownFile): \(corrected.count - Self.maxNotes) more messages of this kind are not shown")
        }
    }

    /// Removes duplicates: subscriptions with equal URLs, or with URLs that differ only in spelling.
    private static func distinct(_ subscriptions: [OPML.Subscription]) -> [OPML.Subscription] {
        var keys: Set<String> = []
        return subscriptions.filter { keys.insert(WebAddress.key($0.url)).inserted }
    }

    // MARK: Daemon

    /// The maximum number of unanswered requests to the daemon. The daemon fetches several feeds at once, and the more
    /// requests it has, the less a slow host delays the others.
    private static let window = 256

    /// Sends all subscriptions; calls `onResult` with each reply.
    private static func send(
        _ subscriptions: [OPML.Subscription], to daemon: DaemonConnection,
        onResult: (OPML.Subscription, ImportResult) -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: (OPML.Subscription, ImportResult).self) { group in
            var rest = subscriptions[...]
            var isFirst = true
            while true {
                let count = isFirst ? window : 1
                for subscription in rest.prefix(count) {
                    group.addTask { (subscription, try await send(subscription, to: daemon)) }
                }
                rest = rest.dropFirst(count)
                isFirst = false
                guard let (subscription, result) = try await group.next() else { return }
                onResult(subscription, result)
            }
        }
    }

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

    /// Returns the problem to report; `nil` if the show was added or already subscribed.
    private static func problem(of result: ImportResult) -> String? {
        switch result {
        case .added, .known: nil
        case .kept(let name, let error):
            "\(error); added as '\(name)' without episodes until podfs refresh succeeds"
        case .refused(let error): error
        }
    }

    /// The number of results of each kind.
    private struct Tally {
        var added = 0
        var known = 0
        var kept = 0
        /// The number of shows that could not be subscribed, including lines without a usable subscription.
        var refused: Int

        mutating func count(_ result: ImportResult) {
            switch result {
            case .added: added += 1
            case .known: known += 1
            case .kept: kept += 1
            case .refused: refused += 1
            }
        }

        var isPartlyFailed: Bool { kept + refused > 0 }
        var isFailed: Bool { added + known + kept == 0 }

        var text: String {
            if known > 0, added + kept + refused == 0 {
                return "nothing to import: \(known == 1 ? "the show is" : "all \(known) shows are") subscribed already"
            }
            var parts = ["\(ReportText.count(added, "show")) imported"]
            if known > 0 { parts.append("\(known) already subscribed") }
            if kept > 0 { parts.append("\(kept) added without episodes") }
            if refused > 0 { parts.append("\(refused) not usable") }
            return parts.joined(separator: ", ")
        }
    }
}
