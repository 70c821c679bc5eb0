import ArgumentParser
import Foundation
import PodcastProtocol
import Transfers

struct PlayerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "player", abstract: "Connect a player, so that podfs knows what was listened to.",
        discussion: """
            Players with MPRIS, such as VLC, need nothing. See podfs-listening(7).

            Examples:
              podfs player mpv --install
            """,
        subcommands: [MPV.self, Report.self])

    struct MPV: PodfsCommand {
        static let configuration = CommandConfiguration(
            commandName: "mpv", abstract: "Print or install a script for mpv.",
            discussion: """
                With the script mpv reports its position to podfs and continues where you stopped, also without a session bus, \
                such as over ssh. Without an option the script is printed.

                Examples:
                  podfs player mpv --install
                """)

        @Flag(help: "Write the script to mpv's folder of scripts.")
        var install = false

        func perform() async throws {
            guard install else { return Terminal.write(MPVScript.text, to: 1) }
            Terminal.print("installed \(try MPVScript.install())")
        }
    }

    struct Report: PodfsCommand {
        static let configuration = CommandConfiguration(
            commandName: "report", abstract: "Report what a player does with an episode, from a script.",
            discussion: """
                Prints the position in seconds to which the player should jump, if it should.

                Examples:
                  podfs player report --player mine --phase started --position 0 -- ~/Podcasts/Show/Episode.mp3
                """)

        @Option(help: "A name for the player, the same in all of its reports.")
        var player: String

        @Option(help: "What the player did: started, playing, seeked, paused or stopped.")
        var phase: String

        @Option(help: "The player's position in seconds.")
        var position: Double

        @Option(help: "The duration in seconds, if the player knows it.")
        var duration: Double?

        @Option(help: "The speed of playback.")
        var rate: Double = 1

        @Option(help: "The player's process, so that the session bus's reports about it are ignored.")
        var process: Int32?

        @Argument(help: "The episode's path in a mount.")
        var path: String

        func perform() async throws {
            guard let phase = ListeningReport.Phase(rawValue: phase) else {
                throw CommandError(.usage, "'\(phase)' is not started, playing, seeked, paused or stopped")
            }
            let installation = try Installation()
            guard
                case .episode(let episode)? = try PathResolver(library: installation.existingLibrary()).target(at: path)
            else { throw CommandError(.failed, "'\(path)' is not an episode in a mount") }
            let resumes = try installation.configuration().resumes
            let report = ListeningReport(
                episode: episode, source: .script, process: process, player: player, phase: phase,
                position: position, duration: duration, rate: rate)
            let resume = try await installation.perform(.report(report), \.listening)
            if let resume, resumes { Terminal.print("\(resume)") }
        }
    }
}

/// The script for mpv that reports positions to podfs.
enum MPVScript {
    /// The start of the first line, by which an installed script is recognized.
    private static let mark = "-- podfs: reports what is listened to"

    /// The path at which the Debian package installs the script for all users.
    private static let system = "/etc/mpv/scripts/podfs.lua"

    /// The source, `podfs.lua`, for mpv's Lua API (mpv(1), LUA SCRIPTING). It starts podfs with an argument list,
    /// without a shell, and with the path after `--`. One process runs at a time, so that the reports arrive in order;
    /// only the last report, when the file is closed, does not wait for a running process.
    static let text = PackageResources.podfs_lua

    /// The script to install: it starts the podfs in PATH, or this program if PATH has none.
    private static func installedText() -> String {
        let text = String(decoding: text, as: UTF8.self)
        if Doctor.program("podfs") != nil { return text }
        guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
            !own.contains(where: { "\"\\\n".contains($0) })
        else { return text }
        return text.replacing("program = \"podfs\"", with: "program = \"\(own)\"")
    }

    /// Writes the script to the user's folder of mpv scripts, unless it is installed for all users.
    ///
    /// - Returns: The path of the installed script.
    static func install() throws -> String {
        // mpv would load both scripts, and report everything twice.
        if FileManager.default.fileExists(atPath: system) { return system }
        let environment = ProcessInfo.processInfo.environment
        let settings = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let own = environment["MPV_HOME"].flatMap { $0.isEmpty ? nil : $0 }
        let standard = (settings ?? (environment["HOME"] ?? NSHomeDirectory()) + "/.config") + "/mpv"
        let folder = (own ?? standard) + "/scripts"
        let path = folder + "/podfs.lua"
        let isOwn = FileManager.default.contents(atPath: path)?.starts(with: mark.utf8) ?? false
        if !isOwn, FileManager.default.fileExists(atPath: path) {
            throw CommandError(.failed, "\(path) is not podfs's script: move it away first")
        }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data(installedText().utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw CommandError(.failed, "\(path) cannot be written: \(error.localizedDescription)")
        }
        return path
    }
}
