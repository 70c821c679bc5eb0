import Foundation
import TestSupport
import Testing

@testable import podfs

/// Tests that the manuals, the help texts and the program agree.
struct ManualTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("man")
    private static let pages = [
        "podfs.1", "podfs-daemon.8", "podfs.conf.5", "podfs-semantics.7", "podfs-sync.7", "podfs-xattr.7",
        "podfs-protocol.7", "podfs-nas.7", "podfs-archive.7", "podfs-listening.7",
    ]

    private static func source(_ page: String) throws -> String {
        try String(contentsOf: folder.appendingPathComponent(page), encoding: .utf8)
    }

    /// Returns the commands with their options; of an option with several names, the long one.
    private func commands() async throws -> [(path: String, options: Set<String>, isGroup: Bool)] {
        try await HelpCommand.all().filter { $0.superCommands != nil }.map { command in
            let names = command.options.compactMap { names in names.first { $0.kind == "long" } ?? names.first }
            let options = Set(names.map(\.option)).subtracting(["--help", "--version"])
            return (command.path, options, command.subcommands?.isEmpty == false)
        }
    }

    /// Returns the lines of a section without roff's escapes, and without the macros before a text. A macro alone on
    /// its line, such as `.TP` or `.RS`, is kept.
    private static func section(_ name: String, of page: String) throws -> [String] {
        let lines = try source(page).components(separatedBy: "\n")
        guard let start = lines.firstIndex(of: ".SH \(name)") else { return [] }
        return lines[(start + 1)...].prefix { !$0.hasPrefix(".SH ") }.map { line in
            if line == ".br" || line == ".TP" || line == ".nf" || line == ".fi" { return line }
            var text = line.replacing(#/^\.[A-Z]+ /#, with: "").replacing(#/\\f[A-Z]/#, with: "")
            if line.hasPrefix(".BR") || line.hasPrefix(".RB") || line.hasPrefix(".RI") || line.hasPrefix(".IR") {
                text = text.replacing("\"", with: "")
            }
            return text.replacing("\\-", with: "-").replacing(#/\s+/#, with: " ")
        }
    }

    private static func options(in text: String) -> Set<String> {
        Set(text.matches(of: #/(?:^|[\s\[(|])(--?[a-z][a-z-]*)/#).map { String($0.1) })
    }

    /// Commands that have subcommands.
    private static let groups = ["player", "service", "sync", "view"]

    @Test func theSyntaxHasExactlyTheCommandsAndOptions() async throws {
        var documented: [String: Set<String>] = [:]
        // A line that begins with spaces continues the line before it.
        let syntax = try Self.section("SYNTAX", of: "podfs.1").drop { $0 != ".nf" }.dropFirst().prefix { $0 != ".fi" }
        for text in syntax.joined(separator: "\n").replacing("\n ", with: " ").split(separator: "\n") {
            let words = text.split(separator: " ").map(String.init)
            // `podfs resume|suspend PATH...` stands for several commands.
            let names = words.dropFirst().prefix { $0.first?.isLowercase == true }
            let last = names.dropFirst().first.map { $0.split(separator: "|").map(String.init) } ?? []
            let group = names.count > 1 ? names.first.flatMap { Self.groups.contains($0) ? $0 : nil } : nil
            let heads =
                group.map { group in last.map { "podfs \(group) \($0)" } }
                ?? words[1].split(separator: "|").map { "podfs \($0)" }
            for head in heads { documented[head] = Self.options(in: String(text)) }
        }
        var real: [String: Set<String>] = [:]
        for command in try await commands() where !command.isGroup {
            // The end of the commands' section explains `--quiet` for all of them.
            real[command.path] = command.options.subtracting(["--quiet"])
        }
        #expect(Set(documented.keys) == Set(real.keys))
        for (path, options) in real { #expect(documented[path] == options, "\(path)") }
        #expect(real.count >= 20)
    }

    /// Returns the lines that explain each command or group of commands. A key is a name without `podfs`.
    private static func explanations() throws -> [String: [String]] {
        var result: [String: [String]] = [:]
        var names: [String] = []
        var depth = 0
        var isTitle = false
        for line in try section("COMMANDS", of: "podfs.1") {
            if line == ".RS" { depth += 1 }
            if line == ".RE" { depth -= 1 }
            // A paragraph outside the list is about several commands, so it belongs to no entry.
            if depth == 0, line == ".PP" { names = [] }
            if isTitle {
                names = line.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            }
            for name in names { result[name, default: []].append(line) }
            isTitle = depth == 0 && line == ".TP"
        }
        return result
    }

    @Test func everyCommandAndOptionIsExplained() async throws {
        let sections = try Self.explanations()
        let all = try await commands()
        let known = all.reduce(into: Set(["--version", "--help", "--generate-completion-script"])) {
            $0.formUnion($1.options)
        }
        for command in all {
            let words = command.path.split(separator: " ").dropFirst().map(String.init)
            // A subcommand has an entry of its own, or is in that of its group.
            let name = words.joined(separator: " ")
            let lines = sections[name] ?? sections[words[0]] ?? []
            let isGroup = sections.keys.contains { $0.hasPrefix(name + " ") }
            #expect(isGroup || lines.contains { $0.contains(words.last ?? "") }, "\(command.path) is not explained")
            // The end of the section explains `--quiet` for all commands.
            let missing = command.options.subtracting(Self.options(in: lines.joined(separator: "\n")))
            #expect(missing.subtracting(["--quiet"]).isEmpty, "\(command.path): \(missing)")
        }
        for page in ["podfs.1", "podfs-daemon.8"] {
            let strange = try Self.options(in: Self.source(page).replacing("\\-", with: "-")).subtracting(known)
            // The manuals also mention these options of other programs.
            #expect(
                strange.subtracting(["--cap-add", "--bind", "--make-shared", "--pid"]).filter { $0.hasPrefix("--") }
                    .isEmpty,
                "\(page): \(strange)")
        }
    }

    @Test func everyCommandHasAnExampleInItsHelp() async throws {
        for command in try await commands() {
            let result = try await PodfsHome().run(
                Array(command.path.split(separator: " ").dropFirst().map(String.init)) + ["--help"]
            ).succeeded()
            let parts = result.output.components(separatedBy: "Example")
            #expect(parts.count > 1 && parts[1].contains("  \(command.path)"), "\(command.path)")
            for option in command.options { #expect(result.output.contains(option), "\(command.path) \(option)") }
        }
    }

    @Test func theManualHasExactlyTheKeysOfTheConfiguration() throws {
        let text = try Self.source("podfs.conf.5")
        let entries = text.components(separatedBy: "\n").filter { $0.hasPrefix(".B ") || $0.hasPrefix(".BR ") }
        var documented: Set<String> = []
        for entry in entries {
            let words = entry.replacing("\\fR", with: " ").matches(of: #/[a-z_]+(?:\.[a-z_]+)*/#).map { String($0.0) }
            documented.formUnion(
                words.filter {
                    $0.contains(".") || ["keep", "indexers", "probes", "tagged", "user_agent"].contains($0)
                        || $0.hasPrefix("auto_download")
                })
        }
        let keys = Set(ConfigurationKey.all.map(\.path))
        #expect(keys.subtracting(documented).isEmpty)
        let strange = documented.subtracting(keys).filter { name in
            keys.contains { $0.hasPrefix(name.prefix { $0 != "." } + ".") }
        }
        #expect(strange.isEmpty)
    }

    @Test(arguments: pages) func everyManualNamesItselfAndItsVersion(_ page: String) throws {
        let text = try Self.source(page)
        let parts = page.split(separator: ".")
        #expect(text.hasPrefix(".TH \(parts.dropLast().joined(separator: ".").uppercased()) \(parts.last ?? "") "))
        #expect(text.contains("\"podfs \(Podfs.version)\""))
        for section in ["NAME", "SEE ALSO"] { #expect(text.contains(".SH \(section)\n"), "\(section)") }
    }

    @Test(.enabled(if: InstalledProgram.exists("man")), arguments: pages) func manFindsNothingWrong(_ page: String)
        async throws
    {
        var environment = ProcessInfo.processInfo.environment
        environment.merge(["LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"]) { $1 }
        let result = try await ChildProcess.run(
            "man", ["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", Self.folder.appendingPathComponent(page).path],
            environment: environment)
        #expect(result.exitCode == 0 && result.error.isEmpty, "\(result.error)")
    }

    @Test(.enabled(if: InstalledProgram.exists("mandoc")), arguments: pages) func mandocFindsNothingWrong(
        _ page: String
    ) async throws {
        try await ChildProcess.run(
            "mandoc", ["-Tlint", "-Wwarning", Self.folder.appendingPathComponent(page).path]
        ).succeeded()
    }
}
