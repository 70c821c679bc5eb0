import ArgumentParser
import Platform
import PodcastLibrary
import PodcastProtocol
import Transfers

let pathHelp = ArgumentHelp(
    "Episodes as SHOW/EPISODE or by their paths in a mount; a show means its episodes.", valueName: "path")

/// The arguments of a command on tasks.
struct TaskArguments: ParsableArguments {
    @Argument(help: pathHelp, completion: NameCompletion.paths)
    var paths: [String]

    @OptionGroup var report: Reporting
}

/// A command that applies one action to uploads, or to the downloads or cached bytes of episodes.
protocol TaskCommand: PodfsCommand {
    static var action: TaskAction { get }
    var arguments: TaskArguments { get }
}

extension TaskCommand {
    func perform() async throws {
        let (installation, action) = (try Installation(), Self.action)
        // A show whose folder has such a name is written `upload:7/`, or as the path of the folder.
        let uploads = arguments.paths.compactMap { path in
            path.wholeMatch(of: /upload:([0-9]+)/).flatMap { Int64($0.1) }.map { TaskID($0) }
        }
        let paths = arguments.paths.filter { $0.wholeMatch(of: /upload:[0-9]+/) == nil }
        let library = paths.isEmpty ? nil : try installation.existingLibrary()
        let episodes = try library.map { try PathResolver(library: $0).episodes(paths, for: action) } ?? []
        let before = try episodes.compactMap { try library?.episode(id: $0) }
        var (changed, controlled, problems) = (0, 0, [String]())
        if !episodes.isEmpty {
            (changed, problems) = try await installation.perform(.act(action, episodes: episodes), \.acted)
        }
        if !uploads.isEmpty {
            let (count, more) = try await installation.perform(.actOnUploads(action, ids: uploads), \.acted)
            (controlled, problems) = (count, problems + more)
        }
        var text: String
        if action == .evict {
            let after = try episodes.compactMap { try library?.episode(id: $0) }
            let freed = before.reduce(0) { $0 + $1.cachedBytes } - after.reduce(0) { $0 + $1.cachedBytes }
            text =
                freed > 0
                ? "freed \(ByteText.size(freed)) of \(ReportText.count(changed, "episode"))" : "nothing was cached"
        } else {
            // Without an outstanding download, only the error of a failed one is cleared.
            let outstanding = before.count { $0.download.map { $0.state != .failed } ?? false }
            let downloads = action == .cancel ? min(changed, outstanding) : changed
            let parts = [(downloads, "download"), (controlled, "upload")].filter { $0.0 > 0 }.map(ReportText.count)
            text =
                parts.isEmpty
                ? "nothing to \(action.rawValue)" : "\(parts.joined(separator: " and ")) \(action.participle)"
        }
        if changed + controlled > 0 || problems.isEmpty { arguments.report.print(text) }
        for problem in problems { Terminal.error(problem) }
        try ExitCode.check(failures: problems.count, of: problems.count + changed + controlled)
    }
}

extension TaskAction {
    /// The past participle.
    var participle: String { self == .cancel ? "cancelled" : rawValue + (rawValue.hasSuffix("e") ? "d" : "ed") }
}

private func example(_ name: String, controlsUploads: Bool = true) -> String {
    """
    Examples:
      podfs \(name) ~/Podcasts/Example\\ Show/*.mp3
    """ + (controlsUploads ? "\n  podfs \(name) upload:7" : "")
}

struct ResumeCommand: TaskCommand {
    static let action = TaskAction.resume
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Continue suspended or failed downloads and uploads.",
        discussion: example("resume"))

    @OptionGroup var arguments: TaskArguments
}

struct SuspendCommand: TaskCommand {
    static let action = TaskAction.suspend
    static let configuration = CommandConfiguration(
        commandName: "suspend",
        abstract: "Pause downloads and uploads until podfs resume; programs that read the file are still served.",
        discussion: example("suspend"))

    @OptionGroup var arguments: TaskArguments
}

struct CancelCommand: TaskCommand {
    static let action = TaskAction.cancel
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "End downloads and uploads; the bytes received so far stay in the cache until podfs evict.",
        discussion: example("cancel"))

    @OptionGroup var arguments: TaskArguments
}

struct EvictCommand: TaskCommand {
    static let action = TaskAction.evict
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Remove the cached bytes of episodes, which stay listed and are fetched again when they are read.",
        discussion: example("evict", controlsUploads: false))

    @OptionGroup var arguments: TaskArguments
}
