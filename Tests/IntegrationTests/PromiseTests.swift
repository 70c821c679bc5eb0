import Foundation
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService
@testable import podfs

/// The names and numbers that scripts, configurations and other programs use. From 1.0 on they change only as the
/// chapter "Promises" of Contributing says.
struct PromiseTests {
    private struct Dump: Decodable {
        struct Command: Decodable {
            struct Argument: Decodable {
                struct Name: Decodable {
                    var kind: String
                    var name: String
                }
                var names: [Name]?
                var shouldDisplay: Bool
            }
            var commandName: String
            var shouldDisplay: Bool
            var subcommands: [Command]?
            var arguments: [Argument]?

            /// The command and its subcommands, each with its options, one per line.
            func lines(after parents: String) -> [String] {
                let path = parents + " " + commandName
                let names = (arguments ?? []).filter(\.shouldDisplay).compactMap(\.names).joined()
                let options = names.map { path + ($0.kind == "long" ? " --" : " -") + $0.name }
                let visible = (subcommands ?? []).filter { $0.shouldDisplay && $0.commandName != "help" }
                return [path] + options + visible.flatMap { $0.lines(after: path) }
            }
        }
        var command: Command
    }

    private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Promises/names.txt")

    @Test func whatOthersRelyOnIsAsItWas() async throws {
        let home = try PodfsHome()
        let help = try await home.run("--experimental-dump-help")
        let dump = try JSONDecoder().decode(Dump.self, from: Data(help.standardOutput))
        var found = Set(dump.command.lines(after: "command"))
        found.formUnion(CommandError.Code.allCases.map { "exit \($0.rawValue) \($0)" })
        found.formUnion(ConfigurationKey.all.map { "configuration " + $0.path })
        found.formUnion(ShowSettingKey.allCases.map { "setting " + $0.rawValue })
        found.formUnion(Frame.Kind.allCases.map { "frame \($0.rawValue) \($0)" } + ["protocol \(protocolVersion)"])
        found.formUnion(try await attributes())
        if ProcessInfo.processInfo.environment["PODFS_WRITE_FIXTURES"] != nil {
            try (found.sorted().joined(separator: "\n") + "\n").write(to: Self.file, atomically: true, encoding: .utf8)
            return
        }
        let promised = Set(try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n").map(String.init))
        let rules = "see Promises in Contributing"
        #expect(promised.subtracting(found).sorted() == [], "no longer there: \(rules)")
        #expect(found.subtracting(promised).sorted() == [], "new, not yet in names.txt: \(rules)")
    }

    /// Returns the extended attributes of a cached episode and of its show's folder.
    private func attributes() async throws -> [String] {
        let show = try await MountedShow(episodes: 1)
        _ = try await show.read(show.path(1))
        try await show.waitForState("cached", of: show.path(1))
        var lines: [String] = []
        let folder = "\(show.mount.mountPoint)/\(MountedShow.show)"
        for (kind, path) in [("episode", show.path(1)), ("show", folder)] {
            let names = try await ChildProcess.run("getfattr", ["--absolute-names", "-m", "-", path])
            let found = names.output.split(separator: "\n").filter { !$0.hasPrefix("#") }
            #expect(!found.isEmpty)
            lines += found.map { "attribute of \(kind) \($0)" }
        }
        return lines
    }
}
