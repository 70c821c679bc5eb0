package import TransferCore

/// The policy that decides which downloads may write to the cache, which wait, and which files are evicted. Pure: it
/// only computes.
///
/// Space is *reserved*. A background download starts only when its whole size fits, after eviction, beside the other
/// reservations; as many as fit are completed and the rest wait, with the reason. So downloads cannot fill the cache
/// with parts of which none can be completed.
///
/// - A download that a program reads takes precedence. It may exceed `cache.limit` down to the free space to leave on
///   the disk.
/// - A download of unknown size reserves space as it grows.
/// - A file larger than `cache.limit` fails, unless it is read.
/// - Files are evicted in this order: played ones, the least recently used, then parts that nobody reads, the
///   lowest-ranked first. Open and pinned files are never evicted.
/// - A background download evicts no unplayed file that was opened or completed after the download was requested: of a
///   show larger than the cache the first episodes stay, and the others wait.
///
/// The owner removes the files of a plan one by one, updates the situation (a file that turns out to be open is marked
/// as such) and plans again until there is no eviction left, then calls `adopt`:
///
///     var plan = policy.plan(for: situation)
///     while let file = plan.evictions.first {
///         if remove(file) { situation.remove(file) } else { situation.setOpen(file) }
///         plan = policy.plan(for: situation)
///     }
///     policy.adopt(plan)
package struct StoragePolicy: Sendable, Equatable {
    package let limits: StorageLimits

    /// Downloads with a reservation, which equally ranked ones cannot take away.
    package private(set) var reserved: Set<MediaID> = []
    /// Downloads that wait for space, with the reason.
    package private(set) var waiting: [MediaID: StorageShortage] = [:]
    /// The reason why nothing may be written at all.
    package private(set) var stop: StorageShortage?
    /// The free space on the disk at a failed write within the limits: more than this must be free before the next
    /// attempt.
    package private(set) var freeAtFailedWrite: Int64?

    package init(limits: StorageLimits = StorageLimits()) { self.limits = limits }

    /// The advance reservation of a download of unknown size, or of one that does not fit: a few seconds of a fast
    /// link.
    static let lookAhead: Int64 = 16 << 20
    /// The additional free space needed after a failed write before the next attempt: less would fill up at once.
    static let worthTrying: Int64 = 8 << 20

    /// The growth reserved by a download of unknown size: at most a twentieth of a small cache.
    var growth: Int64 { min(Self.lookAhead, max(64 << 10, limits.capacity / 20)) }

    /// Whether any download waits for space.
    package var isBlocked: Bool { stop != nil || !waiting.isEmpty }

    /// Records a write that failed for lack of space, with the free space on the disk.
    package mutating func writeFailed(free: Int64) { freeAtFailedWrite = max(0, free) }

    /// Computes the plan for a situation.
    package func plan(for situation: StorageSituation) -> StoragePlan {
        var round = StorageRound(policy: self, situation: situation)
        return round.run()
    }

    /// Adopts a plan whose files have been removed.
    package mutating func adopt(_ plan: StoragePlan) {
        reserved = plan.reserved
        waiting = plan.waiting
        stop = plan.stop
        if stop == nil { freeAtFailedWrite = nil }
    }

    /// Whether the adopted plan is still valid and needs no eviction. A fast check for progress events; the situation
    /// may omit the files.
    package func holds(in situation: StorageSituation) -> Bool {
        guard stop == nil else { return false }
        let plan = plan(for: situation)
        return plan.evictions.isEmpty && plan.failures.isEmpty && plan.stop == nil && plan.reserved == reserved
            && plan.waiting.count == waiting.count && plan.waiting.keys.allSatisfy { waiting[$0] != nil }
    }
}

/// The result of a decision.
package struct StoragePlan: Sendable, Equatable {
    /// The names of the files to evict, in order.
    package var evictions: [String] = []
    package var reserved: Set<MediaID> = []
    package var waiting: [MediaID: StorageShortage] = [:]
    /// Downloads that can never fit.
    package var failures: [MediaID: StorageShortage] = [:]
    /// The reason why nothing may be written, not even for a program that reads.
    package var stop: StorageShortage?
    /// The limits do not hold whatever goes: the rest is open or pinned.
    package var exceedsLimits = false
}
