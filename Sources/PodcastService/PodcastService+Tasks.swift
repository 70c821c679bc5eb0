internal import Foundation
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import TransferCore
internal import TransferEngine

// What people and programs do with tasks and cached bytes.
extension PodcastService {
    func taskList() -> [TaskInfo] {
        let downloads = tasks.values.map(info)
        let others = Array(refreshing.values) + feeds.tasks + uploads.values.map(Self.info)
        return (downloads + others).sorted { $0.id < $1.id }
    }

    /// Whether a download waits for space, as last decided.
    func waitsForSpace(_ episode: EpisodeID) -> Bool { spaceWaits.withLock { $0[episode] != nil } }

    func info(_ record: TaskRecord) -> TaskInfo {
        let state = record.snapshot?.state ?? .queued
        var info = TaskInfo(
            id: record.download.id, kind: .download, path: record.path, episode: record.download.episode,
            state: state, received: record.snapshot?.received ?? 0, expected: record.snapshot?.total,
            rate: record.snapshot?.rate,
            error: record.snapshot?.error?.message ?? (state == .failed ? record.download.error : nil),
            started: record.download.created)
        if waitsForSpace(record.download.episode) { info.waitsForSpace = true }
        return info
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
                broadcastChange(episode: id)
            }
        }
        return .acted(count: count, problems: problems)
    }

    /// - Returns: why it could not be done.
    private func act(_ action: TaskAction, on episode: Episode) async throws -> String? {
        switch action {
        case .download, .resume:
            if episode.complete { return nil }
            run(episode.id)
        case .suspend:
            if episode.complete { return "it is cached already" }
            try begin(episode.id, asked: moment)
            try setSuspended(episode.id, true)
            applySuspension(of: episode.id)
        case .cancel:
            let hasTask = tasks[episode.id] != nil
            try await cancel(episode.id)
            // An open that was refused makes no task; who was told of the failure keeps it until told otherwise.
            if !hasTask, !episode.complete { broadcast(event(.state, episode.id, .remote, nil)) }
            try library.decline(episode: episode.id)
        case .evict:
            return try await evict(episode)
        case .pin, .unpin:
            try library.setPinned(episode: episode.id, action == .pin, now: now())
        }
        return nil
    }

    /// Makes sure that an episode has a task that people can see.
    private func begin(_ episode: EpisodeID, asked: Duration) throws {
        let download = try library.enqueue(episode: episode, session: Self.commonSession, now: now())
        try register(download, asked: asked)
    }

    /// A person wants the whole of these episodes: one decision says which have space.
    private func begin(_ episodes: [EpisodeID]) throws {
        let asked = moment
        for id in episodes {
            guard let episode = try library.episode(id: id), !episode.complete else { continue }
            try begin(id, asked: asked)
            try setSuspended(id, false)
        }
        makeRoom()
    }

    /// Takes a download into the list. One that had failed is as one that has not begun: it asks for space again.
    func register(_ download: Download, asked: Duration) throws {
        let episode = download.episode
        if tasks[episode] == nil { tasks[episode] = try makeRecord(download) }
        tasks[episode]?.download = download
        tasks[episode]?.asked = asked
        guard tasks[episode]?.snapshot?.state == .failed else { return }
        tasks[episode]?.snapshot?.state = .queued
        tasks[episode]?.snapshot?.error = nil
    }

    /// A person's suspension: it is written down, and outlives the daemon.
    private func setSuspended(_ episode: EpisodeID, _ suspended: Bool) throws {
        guard let id = tasks[episode]?.download.id else { return }
        try library.setSuspended(download: id, suspended)
        tasks[episode]?.download.suspended = suspended
        // Until the engine reports it.
        if suspended { tasks[episode]?.snapshot?.state = .suspended }
    }

    /// Ends a task for everybody; what has arrived stays. Had everything arrived, the task ends as one that completes.
    func cancel(_ episode: EpisodeID) async throws {
        guard await engine.cancel(MediaID(episode)) else { return }
        holds.withLock { $0.forget(episode) }
        try await removeTask(episode)
    }

    private func evict(_ episode: Episode) async throws -> String? {
        if episode.pinned { return "it is pinned; podfs unpin first" }
        let problem = try await dropBytes(of: episode)
        if problem == nil { try library.decline(episode: episode.id) }
        return problem
    }

    /// Removes what is cached of an episode, and ends its task.
    ///
    /// - Returns: why it could not be done; nothing has happened then.
    func dropBytes(of episode: Episode) async throws -> String? {
        takeEvents()
        let isOpen = "it is open in a program; close it first"
        guard let rendition = try library.rendition(of: episode.id) else {
            // A reader may have been given the first bytes before the library heard of the file.
            return openEpisodes().contains(episode.id) ? isOpen : nil
        }
        guard try evict(rendition.file, of: episode.id) else { return isOpen }
        try await removeTask(episode.id)
        return nil
    }

    /// Removes a cache file that nobody reads; its episode is fetched anew when it is wanted again.
    ///
    /// No wait between the look at who reads and the end of the transfer: a reader that comes now begins anew.
    ///
    /// - Returns: `false` when somebody has it open; nothing has happened then.
    func evict(_ file: String, of episode: EpisodeID) throws -> Bool {
        // A reader who was given the first bytes has no lease on the file until he knows of it.
        guard !openEpisodes().contains(episode), engine.evictFile(file) else { return false }
        engine.forget(MediaID(episode))
        try library.dropRendition(episode: episode, now: now())
        return true
    }

    /// Forgets a task that the engine has been told to end.
    ///
    /// After what the engine has said of it until then: an older report would make the task anew.
    func removeTask(_ episode: EpisodeID) async throws {
        _ = await engine.snapshots()
        await withCheckedContinuation { continuation in
            events.put(.marker { continuation.resume() })
        }
        if let download = try library.download(of: episode) { try library.removeDownload(id: download.id) }
        endTask(episode)
    }

    /// Takes a task out of the list and tells those who watch, unless the engine's own report has done so.
    func endTask(_ episode: EpisodeID) {
        guard let record = tasks.removeValue(forKey: episode) else { return }
        broadcast(event(.state, episode, .remote, record))
        if record.isUnderWay { taskEnded() }
    }
}
