import Foundation
import Platform
import PodcastFilesystem
import PodcastPages

// The check of the D-Bus session bus, on which the daemon watches media players (MPRIS).
extension Doctor {
    private static let remedy = "mpv reports without it: podfs player mpv --install"

    /// Checks whether the session bus answers, and lists the players on it.
    func players() -> Finding {
        guard (try? installation.configuration().listening.mpris) ?? true else {
            return .ok("players", "listening.mpris is false: players on the session bus are not watched")
        }
        guard let address = SessionBus.address(ProcessInfo.processInfo.environment) else {
            return .ok("players", "there is no session bus, so players are not watched; \(Self.remedy)")
        }
        guard let names = PlayerList.names(at: address) else {
            return .warning(
                "players", "the session bus \(PlainText.oneLine(address)) does not answer", remedy: Self.remedy)
        }
        let seen =
            names.isEmpty
            ? "no player is on it now" : "on it now: " + names.map(PlainText.oneLine).joined(separator: ", ")
        return .ok("players", "the session bus answers; \(seen)")
    }
}
