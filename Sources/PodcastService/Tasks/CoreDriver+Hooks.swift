internal import DaemonCore
internal import Foundation
internal import Glibc
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import TransferCore

/// The hooks that run or wait. A feed that changes the guids of all its episodes has thousands of new ones.
struct HookQueue {
    /// The maximum number of hooks that run at the same time.
    static let limit = 8

    fileprivate var running = 0
    /// The hooks that wait, oldest first.
    fileprivate var waiting: [(command: String, episode: EpisodeID?)] = []
}

extension CoreDriver {
    /// Runs a hook command with `sh -c`, without waiting for its end. If too many run, it waits for its turn, and the
    /// daemon does not exit before it has begun.
    func runHook(_ command: String?, episode: EpisodeID?) {
        guard let command, !command.isEmpty else { return }
        let isFirst = hooks.waiting.isEmpty
        hooks.waiting.append((command, episode))
        if isFirst {
            report(.began)
            startHooks()
        }
    }

    private func startHooks() {
        if hooks.waiting.isEmpty { return }
        while hooks.running < HookQueue.limit, !hooks.waiting.isEmpty {
            let (command, episode) = hooks.waiting.removeFirst()
            startHook(command, episode)
        }
        if hooks.waiting.isEmpty { report(.finished) }
    }

    /// Logs the number of hooks that wait when the daemon exits.
    func dropHooks() {
        if !hooks.waiting.isEmpty { log.warning("\(hooks.waiting.count) hooks did not run, because the daemon exits") }
        hooks.waiting = []
    }

    /// Starts a hook. Its environment describes the episode, if there is one.
    private func startHook(_ command: String, _ episode: EpisodeID?) {
        var environment = ProcessInfo.processInfo.environment
        if let episode, let row = try? library.episode(id: episode),
            let podcast = try? library.podcast(id: row.podcast)
        {
            environment["PODFS_ID"] = "\(row.id)"
            environment["PODFS_SHOW"] = podcast.name
            environment["PODFS_EPISODE"] = row.name
            environment["PODFS_TITLE"] = row.title
            environment["PODFS_URL"] = WebAddress.withoutUserInfo(row.url)
        }
        hooks.running += 1
        let code = HookProcess.start(command, environment: environment) { [weak self] in
            startTask { self?.hookEnded() }
        }
        guard let code else { return }
        hooks.running -= 1
        log.error("hook '\(command)' did not start: \(errnoText(code))")
    }

    private func hookEnded() {
        hooks.running -= 1
        startHooks()
    }
}
