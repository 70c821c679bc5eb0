import Foundation
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService
@testable import podfs

/// The names and numbers that scripts, configurations and other programs use. From 1.0 on they change only as the
/// chapter "Promises" of Contributing says.
struct PromiseTests {
    private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Promises/names.txt")

    @Test func whatOthersRelyOnIsAsItWas() async throws {
        var found: Set<String> = []
        for command in try await HelpCommand.all() {
            let options = command.options.joined().map { " " + $0.option }
            found.formUnion(([""] + options).map { "command \(command.path)\($0)" })
        }
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
