internal import ContentCache
internal import DaemonCore
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import TransferCore
internal import TransferEngine

// Space in the cache: `StoragePolicy` decides. These functions collect its input and evict the files in its plans.
extension CoreDriver {
    /// Determines which downloads have space, and evicts files for them.
    ///
    /// - Parameter isProgress: whether the only change is that bytes have arrived. The plan is then kept if it allows
    ///   for them.
    func assessSpace(isProgress: Bool) {
        var evicted: [EpisodeID] = []
        var plan: StoragePlan?
        do {
            plan = try self.plan(isProgress: isProgress, evicted: &evicted)
        } catch {
            log.error("\(error)")
        }
        note(evicted.map { .evicted(MediaID($0)) } + [.planned(plan)])
    }

    /// - Returns: `nil` if the adopted plan is still valid, or the disk's free space is unknown.
    private func plan(isProgress: Bool, evicted: inout [EpisodeID]) throws -> StoragePlan? {
        guard let disk = try? DiskSpace(at: FilePath(configuration.places.cache)) else { return nil }
        let policy = core.space.policy
        var situation = try situation(disk)
        if isProgress, policy.holds(in: situation) { return nil }
        let episodes = try addFiles(to: &situation)
        var plan = policy.plan(for: situation)
        while let file = plan.evictions.first {
            if let episode = episodes[file], try evict(file, of: episode) {
                let name = try library.episode(id: episode)?.name ?? file
                log.info("evicted \(name) to make room")
                situation.remove(file)
                evicted.append(episode)
            } else {
                situation.setOpen(file)
            }
            plan = policy.plan(for: situation)
        }
        return plan
    }

    private func situation(_ disk: DiskSpace) throws -> StorageSituation {
        let tasks = core.tasks
        let open = tasks.downloads.isEmpty ? [] : Set(clients.openEpisodes.map { MediaID($0) })
        // Used space is the bytes recorded in the library plus those received since.
        return StorageSituation(
            used: try library.cachedBytes() + tasks.unrecordedBytes, diskTotal: disk.total, diskFree: disk.free,
            transfers: tasks.storageTransfers(open: open))
    }

    /// - Returns: the episode of each file, by file name.
    private func addFiles(to situation: inout StorageSituation) throws -> [String: EpisodeID] {
        let places = Dictionary(
            situation.transfers.enumerated().map { ($1.id.episode, $0) }, uniquingKeysWith: { first, _ in first })
        var episodes: [String: EpisodeID] = [:]
        for rendition in try library.evictionCandidates() {
            episodes[rendition.file] = rendition.episode
            if let place = places[rendition.episode], !rendition.complete {
                situation.transfers[place].file = rendition.file
            } else {
                let opened = WallTime.seconds(rendition.lastOpened)
                let completed = core.space.completions[MediaID(rendition.episode)]
                situation.files.append(
                    StorageFile(
                        id: rendition.file, bytes: rendition.received,
                        lastUse: max(opened, completed ?? opened), isPlayed: rendition.played))
            }
        }
        return episodes
    }

    /// Removes a cache file that no program reads; its episode is fetched again on demand.
    ///
    /// There is no suspension point between the check for readers and the cancellation of the transfer. A reader that
    /// opens the episode afterwards starts a new transfer.
    ///
    /// - Returns: `false` if a program has the file open; nothing is changed then.
    func evict(_ file: String, of episode: EpisodeID) throws -> Bool {
        // A reader acquires its lease on the file only when it receives the grant, so check granted opens as well.
        guard !clients.openEpisodes.contains(episode), engine.evictFile(file) else { return false }
        engine.forget(MediaID(episode))
        try library.dropRendition(episode: episode, now: now())
        return true
    }

    nonisolated static func error(_ reason: StorageShortage) -> TransferError {
        TransferError(.diskFull, "no space left in the cache: \(reason.description)")
    }

    func setAwaitsSpace(_ media: MediaID, _ reason: TransferError?) {
        let old = view.withLock { view in
            defer { view.spaceWaits[media] = reason }
            return view.spaceWaits[media]
        }
        engine.setAwaitsSpace(media, reason)
        if old == nil, let reason, let path = core.tasks.downloads[media]?.path {
            log.info("\(path) waits: \(reason.message)")
        }
    }
}
