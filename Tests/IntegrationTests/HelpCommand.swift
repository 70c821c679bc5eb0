import Foundation
import TestSupport

/// A command in the program's own description (`--experimental-dump-help`).
struct HelpCommand: Decodable {
    struct Argument: Decodable {
        var names: [Name]?
        var shouldDisplay: Bool
    }

    struct Name: Decodable {
        var kind: String
        var name: String

        /// The option as it is typed, `--json` or `-o`.
        var option: String { (kind == "long" ? "--" : "-") + name }
    }

    var commandName: String
    var superCommands: [String]?
    var shouldDisplay: Bool
    var subcommands: [HelpCommand]?
    var arguments: [Argument]?

    /// The whole command, such as `podfs service install`.
    var path: String { ((superCommands ?? []) + [commandName]).joined(separator: " ") }

    /// The names of each visible option.
    var options: [[Name]] { (arguments ?? []).filter(\.shouldDisplay).compactMap(\.names) }

    /// Returns `podfs` and all its visible subcommands, without `help`.
    static func all() async throws -> [HelpCommand] {
        struct Dump: Decodable { var command: HelpCommand }
        let result = try await PodfsHome().run("--experimental-dump-help")
        return try JSONDecoder().decode(Dump.self, from: Data(result.standardOutput)).command.family
    }

    private var family: [HelpCommand] {
        [self] + (subcommands ?? []).filter { $0.shouldDisplay && $0.commandName != "help" }.flatMap(\.family)
    }
}
