internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import Transfers

// Space in the cache. `StoragePolicy` decides which downloads may use it and which files make room for them. These
// functions collect its input and evict the files that its plans name.
extension CoreDriver {
    /// The state of an eviction, which takes several turns if there are many files.
    enum Eviction {
        case none, running
        /// The demand for space has changed since the plan was computed, so another plan follows.
        case outdated
    }

    /// The earliest time of the next assessment. With thousands of downloads and files one takes milliseconds, and each
    /// of thousands of commands needs one: they take a tenth of the time at most.
    struct AssessmentPace {
        var earliest = Instant.start
        /// Whether an assessment will begin at `earliest`.
        var isScheduled = false

        /// Records an assessment. A short one delays no other.
        mutating func record(since start: Instant, until end: Instant) {
            if end - start > .microseconds(200) { earliest = end + (end - start) * 9 }
        }
    }

    /// The maximum number of files evicted at a time. After that the other work of the daemon has its turn: a lowered
    /// limit may evict thousands.
    private static let evictionsPerTurn = 8

    /// Determines which downloads have space, and evicts files for them.
    ///
    /// - Parameter isProgress: whether bytes have arrived since the last call and nothing else has changed. The current
    ///   plan then stays in force if it allows for these bytes.
    func assessSpace(isProgress: Bool) {
        if eviction != .none {
            if !isProgress { eviction = .outdated }
            return
        }
        guard let disk = try? DiskSpace(at: FilePath(configuration.paths.cache)) else { return report(.planned(nil)) }
        if isProgress, core.space.coversProgress(diskTotal: disk.total, diskFree: disk.free) { return }
        let start = uptime
        if start < pace.earliest { return scheduleAssessment(in: pace.earliest - start) }
        defer { pace.record(since: start, until: uptime) }
        do {
            var snapshot = try snapshot(disk)
            var plan = core.space.policy.plan(for: snapshot)
            var episodes: [String: EpisodeID] = [:]
            if plan.lacksRoom {
                episodes = try addFiles(to: &snapshot)
                plan = core.space.policy.plan(for: snapshot)
            }
            if plan.evictions.isEmpty { return report(.planned(plan)) }
            eviction = .running
            startTask { [self] in await evict(plan, from: snapshot, of: episodes) }
        } catch {
            log.error("\(error)")
            report(.planned(nil))
        }
    }

    private func scheduleAssessment(in pause: Duration) {
        if pace.isScheduled { return }
        pace.isScheduled = true
        startTask { [weak self] in
            await Timers.sleep(for: pause)
            guard let self, isRunning else { return }
            pace.isScheduled = false
            assessSpace(isProgress: false)
        }
    }

    /// Evicts the files of a plan, and computes another one without these files, until a plan needs no evictions.
    ///
    /// - Parameter episodes: the episode of each file, by file name.
    private func evict(_ first: StoragePlan, from snapshot: StorageSnapshot, of episodes: [String: EpisodeID]) async {
        var (next, snapshot): (StoragePlan?, StorageSnapshot) = (first, snapshot)
        do {
            while let plan = next, !plan.evictions.isEmpty {
                var rest = plan.evictions[...]
                var open: Set<String> = []
                while !rest.isEmpty {
                    let files = rest.prefix(Self.evictionsPerTurn)
                    rest = rest.dropFirst(files.count)
                    open.formUnion(try evict(files, of: episodes))
                    await Task.yield()
                }
                snapshot.remove(plan.evictions, open: open)
                next = core.space.policy.plan(for: snapshot)
            }
        } catch {
            log.error("\(error)")
            next = nil
        }
        let isOutdated = eviction == .outdated
        eviction = .none
        if isOutdated { assessSpace(isProgress: false) } else { report(.planned(next)) }
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

    private func snapshot(_ disk: DiskSpace) throws -> StorageSnapshot {
        let tasks = core.tasks
        let open = tasks.downloads.isEmpty ? [] : Set(clients.openEpisodes.map { MediaID($0) })
        // Used space is the bytes recorded in the library plus those received since.
        return StorageSnapshot(
            used: try library.cachedBytes() + tasks.unrecordedBytes, diskTotal: disk.total, diskFree: disk.free,
            transfers: tasks.storageTransfers(open: open))
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

    /// Records the reason why a download waits for space in the cache, and passes it to the engine.
    ///
    /// - Parameter reason: `nil` once the download has space.
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
