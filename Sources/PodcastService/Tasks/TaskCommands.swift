internal import Foundation
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// Commands on downloads and cached bytes. TaskCommands+Sessions.swift has the commands on the sessions of client
/// programs.
@ServiceActor
final class TaskCommands: ServicePart {
    nonisolated let driver: CoreDriver

    init(_ driver: CoreDriver) { self.driver = driver }

    var downloads: DownloadTable { driver.core.tasks.downloads }

    /// Restores the downloads of the previous daemon.
    func start() throws {
        // These downloads end with their client's connection, and all clients were disconnected when the previous
        // daemon exited.
        for download in try library.downloads(session: ClientSession.clientBound) {
            try library.removeDownload(id: download.id)
        }
        let tasks = try library.downloads().sorted { $0.id < $1.id }.compactMap { try driver.task(of: $0) }
        // Downloads continue as far as there is space.
        try driver.change { batch in
            for task in tasks {
                try batch.handle(.registered(task, asked: nil))
                if let whole = try library.rendition(of: task.media.episode), whole.complete, let size = whole.size {
                    // The previous daemon was killed after this download had ended, before it removed the task.
                    try library.removeDownload(id: task.id)
                    try batch.handle(.completed(task.media, generation: whole.generation, size: size))
                    continue
                }
                guard task.snapshot.state != .failed, !task.isSuspended else { continue }
                try batch.handle(.wanted(task.media, task.isAutomatic ? .automatic : .asked))
            }
        }
    }

    /// The number of episodes on which a command acts in one transaction. Between two of them other work has its turn.
    private static let episodesPerTurn = 128

    func act(_ action: TaskAction, on ids: [EpisodeID]) async throws -> Reply {
        var count = 0
        var problems: [String] = []
        var rest = ids[...]
        while !rest.isEmpty {
            let turn = rest.prefix(Self.episodesPerTurn)
            rest = rest.dropFirst(turn.count)
            let episodes = try turn.compactMap { try library.episode(id: $0) }
            problems += Set(turn).subtracting(episodes.map(\.id)).sorted().map {
                "episode \($0) is no longer in the library"
            }
            let refused = try await act(action, on: episodes)
            let changed = episodes.filter { refused[$0.id] == nil }
            driver.report(changed.map { .changedEpisode($0.id) })
            count += changed.count
            problems += episodes.compactMap { episode in refused[episode.id].map { "\(episode.name): \($0)" } }
            await Task.yield()
        }
        return .acted(count: count, problems: problems)
    }

    /// - Returns: an error message for each episode for which the action failed.
    private func act(_ action: TaskAction, on episodes: [Episode]) async throws -> [EpisodeID: String] {
        var refused: [EpisodeID: String] = [:]
        for episode in episodes {
            if episode.isStream, [.download, .resume, .suspend].contains(action) {
                refused[episode.id] = StreamPlaylist.notAFile.message
            } else if episode.complete, action == .suspend {
                refused[episode.id] = "it is already cached"
            } else if episode.pinned, action == .evict {
                refused[episode.id] = "it is pinned; first: podfs set EPISODE pinned=false"
            } else if let archive = episode.archive, archive.isServed, action == .evict {
                refused[episode.id] = "it is in the archive and uses no space in the cache; its file is \(archive.path)"
            }
        }
        let accepted = episodes.filter { refused[$0.id] == nil }
        switch action {
        case .download, .resume, .suspend:
            try driver.change { batch in
                for episode in accepted {
                    // The new or cached file will be archived beside the defective one.
                    if action == .download || !episode.complete, episode.archive?.defect != nil {
                        try library.forgetArchived(episode.id)
                    }
                    if episode.complete { continue }
                    let media = MediaID(episode.id)
                    try driver.register(episode.id, asked: batch.moment.wall, &batch)
                    try batch.handle(.suspended(media, action == .suspend))
                    if action != .suspend { try batch.handle(.wanted(media, .asked)) }
                }
            }
        case .cancel:
            let others = accepted.filter { downloads[MediaID($0.id)] == nil && !$0.complete }
            try await cancel(accepted.map(\.id))
            // Without a task, clients may still display the failure of an open: clear it.
            driver.report(others.map { .cleared(MediaID($0.id)) })
            try library.decline(accepted.map(\.id))
        case .evict:
            refused.merge(try await dropBytes(of: accepted)) { reason, _ in reason }
            try library.decline(accepted.map(\.id).filter { refused[$0] == nil })
        case .pin, .unpin:
            try library.group {
                for episode in accepted {
                    try library.setPinned(episode: episode.id, action == .pin, now: now())
                }
            }
        }
        return refused
    }

    /// Cancels tasks for all clients and retains the bytes received. A task whose bytes have all arrived completes
    /// instead, and a task that is requested again meanwhile stays.
    func cancel(_ episodes: [EpisodeID]) async throws {
        driver.report(episodes.map { .cancelling(MediaID($0), true) })
        let completing = await engine.cancel(episodes.map { MediaID($0) })
        driver.report(completing.map { .cancelling($0, false) })
        try removeTasks(episodes.filter { !completing.contains(MediaID($0)) })
    }

    /// Removes the cache files of episodes, and cancels the episodes' tasks. Does nothing for an episode without a
    /// cache file.
    ///
    /// - Returns: an error message for each episode that a program has open.
    func dropBytes(of episodes: [Episode]) async throws -> [EpisodeID: String] {
        driver.drainEvents()
        let open = driver.clients.openEpisodes
        var (dropped, refused): ([EpisodeID], [EpisodeID]) = ([], [])
        try library.group {
            for episode in episodes {
                let rendition = try library.rendition(of: episode.id)
                // A program may have the episode open, and have read its first bytes, before there is a cache file.
                if open.contains(episode.id) {
                    refused.append(episode.id)
                } else if let rendition, rendition.archived == nil {
                    if try driver.evict(rendition.file, of: episode.id) {
                        dropped.append(episode.id)
                    } else {
                        refused.append(episode.id)
                    }
                }
            }
        }
        try await removeDiscarded(dropped)
        return Dictionary(uniqueKeysWithValues: refused.map { ($0, "it is open in a program; close it first") })
    }

    /// Removes the tasks of downloads that the engine has been told to discard. It sends one more report of each, which
    /// would create the task again.
    func removeDiscarded(_ episodes: [EpisodeID]) async throws {
        driver.report(episodes.map { .cancelling(MediaID($0), true) })
        // The engine answers after it has processed the earlier calls.
        await engine.rounds()
        try removeTasks(episodes)
    }

    /// Removes tasks that the engine has cancelled, after draining its reports of them. Those that were requested again
    /// meanwhile stay.
    private func removeTasks(_ episodes: [EpisodeID]) throws {
        let episodes = episodes.filter { downloads[MediaID($0)]?.isCancelling != false }
        driver.drainEvents()
        try driver.change { batch in
            for episode in episodes {
                if let download = try library.download(of: episode) { try library.removeDownload(id: download.id) }
                try batch.handle(.ended(MediaID(episode)))
            }
        }
    }

    /// Updates the paths of a show's tasks after the show or an episode was renamed.
    func renameTasks(of podcast: ShowID) throws {
        guard let show = try library.folder(id: podcast) else { return }
        driver.report(
            try downloads.values.filter { $0.show == podcast }.compactMap { task in
                try library.place(of: task.media.episode).map {
                    .renamed(task.media, path: "\(show.name)/\($0.name)")
                }
            })
    }
}
