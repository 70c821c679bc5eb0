internal import ContentCache
internal import DaemonCore
internal import Foundation
internal import Logging
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import TransferCore
internal import TransferEngine

// Space in the cache: `StoragePolicy` decides, this asks it and does what it says.
extension PodcastService {
    /// How often a full cache is looked at again, in seconds: other programs free space without a word to podfs.
    private static let recheckInterval: Int64 = 10

    /// What the service knows of the space beside the library.
    struct StorageState {
        var policy: StoragePolicy
        /// When episodes became whole in this run; since 1970. Finer than the library's seconds.
        var completions: [EpisodeID: Duration] = [:]
        /// Downloads that the last decision let fail.
        var failed: Set<EpisodeID> = []
        /// When to look again.
        var recheck: Int64?

        init(limits: StorageLimits) { policy = StoragePolicy(limits: limits) }
    }

    /// Whether something waits for space.
    var lacksSpace: Bool { storage.policy.isBlocked }

    /// Now, since 1970: what is compared with the moment at which somebody asked for a download.
    nonisolated var moment: Duration { .milliseconds(Int64(Date().timeIntervalSince1970 * 1_000)) }

    /// Decides anew which downloads have space, evicts for them, and tells the engine.
    ///
    /// - Parameter isProgress: nothing has happened but that bytes have come. Returns soon where they were foreseen.
    func makeRoom(isProgress: Bool = false) {
        guard let disk = try? DiskSpace(at: FilePath(configuration.places.cache)) else { return }
        do {
            var situation = try situation(disk)
            if isProgress, storage.policy.holds(in: situation) { return }
            let episodes = try addFiles(to: &situation)
            var plan = storage.policy.plan(for: situation)
            var interrupted: Set<EpisodeID> = []
            while let file = plan.evictions.first {
                if let episode = episodes[file], try evictByPolicy(episode, file: file) {
                    situation.remove(file)
                    if tasks[episode] != nil { interrupted.insert(episode) }
                } else {
                    situation.setOpen(file)
                }
                plan = storage.policy.plan(for: situation)
            }
            adopt(plan)
            for episode in interrupted { restart(episode) }
        } catch {
            log.error("\(error)")
        }
    }

    // MARK: What is there

    private func situation(_ disk: DiskSpace) throws -> StorageSituation {
        let open = tasks.isEmpty ? [] : openEpisodes()
        let transfers = tasks.values.compactMap { record -> StorageTransfer? in
            guard let snapshot = record.snapshot, snapshot.state != .failed else { return nil }
            let episode = record.download.episode
            let isHeld = record.download.suspended || holds.withLock { $0.isHeld(episode) }
            return StorageTransfer(
                id: MediaID(episode), number: record.download.id, asked: record.asked, received: snapshot.received,
                expected: snapshot.total ?? record.guess, isConfirmed: snapshot.total != nil,
                isAutomatic: record.download.automatic && snapshot.priority == .automatic,
                isRead: open.contains(episode), isWanted: !isHeld && !snapshot.isWaitingForConditions,
                isRetrying: snapshot.isRetrying)
        }
        return StorageSituation(
            used: try usedBytes(), diskTotal: disk.total, diskFree: disk.free, transfers: transfers)
    }

    /// - Returns: the episodes of the files.
    private func addFiles(to situation: inout StorageSituation) throws -> [String: EpisodeID] {
        let places = Dictionary(
            situation.transfers.enumerated().map { ($1.id.episode, $0) }, uniquingKeysWith: { first, _ in first })
        var episodes: [String: EpisodeID] = [:]
        for rendition in try library.evictionCandidates() {
            episodes[rendition.file] = rendition.episode
            if let place = places[rendition.episode], !rendition.complete {
                situation.transfers[place].file = rendition.file
            } else {
                situation.files.append(
                    StorageFile(
                        id: rendition.file, bytes: rendition.received,
                        lastUse: max(
                            .seconds(rendition.lastOpened), storage.completions[rendition.episode] ?? .zero),
                        isPlayed: rendition.played))
            }
        }
        return episodes
    }

    /// Bytes in the cache: as written down, and as heard since of what is in transfer.
    private func usedBytes() throws -> Int64 {
        var used = try library.cachedBytes()
        for record in tasks.values { used += max(0, (record.snapshot?.received ?? 0) - record.recordedBytes) }
        return used
    }

    // MARK: What follows

    /// - Returns: `false` when somebody has the file open.
    private func evictByPolicy(_ episode: EpisodeID, file: String) throws -> Bool {
        guard try evict(file, of: episode) else { return false }
        storage.completions[episode] = nil
        let name = try library.episode(id: episode)?.name ?? file
        log.info("evicted \(name) to make room")
        broadcastChange(episode: episode)
        return true
    }

    private func adopt(_ plan: StoragePlan) {
        let before = storage.policy
        storage.policy.adopt(plan)
        storage.failed = Set(plan.failures.keys.map(\.episode))
        for (id, reason) in plan.waiting { setAwaitsSpace(id.episode, Self.error(reason)) }
        for id in before.waiting.keys where plan.waiting[id] == nil { setAwaitsSpace(id.episode, nil) }
        for (id, reason) in plan.failures { engine.exceedsSpace(id, Self.error(reason)) }
        if let stop = plan.stop {
            if stop != before.stop { log.warning("\(Self.error(stop).message)") }
            // Where the disk has refused a write the engine has found it out itself, and may try again.
            if !stop.isWriteRefused, before.stop == nil || before.stop?.isWriteRefused == true {
                engine.setStorageFull(Self.error(stop))
            }
        } else if before.stop != nil {
            engine.setStorageFull(nil)
            log.info("there is space in the cache again: transfers go on")
        }
        guard storage.policy.isBlocked else { return }
        storage.recheck = now() + Self.recheckInterval
        planUpkeep()
    }

    private static func error(_ reason: StorageShortage) -> TransferError {
        TransferError(.diskFull, "no space left in the cache: \(reason.description)")
    }

    private func setAwaitsSpace(_ episode: EpisodeID, _ reason: TransferError?) {
        let old = spaceWaits.withLock { waits in
            defer { waits[episode] = reason }
            return waits[episode]
        }
        guard old != reason else { return }
        engine.setAwaitsSpace(MediaID(episode), reason)
        if old == nil, let reason, let path = tasks[episode]?.path { log.info("\(path) waits: \(reason.message)") }
    }

    /// What has come of a download was evicted: the download begins anew when it has space.
    private func restart(_ episode: EpisodeID) {
        tasks[episode]?.snapshot?.received = 0
        tasks[episode]?.recordedBytes = 0
        applySuspension(of: episode)
    }

    /// A write has failed for want of space.
    func storageIsFull(_ error: TransferError) {
        log.warning("\(error.message)")
        let free = (try? DiskSpace(at: FilePath(configuration.places.cache)))?.free ?? 0
        storage.policy.writeFailed(free: free)
        makeRoom()
    }
}
