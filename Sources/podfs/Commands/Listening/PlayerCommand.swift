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
            let resumes = try installation.configuration().listening.resume
            let report = ListeningReport(
                episode: episode, source: .script, process: process, player: player, phase: phase,
                position: position, duration: duration, rate: rate)
            let resume = try await installation.perform(.report(report)) { reply in
                if case .listening(let resume) = reply { .some(resume) } else { nil }
            }
            if let resume, resumes { Terminal.print("\(resume)") }
        }
    }
}
