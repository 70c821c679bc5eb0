import ArgumentParser
import Foundation
import PodcastLibrary
import PodcastProtocol

/// The error of a command: one line for people, an exit code for programs.
struct CommandError: Error, CustomStringConvertible {
    /// The exit codes, which are stable; see podfs(1).
    enum Code: Int32, CaseIterable {
        case failed = 1
        case partlyFailed = 2
        case usage = 64
        case unreachable = 69
        case refused = 77
    }

    var code: Code
    var description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// Converts any error to a line and an exit code.
    init(_ error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as Failure: self.init(Code(rawValue: Int32(error.kind.rawValue)) ?? .failed, error.message)
        case let error as ClientError: self.init(.unreachable, error.message)
        default: self.init(.failed, "\(error)")
        }
    }
}

extension ExitCode {
    /// Throws the exit code of a command that has reported its failures; does nothing if there are none.
    static func check(failures: Int, of total: Int) throws {
        guard failures > 0 else { return }
        throw ExitCode((failures < total ? CommandError.Code.partlyFailed : .failed).rawValue)
    }
}

/// A command of podfs. An error thrown by `perform` is printed on standard error as one line, and determines the exit
/// code. A command that throws `ExitCode` has reported its errors itself.
protocol PodfsCommand: AsyncParsableCommand {
    func perform() async throws
}

extension PodfsCommand {
    func run() async throws {
        do {
            try await perform()
            try Terminal.checkOutput()
        } catch let code as ExitCode {
            throw code
        } catch {
            let problem = CommandError(error)
            Terminal.error(problem.description)
            throw ExitCode(problem.code.rawValue)
        }
    }
}

/// The error message for a command line that cannot be parsed: the mistake, and a suggestion or the command's usage.
///
/// It has the form of podfs's other errors, and replaces the argument parser's own message, which begins with `Error:`.
struct UsageMistake {
    /// The lines for standard error, without the program's name.
    let lines: [String]

    /// - Parameters:
    ///   - arguments: The arguments, without the program's name.
    ///   - message: The parser's message.
    ///   - full: The parser's message with its lines `Usage:` and `See`.
    init(_ arguments: [String], root: any ParsableCommand.Type, message: String, full: String) {
        if let line = Self.unknownCommand(arguments, root) {
            lines = [line]
            return
        }
        let text = message.prefix(1).lowercased() + message.dropFirst().replacing(". Did you", with: "; did you")
        let usage = full.split(separator: "\n").drop { !$0.hasPrefix("Usage: ") }.map { line in
            line.trimmingCharacters(in: .whitespaces)
        }
        let form = usage.prefix { !$0.hasPrefix("See ") }.joined(separator: " ").dropFirst("Usage: ".count)
        let command = Self.command(of: arguments, root).path.joined(separator: " ")
        lines = [text, (form.isEmpty ? "" : "usage: \(form); ") + "see: \(command) --help"]
    }

    /// Names of commands in other programs, with the command of podfs that does the same.
    private static let synonyms = [
        "add": "subscribe", "follow": "subscribe", "remove": "unsubscribe", "rm": "unsubscribe",
        "delete": "unsubscribe",
        "ls": "list", "shows": "list", "episodes": "list", "update": "refresh", "fetch": "refresh",
        "sync-feeds": "refresh",
        "find": "search", "get": "download", "pause": "suspend", "stop": "cancel", "continue": "resume",
        "start": "resume",
        "free": "evict", "clean": "evict", "purge": "evict", "umount": "unmount", "mv": "rename", "config": "set",
        "watch": "status --watch", "progress": "status", "queue": "status", "check": "doctor", "upload": "publish",
        "install": "service install", "login": "sync login", "logout": "sync logout", "version": "--version",
    ]

    /// Returns the message for a word that is not a command; `nil` if all commands are known.
    private static func unknownCommand(_ arguments: [String], _ root: any ParsableCommand.Type) -> String? {
        let (path, command) = command(of: arguments, root)
        let commands = command.configuration.subcommands.compactMap { $0.configuration.commandName }
        guard !commands.isEmpty, let word = arguments.dropFirst(path.count - 1).first, !word.hasPrefix("-") else {
            return nil
        }
        let place = path.joined(separator: " ")
        let synonym = path.count == 1 ? synonyms[word.lowercased()] : nil
        guard let meant = synonym ?? LikelyName.nearest(to: word.lowercased(), in: commands) else {
            return "there is no command '\(place) \(word)'; see: \(place) --help"
        }
        return "there is no command '\(place) \(word)'; did you mean '\(place) \(meant)'?"
    }

    /// Returns the last of the commands at the beginning of the arguments, and its path: `["podfs", "sync", "login"]`.
    private static func command(
        of arguments: [String], _ root: any ParsableCommand.Type
    ) -> (path: [String], type: any ParsableCommand.Type) {
        var found = (path: ["podfs"], type: root)
        for word in arguments {
            let next = found.type.configuration.subcommands.first { $0.configuration.commandName == word }
            guard let next else { break }
            found = (found.path + [word], next)
        }
        return found
    }
}
