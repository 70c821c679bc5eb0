internal import Foundation
internal import Glibc
internal import Logging
internal import PodcastLibrary
internal import TransferCore

extension CoreDriver {
    /// Starts a hook command with `sh -c`, without waiting for it. Its environment describes the episode, if there is
    /// one.
    func runHook(_ command: String?, episode: EpisodeID?) {
        guard let command, !command.isEmpty else { return }
        var environment = ProcessInfo.processInfo.environment
        if let episode, let row = try? library.episode(id: episode),
            let podcast = try? library.podcast(id: row.podcast)
        {
            environment["PODFS_ID"] = "\(row.id)"
            environment["PODFS_SHOW"] = podcast.name
            environment["PODFS_EPISODE"] = row.name
            environment["PODFS_TITLE"] = row.title
            environment["PODFS_URL"] = RedactedURL.withoutUserInfo(row.url)
        }
        if let code = HookProcess.start(command, environment: environment) {
            log.error("hook '\(command)' did not start: \(String(cString: strerror(code)))")
        }
    }
}
