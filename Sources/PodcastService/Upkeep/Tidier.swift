internal import DaemonCore
internal import Logging
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore
internal import TransferEngine

/// Retention and automatic downloads: removes the episodes that `keep` excludes or that can no longer be read, and
/// downloads those that `auto_download` selects. Runs after a refresh of a show, after a change of its settings, and
/// after its episodes are played (`follow`).
@ServiceActor
final class Tidier: ServicePart {
    nonisolated let context: ServiceContext
    private let driver: CoreDriver
    private let tasks: TaskCommands
    /// Cached release rhythms of shows, with their expiry in seconds since 1970. Remove an entry when the show's
    /// episodes change.
    var rhythms: [ShowID: (rhythm: ReleaseRhythm, until: Int64)] = [:]

    init(_ tasks: TaskCommands) {
        context = tasks.context
        driver = tasks.driver
        self.tasks = tasks
    }

    /// Applies `keep` and `auto_download` to a show. Episodes that an earlier, narrower `keep` removed are restored if
    /// the feed lists them.
    func tidy(_ podcast: ShowID) throws {
        let settings = settings(of: podcast)
        let keep = settings.keep ?? configuration.keep
        let newest = settings.autoDownload ?? configuration.autoDownload
        let (automatic, _) = try library.marks(of: podcast)
        try restore(podcast, keep: keep)
        guard keep != .all || newest > 0 || !automatic.isEmpty else { return }
        let episodes = try retained(try library.episodes(of: podcast), of: podcast)
        let leaving = EpisodeRemovals(episodes, keep: keep, now: now()).removed
        if !leaving.isEmpty { try bury(leaving) }
        let plan = AutoDownload(
            episodes.filter { !leaving.contains($0.id) }, newest: newest,
            rules: settings.autoDownloadRules.completed(by: configuration.autoDownloadRules), keep: keep, now: now())
        try driver.change { batch in
            for episode in plan.enqueue {
                let row = try library.enqueue(
                    episode: episode, session: ClientSession.common, automatic: true, now: now())
                guard let task = try driver.task(of: row) else { continue }
                try batch.handle(.registered(task, asked: nil))
                try batch.handle(.wanted(task.media, .automatic))
            }
        }
        if !plan.cancel.isEmpty || !plan.evict.isEmpty { startTask { [self] in await drop(plan) } }
    }

    /// Tidies the show of an episode that was played, or marked as played or unplayed; see `follow(_: ShowID)`.
    func follow(_ episode: EpisodeID) throws {
        guard let show = try library.place(of: episode)?.podcast else { return }
        try follow(show)
    }

    /// Tidies a show whose episodes were played, or marked as played or unplayed. Does so only if the show has
    /// automatic downloads in the order `oldest_unplayed`, because only then does the change affect which episodes are
    /// next.
    func follow(_ show: ShowID) throws {
        let settings = settings(of: show)
        guard (settings.autoDownload ?? configuration.autoDownload) > 0,
            settings.autoDownloadRules.completed(by: configuration.autoDownloadRules).order == .oldestUnplayed
        else { return }
        try tidy(show)
    }

    private func restore(_ podcast: ShowID, keep: Keep) throws {
        let returning = try returning(to: podcast, keep: keep)
        if returning.isEmpty { return }
        try library.unbury(episodes: returning, now: now())
        rhythms[podcast] = nil
        driver.report(returning.map { .changedEpisode($0) })
        log.info("restored \(returning.count) episodes that keep now includes")
    }

    /// Restores removed episodes when the daemon starts, if the configuration's `keep` has changed and now retains
    /// them.
    func restoreKeptEpisodes() throws {
        let code = configuration.keep.code
        guard try library.recordedKeep() != code else { return }
        for podcast in try library.podcastsWithBuriedEpisodes() {
            try restore(podcast, keep: settings(of: podcast).keep ?? configuration.keep)
        }
        try library.record(keep: code)
    }

    /// Cancels or evicts automatic downloads that are no longer selected. Open files and pinned episodes stay.
    private func drop(_ plan: AutoDownload) async {
        do {
            for episode in plan.cancel { try await tasks.cancel(episode) }
            for episode in plan.evict {
                guard let row = try library.episode(id: episode), !row.pinned else { continue }
                if let problem = try await tasks.dropBytes(of: row) { log.debug("\(row.name) stays: \(problem)") }
                driver.changed(episode: episode)
            }
        } catch {
            log.error("\(error)")
        }
    }

    /// Removes episodes from all listings, and deletes their cache files. A program that has such a file open can
    /// continue to read it.
    private func bury(_ episodes: [EpisodeID]) throws {
        driver.drainEvents()
        let files = try library.files(of: episodes)
        for rendition in try library.bury(episodes: episodes, now: now()) { engine.removeFile(rendition.file) }
        rhythms = [:]
        for file in files { engine.discard(MediaID(file)) }
        driver.report(files.map { Input.ended(MediaID($0)) } + episodes.map { Input.changedEpisode($0) })
        log.info("removed \(episodes.count) episodes that keep excludes or that can no longer be read")
    }

    /// Returns the episodes of a show with the facts that retention needs.
    func retained(_ episodes: [Episode], of podcast: ShowID) throws -> [RetainedEpisode] {
        let (automatic, declined) = try library.marks(of: podcast)
        let open = driver.clients.openEpisodes
        return episodes.map { episode in
            RetainedEpisode(
                episode, isOpen: open.contains(episode.id) || hasLease(on: episode),
                isMediaGone: episode.download?.errorNumber == Int(TransferError(.missing, "").errorNumber),
                isAutomatic: automatic.contains(episode.id), isDeclined: declined.contains(episode.id))
        }
    }

    /// Returns the removed episodes of a show that are to be restored: its feed lists them, and the new `keep` retains
    /// them.
    func returning(to podcast: ShowID, keep: Keep) throws -> [EpisodeID] {
        let buried = try library.buriedEpisodes(of: podcast)
        if buried.isEmpty { return [] }
        let living = try library.episodes(of: podcast)
        let leaving = Set(EpisodeRemovals(try retained(living + buried, of: podcast), keep: keep, now: now()).removed)
        return buried.map(\.id).filter { !leaving.contains($0) }
    }

    /// Returns whether a mount has the cache file of an episode open, as the mount's lease on the file shows. The
    /// daemon may not know of the open: a mount needs no grant if the size is confirmed or the file is complete.
    private func hasLease(on episode: Episode) -> Bool {
        guard episode.cachedBytes > 0, let rendition = try? library.rendition(of: episode.id) else { return false }
        return engine.isRead(rendition.file)
    }
}
