internal import Platform
internal import Transfers

/// The policy that decides which downloads may write to the cache, which wait, and which files are evicted. Pure: it
/// performs no IO.
///
/// Space is *reserved*. A background download (no program has its file open) starts only if its whole size fits beside
/// the other reservations, if necessary after evictions. Downloads that do not fit wait. Otherwise the cache could fill
/// with partial files, none of which could be completed.
///
/// - A download whose file a program has open takes precedence. Its bytes may make the cache larger than `cache.limit`,
///   but the disk must keep its minimum free space.
/// - A download of unknown size reserves space as it grows, `growthReservation` bytes at a time.
/// - A download larger than `cache.limit` fails, unless a program has the file open.
/// - Files are evicted in this order: played files, then other files that are not being downloaded, then the partial
///   files of downloads. The first two groups are evicted least recently used first, the last lowest precedence first.
///   Open and pinned files are never evicted.
/// - A background download evicts no unplayed file that was opened or completed after the download was requested. So if
///   a show is larger than the cache, the episodes downloaded first stay, and the others wait.
///
/// The caller removes the files of a plan, then it calls `adopt`. If some files turn out to be open, the caller instead
/// marks them in a new snapshot, and computes a new plan.
struct StoragePolicy: Sendable {
    let limits: StorageLimits

    /// The adopted plan. A download of equal rank cannot take a reservation of this plan.
    private(set) var adopted = StoragePlan()
    /// The free space on the disk, in bytes, when a write failed for lack of space; `nil` if no write has failed since
    /// the last plan that permitted writes. More than this must be free before the next attempt.
    private(set) var freeAtFailedWrite: Int64?
    /// The number of bytes that have arrived since the plan was computed, or are needed beyond its reservations.
    private var newBytes: Int64 = 0
    /// The times at which downloads have completed since the daemon started. Their resolution is finer than that of the
    /// library, which stores seconds.
    private(set) var completions: [MediaID: WallTime] = [:]

    init(limits: StorageLimits = StorageLimits()) { self.limits = limits }

    /// The maximum number of bytes reserved in advance for a download of unknown size, or freed in advance for a
    /// download that a program has open and that does not fit as a whole. A fast link transfers them in a few seconds.
    static let lookAhead: Int64 = 16 << 20
    /// The number of bytes that must become free after a failed write before the next attempt. With fewer, the disk
    /// would be full again at once. Fewer are enough if the downloads that programs have open need
    /// fewer, or if no download is open and the reservations add up to fewer.
    static let minRegained: Int64 = 8 << 20

    /// The number of bytes reserved in advance for a download of unknown size: a twentieth of the cache's
    /// capacity, but at least 64 KiB and at most `lookAhead`.
    var growthReservation: Int64 { min(Self.lookAhead, max(64 << 10, limits.capacity / 20)) }

    /// Downloads that wait for space, with the reason.
    var waiting: [MediaID: StorageShortage] { adopted.waiting }

    /// Whether any download waits for space, or nothing may be written.
    var isBlocked: Bool { adopted.stopReason != nil || !waiting.isEmpty }

    mutating func completed(_ media: MediaID, at now: Moment) { completions[media] = now.wall }

    mutating func evicted(_ media: MediaID) { completions[media] = nil }

    /// Records a write that failed for lack of space, with the free space on the disk.
    mutating func writeFailed(free: Int64) { freeAtFailedWrite = max(0, free) }

    mutating func arrived(_ bytes: Int64) { newBytes += bytes }

    /// Computes the plan for a snapshot, from the adopted plan and the limits.
    func plan(for snapshot: StorageSnapshot) -> StoragePlan {
        var round = StorageRound(policy: self, snapshot: snapshot)
        return round.run()
    }

