import ArgumentParser
import Foundation
import PodcastClient
import PodcastLibrary
import PodcastProtocol

/// Commands that do one thing to the tasks or the cached bytes of episodes.
protocol TaskCommand: PodfsCommand {
    static var action: TaskAction { get }
    var paths: [String] { get }
}

extension TaskCommand {
    func perform() async throws {
        let installation = try Installation()
        let action = Self.action
        let episodes = try PathResolver(library: installation.existingLibrary()).episodes(paths, for: action)
        let daemon = try installation.daemon()
        defer { daemon.end() }
        guard case .acted(let count, let problems) = try await daemon.perform(.act(action, episodes: episodes)) else {
            return
        }
        for problem in problems { Terminal.error(problem) }
        if !problems.isEmpty {
            throw ExitCode((count > 0 ? CommandError.Code.partlyFailed : CommandError.Code.failed).rawValue)
        }
    }
}

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
        commandName: "resume", abstract: "Let suspended or failed downloads go on.", discussion: example("resume"))

    @Argument(help: pathHelp, completion: NameCompletion.paths)
    var paths: [String]
}

struct SuspendCommand: TaskCommand {
    static let action = TaskAction.suspend
    static let configuration = CommandConfiguration(
        commandName: "suspend", abstract: "Halt downloads until they are resumed; readers still get what they ask for.",
        discussion: example("suspend"))

    @Argument(help: pathHelp, completion: NameCompletion.paths)
    var paths: [String]
}

struct CancelCommand: TaskCommand {
    static let action = TaskAction.cancel
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "End downloads; what has arrived stays in the cache.",
        discussion: example("cancel"))

    @Argument(help: pathHelp, completion: NameCompletion.paths)
    var paths: [String]
}

struct EvictCommand: TaskCommand {
    static let action = TaskAction.evict
    static let configuration = CommandConfiguration(
        commandName: "evict", abstract: "Drop the cached bytes of episodes; the files stay and can be fetched again.",
        discussion: example("evict"))

    @Argument(help: pathHelp, completion: NameCompletion.paths)
    var paths: [String]
}

struct PinCommand: TaskCommand {
    static let action = TaskAction.pin
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Keep episodes in the cache whatever happens.", discussion: example("pin"))

    @Argument(help: pathHelp, completion: NameCompletion.paths)
    var paths: [String]
}

struct UnpinCommand: TaskCommand {
    static let action = TaskAction.unpin
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Let pinned episodes be evicted again.", discussion: example("unpin"))

    @Argument(help: pathHelp, completion: NameCompletion.paths)
    var paths: [String]
}
