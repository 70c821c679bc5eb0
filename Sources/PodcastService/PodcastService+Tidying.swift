internal import Logging
internal import Platform
internal import PodcastLibrary
internal import TransferCore
internal import TransferEngine

// What a refresh leads to: episodes that are no longer kept leave, and the newest are fetched ahead.
extension PodcastService {
    /// What a user set for one show.
    nonisolated func settings(of show: RefreshSubject) -> ShowSettings {
        show.settings.isEmpty ? ShowSettings() : ShowSettings(stored: show.settings)
    }

    /// What a user set for one show.
    nonisolated func settings(of podcast: ShowID) -> ShowSettings {
        ShowSettings(stored: (try? library.settings(of: podcast)) ?? [:])
    }

    /// Keeps what is to be kept of a show, and fetches its newest episodes ahead. What an earlier, narrower `keep` has
    /// buried comes back, as far as the feed lists it.
    func tidy(_ podcast: ShowID) throws {
        let settings = settings(of: podcast)
        let keep = settings.keep ?? configuration.keep
        let newest = settings.autoDownload ?? configuration.autoDownload
        let (automatic, _) = try library.marks(of: podcast)
        try bringBack(podcast, keep: keep)
        guard keep != .all || newest > 0 || !automatic.isEmpty else { return }
        let episodes = try retained(try library.episodes(of: podcast), of: podcast)
        let leaving = Retention(episodes, keep: keep, now: now()).rows
        if !leaving.isEmpty { try bury(leaving) }
        let plan = AutoDownload(
            episodes.filter { !leaving.contains($0.id) }, newest: newest, keep: keep, now: now())
        for episode in plan.enqueue {
            let download = try library.enqueue(
                episode: episode, session: Self.commonSession, automatic: true, now: now())
            if tasks[episode] == nil { tasks[episode] = try makeRecord(download) }
        }
        makeRoom()
        for episode in plan.enqueue { run(episode, priority: .automatic) }
        if !plan.cancel.isEmpty || !plan.evict.isEmpty { startTask { await $0.drop(plan) } }
    }

    private func bringBack(_ podcast: ShowID, keep: Keep) throws {
        let returning = try returning(to: podcast, keep: keep)
        if returning.isEmpty { return }
        try library.unbury(episodes: returning, now: now())
        refreshes.rhythms[podcast] = nil
        for episode in returning { broadcastChange(episode: episode) }
        log.info("\(returning.count) episodes are kept again")
    }

    /// The daemon begins: where the configuration's `keep` is another than before, what it keeps again comes back.
    func bringBackWhatIsKept() throws {
        let code = configuration.keep.code
        guard try library.notedKeep() != code else { return }
        for podcast in try library.podcastsWithBuriedEpisodes() {
            try bringBack(podcast, keep: settings(of: podcast).keep ?? configuration.keep)
        }
        try library.note(keep: code)
    }

    /// Ends and drops what was fetched ahead and is no longer among the newest. One that somebody has open stays.
    private func drop(_ plan: AutoDownload) async {
        do {
            for episode in plan.cancel { try await cancel(episode) }
            for episode in plan.evict {
                guard let row = try library.episode(id: episode), !row.pinned else { continue }
                if let problem = try await dropBytes(of: row) { log.debug("\(row.name) stays: \(problem)") }
                broadcastChange(episode: episode)
            }
        } catch {
            log.error("\(error)")
        }
    }

    /// Takes episodes out of the library; what a program reads at this moment stays readable for it.
    private func bury(_ episodes: [EpisodeID]) throws {
        takeEvents()
        for rendition in try library.bury(episodes: episodes, now: now()) { engine.removeFile(rendition.file) }
        refreshes.rhythms = [:]
        for episode in episodes {
            engine.forget(MediaID(episode))
            endTask(episode)
            broadcastChange(episode: episode)
        }
        log.info("\(episodes.count) episodes are no longer kept")
    }
}
