import ArgumentParser
import Foundation
import Platform
import PodcastLibrary
import PodcastPages
import PodcastProtocol
import Transfers

/// A command that applies one action to uploads, or to the downloads or cached bytes of episodes.
protocol TaskCommand: PodfsCommand {
    static var action: TaskAction { get }
    var paths: [String] { get }
    var report: Reporting { get }
}

extension TaskCommand {
    func perform() async throws {
        let installation = try Installation()
        let action = Self.action
        let uploads = paths.compactMap { UploadName($0)?.id }
        let paths = paths.filter { UploadName($0) == nil }
        var done = ActionReport(action: action)
        var commands: [Command] = []
        let library = paths.isEmpty ? nil : try installation.existingLibrary()
        var episodes: [EpisodeID] = []
        if let library {
            episodes = try PathResolver(library: library).episodes(paths, for: action)
            report.begin(action.participle, episodes.count)
            try done.begin(episodes, in: library)
            if !episodes.isEmpty { commands.append(.act(action, episodes: episodes)) }
        }
        if !uploads.isEmpty { commands.append(.actOnUploads(action, ids: uploads)) }
        guard !commands.isEmpty else { return report.print(done.text) }
        var count = 0
        var problems: [String] = []
        for command in commands {
            let (some, more) = try await installation.perform(command, \.acted)
            if case .actOnUploads = command { done.uploads += some } else { done.episodes += some }
            count += some
            problems += more
        }
        if let library { try done.finish(episodes, in: library) }
        if count > 0 { report.print(done.text) }
        for problem in problems { Terminal.error(problem) }
        try ExitCode.check(failures: problems.count, of: problems.count + count)
    }
}

extension TaskAction {
    /// The present participle.
    fileprivate var participle: String { rawValue.hasSuffix("e") ? rawValue.dropLast() + "ing" : "\(rawValue)ing" }
}

/// The report of a command on tasks.
struct ActionReport {
    let action: TaskAction
    /// The number of episodes that the action changed.
    var episodes = 0
    /// The number of uploads that the action changed.
    var uploads = 0
    /// The cached bytes of the episodes before and after an eviction.
    private var before: Int64 = 0
    private var after: Int64 = 0
    /// The number of episodes that had an outstanding download before the action. Failed downloads do not count.
    private var tasks = 0

    init(action: TaskAction) { self.action = action }

    /// Records the state of the episodes before the action.
    mutating func begin(_ ids: [EpisodeID], in library: Library) throws {
        guard action == .evict || action == .cancel else { return }
        for episode in try ids.compactMap({ try library.episode(id: $0) }) {
            before += episode.cachedBytes
            if let state = episode.download?.state, state != .failed { tasks += 1 }
        }
    }

    /// Records the state of the episodes after the action.
    mutating func finish(_ ids: [EpisodeID], in library: Library) throws {
        guard action == .evict else { return }
        after = try ids.reduce(0) { try $0 + (library.episode(id: $1)?.cachedBytes ?? 0) }
    }

    var text: String {
        let downloads = action == .cancel ? min(tasks, episodes) : episodes
        switch action {
        case .evict:
            let freed = max(0, before - after)
            if freed > 0 { return "freed \(ByteText.size(freed)) of \(count(episodes, "episode"))" }
            // The library does not yet count the bytes of a download that has just started.
            return tasks > 0 ? "\(count(episodes, "episode")) evicted" : "nothing was cached"
        case .resume: return transfers(downloads, "resumed")
        case .suspend: return transfers(downloads, "suspended")
        case .cancel: return transfers(downloads, "cancelled")
        // `podfs set` pins, and `podfs download` has its own report.
        case .download, .pin, .unpin: return ""
        }
    }

    private func count(_ count: Int, _ noun: String) -> String { ReportText.count(count, noun) }

    private func transfers(_ downloads: Int, _ participle: String) -> String {
        let parts =
            (downloads > 0 ? [count(downloads, "download")] : []) + (uploads > 0 ? [count(uploads, "upload")] : [])
        return parts.isEmpty ? "nothing to \(action.rawValue)" : "\(parts.joined(separator: " and ")) \(participle)"
    }
}

/// The name of an upload on the command line, `upload:7`. A show whose folder has such a name is written `upload:7/`,
/// or as the path of the folder.
struct UploadName: Equatable {
    let id: TaskID

    /// Parses a name; `nil` if it is not exactly `upload:` and digits.
    init?(_ text: String) {
        let prefix = "upload:"
        guard text.hasPrefix(prefix) else { return nil }
        let digits = text.dropFirst(prefix.count)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let id = Int64(digits) else {
            return nil
        }
        self.id = TaskID(id)
    }
}

private let taskHelp = ArgumentHelp(
    "Episodes as SHOW/EPISODE or by their paths in a mount; a show means its episodes; upload:ID is an upload.",
    valueName: "path")

let pathHelp = ArgumentHelp(
    "Episodes as SHOW/EPISODE or by their paths in a mount; a show means its episodes.", valueName: "path")

private func example(_ name: String) -> String {
    """
    Example:
      podfs \(name) ~/Podcasts/Example\\ Show/*.mp3
    """
}

struct ResumeCommand: TaskCommand {
    static let action = TaskAction.resume
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Continue suspended or failed downloads and uploads.",
        discussion: example("resume"))

    @Argument(help: taskHelp, completion: NameCompletion.paths)
    var paths: [String]

    @OptionGroup var report: Reporting
}

struct SuspendCommand: TaskCommand {
    static let action = TaskAction.suspend
    static let configuration = CommandConfiguration(
        commandName: "suspend",
        abstract: "Pause downloads and uploads until podfs resume; programs that read the file are still served.",
        discussion: example("suspend"))

    @Argument(help: taskHelp, completion: NameCompletion.paths)
    var paths: [String]

    @OptionGroup var report: Reporting
}

struct CancelCommand: TaskCommand {
    static let action = TaskAction.cancel
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "End downloads and uploads; the bytes received so far stay in the cache until podfs evict.",
        discussion: example("cancel"))

    @Argument(help: taskHelp, completion: NameCompletion.paths)
    var paths: [String]

    @OptionGroup var report: Reporting
}

struct EvictCommand: TaskCommand {
    static let action = TaskAction.evict
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Remove the cached bytes of episodes, which stay listed and are fetched again when they are read.",
        discussion: example("evict"))

    @Argument(help: pathHelp, completion: NameCompletion.paths)
    var paths: [String]

    @OptionGroup var report: Reporting
}
