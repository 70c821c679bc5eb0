internal import Foundation
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

extension CoreDriver {
    /// The maximum number of hooks that run at the same time.
    nonisolated static let mostHooks = 8

    /// Runs a hook command with `sh -c`, without waiting for its end. Its environment describes the episode, if there
    /// is one. If too many run, it waits for its turn, and the daemon does not exit before it has begun.
    func runHook(_ command: String?, episode: EpisodeID?) {
        runHook(command, episode.map(variables) ?? [:])
    }

    /// Runs a hook command with these variables in its environment.
    func runHook(_ command: String?, _ variables: @autoclosure () -> [String: String]) {
        guard let command, !command.isEmpty else { return }
        if hooks.waiting.isEmpty { report(.began) }
        hooks.waiting.append((command, variables()))
        startHooks()
    }

    private func variables(of episode: EpisodeID) -> [String: String] {
        guard let row = try? library.episode(id: episode), let show = try? library.folder(id: row.podcast) else {
            return [:]
        }
        return [
            "PODFS_ID": "\(row.id)", "PODFS_SHOW": show.name, "PODFS_EPISODE": row.name, "PODFS_TITLE": row.title,
            "PODFS_URL": WebAddress.withoutUserInfo(row.url),
        ]
    }

    private func startHooks() {
        while hooks.running < Self.mostHooks, !hooks.waiting.isEmpty {
            let (command, variables) = hooks.waiting.removeFirst()
            if hooks.waiting.isEmpty { report(.finished) }
            let environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
            // The child inherits only standard error, which is the log.
            let shell = ProcessSpawner("/bin/sh", ["sh", "-c", command], environment: environment)
            do {
                let child = try shell.start()
                hooks.running += 1
                startThread("podfs-hook") { [weak self] in
                    _ = waitForExit(of: child)
                    startTask {
                        self?.hooks.running -= 1
                        self?.startHooks()
                    }
                }
            } catch {
                log.error("hook '\(command)' did not start: \(error)")
            }
        }
    }
}
