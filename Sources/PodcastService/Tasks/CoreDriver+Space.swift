internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

// Space in the cache. `StoragePolicy` decides which downloads may use it and which files make room for them. These
// functions collect its input and evict the files that its plans name.
extension CoreDriver {
    /// The maximum number of files evicted at a time. After that the other work of the daemon has its turn: a lowered
    /// limit may evict thousands.
    private static let evictionsPerTurn = 8

    /// Determines which downloads have space, and evicts files for them.
    ///
    /// - Parameter isProgress: whether bytes have arrived since the last call and nothing else has changed. The current
    ///   plan then stays in force if it allows for these bytes.
    func assessSpace(isProgress: Bool) {
        if isEvicting {
            if !isProgress { isPlanOutdated = true }
            return
        }
        guard let disk = try? DiskSpace(at: FilePath(configuration.paths.cache)) else { return report(.planned(nil)) }
        if isProgress, core.space.coversProgress(diskTotal: disk.total, diskFree: disk.free) { return }
        let start = uptime
        if start < nextAssessment.earliest { return scheduleAssessment() }
        // With thousands of downloads and files an assessment takes milliseconds, and each of thousands of commands
        // needs one: they take a tenth of the time at most.
        defer { if uptime - start > .microseconds(200) { nextAssessment.earliest = uptime + (uptime - start) * 9 } }
        let isAssessed = attempt {
            let tasks = core.tasks
            let open = tasks.downloads.isEmpty ? [] : Set(clients.openEpisodes.map { MediaID($0) })
            // Used space is the bytes recorded in the library plus those received since.
            var snapshot = StorageSnapshot(
                used: try library.cachedBytes() + tasks.downloads.unrecordedBytes, diskTotal: disk.total,
                diskFree: disk.free, transfers: tasks.storageTransfers(open: open))
            var plan = core.space.plan(for: snapshot)
            var episodes: [String: EpisodeID] = [:]
            if plan.lacksRoom {
                episodes = try addFiles(to: &snapshot)
                snapshot.markOpen(leased)
                plan = core.space.plan(for: snapshot)
            }
            if plan.evictions.isEmpty { return adopt(plan) }
            isEvicting = true
            startTask { [self] in await evict(plan, of: episodes) }
        }
        if !isAssessed { adopt(nil) }
    }

    private func scheduleAssessment() {
        if nextAssessment.isScheduled { return }
        nextAssessment.isScheduled = true
        startTask { [weak self] in
            await Timers.sleep(for: (self?.nextAssessment.earliest ?? .start) - SystemClock.boottime.now)
            guard let self, isRunning else { return }
            nextAssessment.isScheduled = false
            assessSpace(isProgress: false)
        }
    }

    private func adopt(_ plan: StoragePlan?) {
        leased = []
        report(.planned(plan))
    }

    /// Evicts the files of a plan. If programs have some of them open, another plan without these files follows.
    ///
    /// - Parameter episodes: the episode of each file, by file name.
    private func evict(_ plan: StoragePlan, of episodes: [String: EpisodeID]) async {
        var open: Set<String> = []
        let isFailed = await !attemptAsync {
            var rest = plan.evictions[...]
            while !rest.isEmpty {
                let files = rest.prefix(Self.evictionsPerTurn)
                rest = rest.dropFirst(files.count)
                open.formUnion(try evict(files, of: episodes))
                await Task.yield()
            }
        }
        leased.formUnion(open)
        let isOutdated = isPlanOutdated
        (isEvicting, isPlanOutdated) = (false, false)
        if isOutdated || !isFailed && !open.isEmpty {
            assessSpace(isProgress: false)
        } else {
            adopt(isFailed ? nil : plan)
        }
    }

    /// Evicts files in one transaction.
    ///
    /// - Returns: the files that programs have open, which stay.
    private func evict(_ files: ArraySlice<String>, of episodes: [String: EpisodeID]) throws -> [String] {
        var open: [String] = []
        var evicted: [EpisodeID] = []
        try library.group {
            for file in files {
                guard let episode = episodes[file], try evict(file, of: episode) else {
                    open.append(file)
                    continue
                }
                evicted.append(episode)
                let name = try library.entry(id: episode)?.name ?? file
                log.info("evicted \(name) to make room")
            }
        }
        report(evicted.map { .evicted(MediaID($0)) })
        return open
    }

    /// Adds the files in the cache to a snapshot, except those of pinned episodes. An incomplete file whose episode has
    /// a transfer is recorded in that transfer instead.
    ///
    /// - Returns: the episode of each file, by file name.
    private func addFiles(to snapshot: inout StorageSnapshot) throws -> [String: EpisodeID] {
        let indices = Dictionary(
            snapshot.transfers.enumerated().map { ($1.id.episode, $0) }, uniquingKeysWith: { first, _ in first })
        var episodes: [String: EpisodeID] = [:]
        for rendition in try library.evictionCandidates() {
            episodes[rendition.file] = rendition.episode
            if let index = indices[rendition.episode], !rendition.complete {
                snapshot.transfers[index].file = rendition.file
            } else {
                let opened = WallTime.seconds(rendition.lastOpened)
                let completed = core.space.completions[MediaID(rendition.episode)]
                snapshot.files.append(
                    StorageFile(
                        id: rendition.file, bytes: rendition.received,
                        lastUse: max(opened, completed ?? opened), isPlayed: rendition.played))
            }
        }
        return episodes
    }

    /// Removes an episode's cache file unless a program has it open. A later read fetches the episode again.
    ///
    /// There is no suspension point between the check for readers and the cancellation of the transfer. A reader that
    /// opens the episode afterwards starts a new transfer.
    ///
    /// - Returns: `false` if a program has the file open; nothing is changed then.
    func evict(_ file: String, of episode: EpisodeID) throws -> Bool {
        // `evictFile` refuses a file on which a reader has a lease. A reader acquires the lease only after the daemon
        // has granted its open, so check the opens that are granted or pending as well.
        guard !clients.openEpisodes.contains(episode), engine.cache.evict(file) else { return false }
        engine.discard(MediaID(episode))
        try library.dropRendition(episode: episode, now: now())
        return true
    }

    nonisolated static func error(_ reason: StorageShortage) -> TransferError {
        TransferError(.diskFull, "no space left in the cache: \(reason.description)")
    }
}
