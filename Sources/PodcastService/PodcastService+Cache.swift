internal import ContentCache
internal import Logging
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage
internal import TransferCore
internal import TransferEngine

// What the cache keeps: within its limit and the disk's, the least recently opened goes first.
extension PodcastService {
    /// What is to have room beyond the bytes that are here, at the most: a few seconds of a fast link. The limits are
    /// looked at several times a second while bytes come, so that a whole episode need not fit at its beginning.
    private static let lookAhead: Int64 = 16 << 20
    /// How much more must be free than at a failed write until the next is tried: less would fill up in an instant.
    private static let worthTrying: Int64 = 8 << 20
    /// How often a full cache is looked at again, in seconds: other programs free space without a word to podfs.
    private static let recheckInterval: Int64 = 10

    /// Evicts until the limits hold, and lets transfers rest while they do not. Called whenever bytes have come, or may
    /// go.
    func makeRoom() {
        guard let disk = try? DiskSpace(at: FilePath(configuration.places.cache)) else { return }
        do {
            // Of what rests for want of space too: it decides whether there is enough to go on.
            let active = tasks.values.filter {
                $0.snapshot?.state == .running || $0.snapshot?.state == .queued || $0.snapshot?.error?.code == .diskFull
            }
            let wanted = active.reduce(Int64(0)) { sum, record in
                // No more is looked ahead than that: the sum of many large ones is no overflow.
                min(sum, Self.lookAhead)
                    + max(0, (record.snapshot?.total ?? record.guess ?? 0) - (record.snapshot?.received ?? 0))
            }
            let demand = EvictionPolicy.Demand(
                used: try usedBytes(), disk: disk, incoming: min(wanted, Self.lookAhead))
            if configuration.eviction.plan(for: demand, from: []).shortage == nil {
                return settle(nil, free: disk.free, freed: 0)
            }
            let renditions = try library.evictionCandidates()
            let candidates = renditions.map { rendition in
                EvictionPolicy.Candidate(
                    id: rendition.file, allocated: rendition.received, lastOpened: rendition.lastOpened,
                    isPlayed: rendition.played, isPinned: rendition.pinned,
                    isInTransfer: tasks[rendition.episode].map { $0.snapshot?.state != .failed } ?? false)
            }
            var eviction = configuration.eviction.eviction(for: demand, from: candidates)
            let episodes = Dictionary(renditions.map { ($0.file, $0.episode) }, uniquingKeysWith: { first, _ in first })
            while let candidate = eviction.next() {
                let isGone = try episodes[candidate.id].map { try evictByPolicy($0, file: candidate.id) } ?? false
                eviction.record(isGone ? .evicted : .inUse)
            }
            let freed = eviction.evicted.reduce(Int64(0)) { $0 + $1.allocated }
            // Nothing is to stay free: the disk itself tells when it is full. To stop before that, for what is only
            // foreseen, would leave the rest of it unused and a reader without the bytes that it has room for.
            if let shortage = eviction.shortage, shortage.isCacheFull || shortage.floor > 0 || disk.free + freed <= 0 {
                settle(shortage, free: disk.free, freed: freed)
            } else {
                settle(nil, free: disk.free, freed: freed)
            }
        } catch {
            log.error("\(error)")
        }
    }

    /// Decides whether transfers may write.
    private func settle(_ shortage: Shortage?, free: Int64, freed: Int64) {
        if let shortage {
            let reason = "no space left in the cache: \(shortage.description)"
            if storage.reason != reason || !storage.isFull { log.warning("\(reason)") }
            if !storage.isFull { engine.setStorageFull(TransferError(.diskFull, reason)) }
            storage.reason = reason
        } else if storage.isFull {
            // A write has failed although the limits hold: the disk has other bounds (a quota, blocks kept for root).
            if let failedAt = storage.freeAtFailure, free + freed < failedAt + Self.worthTrying {
                return recheckStorage()
            }
            storage = StorageState()
            engine.setStorageFull(nil)
            log.info("there is space in the cache again: transfers go on")
            return
        }
        if storage.isFull { recheckStorage() }
    }

    /// A write has failed for want of space.
    func storageIsFull(_ error: TransferError) {
        log.warning("\(error.message)")
        let free = (try? DiskSpace(at: FilePath(configuration.places.cache)))?.free ?? 0
        storage.reason = error.message
        storage.freeAtFailure = free
        makeRoom()
        recheckStorage()
    }

    private func recheckStorage() {
        storage.recheck = now() + Self.recheckInterval
        planUpkeep()
    }

    /// Bytes in the cache: as written down, and as heard since of what is in transfer.
    private func usedBytes() throws -> Int64 {
        var used = try library.cachedBytes()
        for record in tasks.values { used += max(0, (record.snapshot?.received ?? 0) - record.recordedBytes) }
        return used
    }

    /// - Returns: `false` when somebody has the file open.
    private func evictByPolicy(_ episode: Int64, file: String) throws -> Bool {
        guard try evict(file, of: episode) else { return false }
        let name = try library.episode(id: episode)?.name ?? file
        log.info("evicted \(name) to make room")
        broadcastChange(episode: episode)
        return true
    }

    /// Whether bytes may be written.
    struct StorageState {
        /// Why not.
        var reason: String?
        /// What was free when a write failed although the limits held.
        var freeAtFailure: Int64?
        /// When to look again.
        var recheck: Int64?

        var isFull: Bool { reason != nil }
    }
}
