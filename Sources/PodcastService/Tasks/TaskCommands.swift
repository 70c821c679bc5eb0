internal import DaemonCore
internal import Foundation
internal import Logging
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// Commands on downloads and cached bytes. TaskCommands+Sessions.swift has the commands on the sessions of client
/// programs.
@ServiceActor
final class TaskCommands: ServicePart {
    nonisolated let context: ServiceContext
    let driver: CoreDriver

    init(_ driver: CoreDriver) {
        context = driver.context
        self.driver = driver
    }

    var downloads: [MediaID: DownloadTask] { driver.core.tasks.downloads }

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

    func act(_ action: TaskAction, on episodes: [EpisodeID]) async throws -> Reply {
        var count = 0
        var problems: [String] = []
        if action == .download || action == .resume { try begin(episodes) }
        for id in episodes {
            guard let episode = try library.episode(id: id) else {
                problems.append("episode \(id) is no longer in the library")
                continue
            }
            if let problem = try await act(action, on: episode) {
                problems.append("\(episode.name): \(problem)")
            } else {
                count += 1
                driver.changed(episode: id)
            }
        }
        return .acted(count: count, problems: problems)
    }

    /// Starts full downloads of these episodes, with one decision about space for all of them.
    private func begin(_ episodes: [EpisodeID]) throws {
        try driver.change { batch in
            for id in episodes {
                guard let episode = try library.episode(id: id), !episode.complete, !episode.isStream else { continue }
                try begin(id, &batch)
                try batch.handle(.suspended(MediaID(id), false))
                try batch.handle(.wanted(MediaID(id), .asked))
            }
        }
    }

    /// Ensures that an episode has a task, and that the task does not end when a client disconnects.
    private func begin(_ episode: EpisodeID, _ batch: inout CoreDriver.Batch) throws {
        let row = try library.enqueue(episode: episode, session: ClientSession.common, now: now())
        guard let task = try driver.task(of: row) else { return }
        try batch.handle(.registered(task, asked: batch.moment.wall))
    }

    /// - Returns: an error message, or `nil`.
    private func act(_ action: TaskAction, on episode: Episode) async throws -> String? {
        let media = MediaID(episode.id)
        if episode.isStream, [.download, .resume, .suspend].contains(action) { return StreamPlaylist.notAFile.message }
        switch action {
        // `begin(_:)` has already started these downloads.
        case .download, .resume: break
        case .suspend:
            if episode.complete { return "it is already cached" }
            try driver.change { batch in
                try begin(episode.id, &batch)
                try batch.handle(.suspended(media, true))
            }
        case .cancel:
            let hasTask = downloads[media] != nil
            try await cancel(episode.id)
            // If there is no task, clients may still display the failure of an open: clear it.
            if !hasTask, !episode.complete { driver.report(.cleared(media)) }
            try library.decline(episode: episode.id)
        case .evict: return try await evict(episode)
        case .pin, .unpin: try library.setPinned(episode: episode.id, action == .pin, now: now())
        }
        return nil
    }

    /// Cancels a task for all clients and retains the bytes received. If all bytes have arrived, the task completes
    /// instead.
    func cancel(_ episode: EpisodeID) async throws {
        guard await engine.cancel(MediaID(episode)) else { return }
        try await removeTask(episode)
    }

    private func evict(_ episode: Episode) async throws -> String? {
        if episode.pinned { return "it is pinned; unpin it first with podfs unpin" }
        let problem = try await dropBytes(of: episode)
        if problem == nil { try library.decline(episode: episode.id) }
        return problem
    }

    /// Removes the cache file of an episode, and cancels the episode's task. Does nothing if there is no cache file.
    ///
    /// - Returns: an error message if a program has the episode open, else `nil`.
    func dropBytes(of episode: Episode) async throws -> String? {
        driver.drainEvents()
        let isOpen = "it is open in a program; close it first"
        // A program may have the episode open, and have read its first bytes, before there is a cache file.
        guard let rendition = try library.rendition(of: episode.id) else {
            return driver.clients.openEpisodes.contains(episode.id) ? isOpen : nil
        }
        guard try driver.evict(rendition.file, of: episode.id) else { return isOpen }
        try await removeTask(episode.id)
        return nil
    }

    /// Removes a task whose transfer the engine has cancelled.
    ///
    /// Drains the engine's event queue first, because a queued event would create the task again.
    func removeTask(_ episode: EpisodeID) async throws {
        await engine.rounds()
        await withCheckedContinuation { continuation in
            driver.events.enqueue(.marker { continuation.resume() })
        }
        try driver.change { batch in
            if let download = try library.download(of: episode) { try library.removeDownload(id: download.id) }
            try batch.handle(.ended(MediaID(episode)))
        }
    }

    /// Updates the paths of a show's tasks after the show or an episode was renamed.
    func renameTasks(of podcast: ShowID) throws {
        guard let show = try library.podcast(id: podcast) else { return }
        for task in downloads.values where task.show == podcast {
            guard let place = try library.place(of: task.media.episode) else { continue }
            driver.report(.renamed(task.media, path: "\(show.name)/\(place.name)"))
        }
    }
}
