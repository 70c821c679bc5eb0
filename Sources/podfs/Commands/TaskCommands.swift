import ArgumentParser
import Foundation
import PodcastClient
import PodcastLibrary
import PodcastProtocol
import TransferCore

/// A command that applies one action to the tasks or the cached bytes of episodes.
protocol TaskCommand: PodfsCommand {
    static var action: TaskAction { get }
    var paths: [String] { get }
}

extension TaskCommand {
    func perform() async throws {
        let installation = try Installation()
        let action = Self.action
        let uploads = paths.compactMap { UploadName($0)?.id }
        let paths = paths.filter { UploadName($0) == nil }
        var commands: [Command] = []
        if !paths.isEmpty {
            let episodes = try PathResolver(library: installation.existingLibrary()).episodes(paths, for: action)
            commands.append(.act(action, episodes: episodes))
        }
        if !uploads.isEmpty { commands.append(.actOnUploads(action, ids: uploads)) }
        let daemon = try installation.daemon()
        defer { daemon.end() }
        var count = 0
        var problems: [String] = []
        for command in commands {
            guard case .acted(let some, let more) = try await daemon.perform(command) else { continue }
            count += some
            problems += more
        }
        for problem in problems { Terminal.error(problem) }
        if !problems.isEmpty {
            throw ExitCode((count > 0 ? CommandError.Code.partlyFailed : CommandError.Code.failed).rawValue)
        }
    }
}

/// An upload on the command line, exactly `upload:7`. A show with such a name is written `upload:7/`, or as the path of
/// its folder.
struct UploadName: Equatable {
    let id: TaskID

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
}

struct SuspendCommand: TaskCommand {
    static let action = TaskAction.suspend
    static let configuration = CommandConfiguration(
        commandName: "suspend",
        abstract: "Suspend downloads and uploads; reads of programs are still served.",
        discussion: example("suspend"))

    @Argument(help: taskHelp, completion: NameCompletion.paths)
    var paths: [String]
}

struct CancelCommand: TaskCommand {
    static let action = TaskAction.cancel
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Cancel downloads and uploads; the bytes received so far stay in the cache.",
        discussion: example("cancel"))

    @Argument(help: taskHelp, completion: NameCompletion.paths)
    var paths: [String]
}

struct EvictCommand: TaskCommand {
    static let action = TaskAction.evict
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Remove the cached bytes of episodes; they are fetched again when they are read.",
        discussion: example("evict"))

    @Argument(help: pathHelp, completion: NameCompletion.paths)
    var paths: [String]
}

struct PinCommand: TaskCommand {
    static let action = TaskAction.pin
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Exempt episodes from eviction.", discussion: example("pin"))

    @Argument(help: pathHelp, completion: NameCompletion.paths)
    var paths: [String]
}

struct UnpinCommand: TaskCommand {
    static let action = TaskAction.unpin
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Allow pinned episodes to be evicted again.", discussion: example("unpin"))

    @Argument(help: pathHelp, completion: NameCompletion.paths)
    var paths: [String]
}
