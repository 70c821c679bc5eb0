internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// Retention and automatic downloads: removes the episodes that `keep` excludes or that can no longer be read, and
/// downloads those that `auto_download` selects. Runs after a refresh of a show, after a change of its settings, and
/// after its episodes are played (`follow`).
@ServiceActor
final class Tidier: ServicePart {
    nonisolated let driver: CoreDriver
    private let tasks: TaskCommands
    /// Called after each call of `tidy`.
    var tidied: (ShowID) -> Void = { _ in }
    /// Cached release rhythms of shows, with their expiry in seconds since 1970. Remove an entry when the show's
    /// episodes change.
    var rhythms: [ShowID: (rhythm: ReleaseRhythm, until: Int64)] = [:]

    init(_ tasks: TaskCommands) {
        driver = tasks.driver
        self.tasks = tasks
    }

    /// Applies `keep` and `auto_download` to a show. Episodes that an earlier, narrower `keep` removed are restored if
    /// the feed lists them.
    ///
    /// - Parameter isChanged: Whether the feed or a setting may have changed, and not only the time.
    func tidy(_ podcast: ShowID, isChanged: Bool = true) throws {
        defer { if isChanged { tidied(podcast) } }
        let settings = settings(of: podcast)
        let keep = settings.keep ?? configuration.keep
        let newest = settings.autoDownload ?? configuration.autoDownload
        guard try keep != .all || newest > 0 || library.hasRetention(podcast) else { return }
        let (staying, leaving) = try divide(podcast, keep)
        try restore(staying, to: podcast)
        let removed = leaving.filter { !$0.isBuried }.map(\.id)
        if !removed.isEmpty { try bury(removed) }
        let plan = AutoDownload(
            staying, newest: newest,
            rules: settings.autoDownloadRules.completed(by: configuration.autoDownloadRules), keep: keep, now: now())
        try driver.change { batch in
            for episode in plan.enqueue {
                try driver.register(episode, isAutomatic: true, &batch)
                try batch.handle(.wanted(MediaID(episode), .automatic))
            }
        }
        if !plan.cancel.isEmpty || !plan.evict.isEmpty {
            driver.startWork { [self] in try await drop(plan, of: podcast) }
        }
    }

    /// Divides the episodes of a show, and the buried ones that its feed lists, into those that `keep` retains and
    /// those that it excludes or that can no longer be read.
    func divide(
        _ podcast: ShowID, _ keep: Keep
    ) throws -> (staying: [RetainedEpisode], leaving: [RetainedEpisode]) {
        let open = driver.clients.openEpisodes
        var episodes = try RetainedEpisode.all(of: podcast, in: library)
        for index in episodes.indices { episodes[index].isOpen = open.contains(episodes[index].id) }
        while true {
            let leaving = Set(keep.removals(from: episodes, now: now()))
            // The question opens the file, so only those that would be removed are asked for.
            let leased = episodes.indices.filter { leaving.contains(episodes[$0].id) && hasLease(on: episodes[$0]) }
            for index in leased { episodes[index].isOpen = true }
            guard leased.isEmpty else { continue }
            return (episodes.filter { !leaving.contains($0.id) }, episodes.filter { leaving.contains($0.id) })
        }
    }

    /// Restores the buried ones of these episodes.
    private func restore(_ episodes: [RetainedEpisode], to podcast: ShowID) throws {
        let returning = episodes.filter(\.isBuried).map(\.id)
        if returning.isEmpty { return }
        try library.unbury(episodes: returning, now: now())
        rhythms[podcast] = nil
        driver.report(returning.map { .changedEpisode($0) } + [.changedText])
        log.info("restored \(returning.count) episodes that keep now includes")
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

    /// Restores removed episodes when the daemon starts, if the configuration's `keep` has changed and now retains
    /// them.
    func restoreKeptEpisodes() throws {
        let code = Int64(bitPattern: FNV1a.hash64(configuration.keep.description.utf8))
        guard try library.recordedKeep() != code else { return }
        for podcast in try library.podcastsWithBuriedEpisodes() {
            let keep = settings(of: podcast).keep ?? configuration.keep
            try restore(try divide(podcast, keep).staying, to: podcast)
        }
        try library.record(keep: code)
    }

    /// Cancels or evicts automatic downloads that are no longer selected. Open files and pinned episodes stay, and so
    /// do episodes that a person has requested since the plan was made.
    private func drop(_ plan: AutoDownload, of podcast: ShowID) async throws {
        func automatic(_ episodes: [EpisodeID]) throws -> [Episode] {
            let facts = try RetainedEpisode.all(of: podcast, in: library)
            let chosen = Set(episodes)
            let automatic = facts.filter { chosen.contains($0.id) && $0.isAutomatic && !$0.pinned && !hasLease(on: $0) }
            return try automatic.compactMap { try library.episode(id: $0.id) }
        }
        try await tasks.cancel(try automatic(plan.cancel).map(\.id))
        let evicted = try automatic(plan.evict)
        for (episode, problem) in try await tasks.dropBytes(of: evicted) {
            log.debug("episode \(episode) stays: \(problem)")
        }
        driver.report(evicted.map { .changedEpisode($0.id) })
    }

    /// Removes episodes from all listings, and deletes their cache files. A program that has such a file open can
    /// continue to read it.
    private func bury(_ episodes: [EpisodeID]) throws {
        driver.drainEvents()
        let files = try library.files(of: episodes)
        for rendition in try library.bury(episodes: episodes, now: now()) { engine.cache.remove(rendition.file) }
        rhythms = [:]
        for file in files { engine.discard(MediaID(file)) }
        driver.report(files.map { Input.ended(MediaID($0)) } + episodes.map { Input.changedEpisode($0) })
        log.info("removed \(episodes.count) episodes that keep excludes or that can no longer be read")
    }

    /// Returns whether a mount has the cache file of an episode open, as the mount's lease on the file shows. The
    /// daemon may not know of the open: a mount needs no grant if the size is confirmed or the file is complete.
    private func hasLease(on episode: RetainedEpisode) -> Bool { episode.file.map(engine.cache.hasReader) ?? false }
}