    /// Adopts a plan whose files have been removed.
    ///
    /// - Returns: the effects that carry it out: those of its differences from the previous plan, and one for each
    ///   download that can never fit.
    @discardableResult
    mutating func adopt(_ plan: StoragePlan) -> [Effect] {
        let (before, hadFailedWrite) = (adopted, freeAtFailedWrite != nil)
        adopted = plan
        newBytes = 0
        if plan.stopReason == nil { freeAtFailedWrite = nil }
        var effects: [Effect] = []
        // A reason whose numbers alone have changed is not reported again: thousands of downloads may wait.
        for (media, reason) in plan.waiting.sorted(by: { $0.key < $1.key })
        where before.waiting[media]?.limit != reason.limit {
            effects.append(.awaitSpace(media, reason))
        }
        for media in before.waiting.keys.sorted() where plan.waiting[media] == nil {
            effects.append(.awaitSpace(media, nil))
        }
        for (media, reason) in plan.failures.sorted(by: { $0.key < $1.key }) {
            effects.append(.exceedsSpace(media, reason))
        }
        if let stop = plan.stopReason {
            // If the disk refused a write, the engine has stopped writing by itself. So no effect is needed, unless the
            // previous plan had stopped writes for another reason.
            if (stop.limit == .write) != (before.stopReason.map { $0.limit == .write } ?? true) {
                effects.append(.stopWriting(stop))
            }
        } else if before.stopReason != nil || hadFailedWrite {
            // After a failed write the engine stopped by itself, even if the previous plan stopped nothing.
            effects.append(.stopWriting(nil))
        }
        return effects
    }

    /// Returns whether the adopted plan allows for the bytes that have arrived since it was computed, with this much
    /// space on the disk. If not, compute a new plan. Called for each report of progress, so it does not depend on the
    /// number of downloads and files.
    ///
    /// Bytes up to the sum of the reservations count as reserved, whichever download they belong to: they do not make
    /// the cache larger than the plan has allowed.
    func coversProgress(diskTotal: Int64, diskFree: Int64) -> Bool {
        guard adopted.stopReason == nil, freeAtFailedWrite == nil else { return false }
        let bytes = Int128(newBytes)
        let room = Int128(max(0, limits.capacity)) - adopted.used - bytes
        let free = Int128(diskFree) - Int128(limits.floor(total: diskTotal))
        guard adopted.exceedsLimits || room >= 0 && free >= 0 else { return false }
        let isReserved = bytes <= adopted.reservedBytes
        let outstanding = isReserved ? adopted.reservedBytes - bytes : adopted.reservedBytes
        return outstanding <= free && (isReserved || outstanding <= room)
    }
}

/// The decisions of the policy for one snapshot.
struct StoragePlan: Sendable, Equatable {
    /// The names of the files to evict, in order.
    var evictions: [String] = []
    var reserved: Set<MediaID> = []
    var waiting: [MediaID: StorageShortage] = [:]
    /// Downloads that can never fit.
    var failures: [MediaID: StorageShortage] = [:]
    /// The reason why nothing may be written, not even for a program that reads.
    var stopReason: StorageShortage?
    /// Whether a limit remains exceeded after all evictions: the remaining files are in use or pinned.
    var exceedsLimits = false
    /// Whether the space does not suffice for all downloads without evictions. If not, the plan is the same whether or
    /// not the snapshot contains the files.
    var lacksRoom = false
    /// The bytes in the cache after the evictions, and the bytes reserved beyond them.
    var used: Int128 = 0
    var reservedBytes: Int128 = 0
}

/// The maximum size of the cache, and the disk space to leave free; in bytes.
package struct StorageLimits: Sendable, Equatable {
    /// The maximum size of the cache; `cache.limit`.
    package var capacity: Int64

    /// The value of `cache.keep_free`; `nil` if it is not set.
    package var keepFree: Int64?

    /// The default capacity holds about 180 hours of speech at 128 kbit/s.
    package init(capacity: Int64 = 10 << 30, keepFree: Int64? = nil) {
        self.capacity = capacity
        self.keepFree = keepFree
    }

    /// Returns the free space to leave on a disk of `total` bytes.
    ///
    /// This is `cache.keep_free` if set. Otherwise it is 1 GiB or 5 %, whichever is less, so that a memory card of 8
    /// GiB has space for podcasts and a disk of 4 TiB does not lose 200 GiB. ext4 reserves a twentieth for root, too
    /// (mke2fs(8), -m).
    package func floor(total: Int64) -> Int64 {
        max(0, keepFree ?? min(1 << 30, total / 20))
    }
}
