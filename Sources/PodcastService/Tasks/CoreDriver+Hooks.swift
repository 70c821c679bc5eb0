internal import Foundation
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// The hooks that run or wait. A feed that changes the guids of all its episodes has thousands of new ones.
struct HookQueue {
    /// The maximum number of hooks that run at the same time.
    static let limit = 8

    fileprivate var running = 0
    /// The commands that wait, oldest first, with the variables that describe their episodes.
    fileprivate var waiting: [(command: String, variables: [String: String])] = []
}

extension CoreDriver {
    /// Runs a hook command with `sh -c`, without waiting for its end. Its environment describes the episode, if there
    /// is one. If too many run, it waits for its turn, and the daemon does not exit before it has begun.
    func runHook(_ command: String?, episode: EpisodeID?) {
        runHook(command, episode.map(variables) ?? [:])
    }

    /// Runs a hook command with these variables in its environment.
    func runHook(_ command: String?, _ variables: @autoclosure () -> [String: String]) {
        guard let command, !command.isEmpty else { return }
        let isFirst = hooks.waiting.isEmpty
        hooks.waiting.append((command, variables()))
        if isFirst {
            report(.began)
            startHooks()
        }
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
        if hooks.waiting.isEmpty { return }
        while hooks.running < HookQueue.limit, !hooks.waiting.isEmpty {
            let (command, variables) = hooks.waiting.removeFirst()
            let environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
            // The child inherits only standard error, which is the log.
            let shell = ProcessSpawner("/bin/sh", ["sh", "-c", command], environment: environment)
            do {
                let child = try shell.start()
                hooks.running += 1
                startThread("podfs-hook") { [weak self] in
                    _ = waitForExit(of: child)
                    startTask { self?.hookEnded() }
                }
            } catch {
                log.error("hook '\(command)' did not start: \(error)")
            }
        }
        if hooks.waiting.isEmpty { report(.finished) }
    }

    private func hookEnded() {
        hooks.running -= 1
        startHooks()
    }

    /// Logs the number of hooks that wait when the daemon exits.
    func dropHooks() {
        if !hooks.waiting.isEmpty { log.warning("\(hooks.waiting.count) hooks did not run, because the daemon exits") }
        hooks.waiting = []
    }
}
