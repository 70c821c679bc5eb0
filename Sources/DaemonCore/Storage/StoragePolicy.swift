package import TransferCore

/// Who may write to the cache, who waits, and which files leave it. Pure: computes, removes nothing.
///
/// Space is *reserved*. A background download begins only when its whole size fits, after eviction, beside what the
/// others have reserved; as many as fit become whole and the rest wait, with the reason. So downloads cannot fill the cache
/// with parts of which none can be finished.
///
/// - A download that a program reads outranks all others. It may exceed `cache.limit` down to what is to stay free on the
///   disk.
/// - A size that nobody tells is reserved as the file grows.
/// - A file that alone exceeds `cache.limit` fails, unless it is read.
/// - Files go in this order: played ones, the least recently used, then parts that nobody reads, the least wanted first.
///   Open and pinned files never go.
/// - A background download evicts no unplayed file that was opened, or became whole, after somebody asked for the download:
///   of a show that is larger than the cache the first episodes stay, and the others wait.
///
/// The owner removes the files of a plan one by one, changes the situation accordingly (a file that turns out to be open
/// is marked as such) and plans again until nothing is left to remove, then calls `adopt`:
///
///     var plan = policy.plan(for: situation)
///     while let file = plan.evictions.first {
///         if remove(file) { situation.remove(file) } else { situation.setOpen(file) }
///         plan = policy.plan(for: situation)
///     }
///     policy.adopt(plan)
package struct StoragePolicy: Sendable, Equatable {
    package let limits: StorageLimits

    /// Downloads that have their space: they keep it while others that count for no more ask.
    package private(set) var reserved: Set<MediaID> = []
    /// Downloads that wait for space, and why.
    package private(set) var waiting: [MediaID: StorageShortage] = [:]
    /// Why nothing at all may be written.
    package private(set) var stop: StorageShortage?
    /// What was free on the disk when a write failed although the limits held: more than this has to be free again.
    package private(set) var freeAtFailedWrite: Int64?

    package init(limits: StorageLimits = StorageLimits()) { self.limits = limits }

    /// What a download of unknown size, or one that cannot be stored whole, has in advance: a few seconds of a fast link.
    static let lookAhead: Int64 = 16 << 20
    /// How much more must be free than at a failed write until the next is tried: less would fill up in an instant.
    static let worthTrying: Int64 = 8 << 20

    /// What a download of unknown size reserves beyond what it has: a twentieth of a small cache.
    var growth: Int64 { min(Self.lookAhead, max(64 << 10, limits.capacity / 20)) }

    /// Whether anything waits for space.
    package var isBlocked: Bool { stop != nil || !waiting.isEmpty }

    /// A write has failed for want of space; so much was free on the disk.
    package mutating func writeFailed(free: Int64) { freeAtFailedWrite = max(0, free) }

    /// What is to be done now, as far as the situation tells.
    package func plan(for situation: StorageSituation) -> StoragePlan {
        var round = StorageRound(policy: self, situation: situation)
        return round.run()
    }

    /// The files of the plan have been removed, and it holds from now on.
    package mutating func adopt(_ plan: StoragePlan) {
        reserved = plan.reserved
        waiting = plan.waiting
        stop = plan.stop
        if stop == nil { freeAtFailedWrite = nil }
    }

    /// Whether what was last adopted still holds and needs no eviction. For the many times when nothing but progress was
    /// heard: the situation may leave out the files.
    package func holds(in situation: StorageSituation) -> Bool {
        guard stop == nil else { return false }
        let plan = plan(for: situation)
        return plan.evictions.isEmpty && plan.failures.isEmpty && plan.stop == nil && plan.reserved == reserved
            && plan.waiting.count == waiting.count && plan.waiting.keys.allSatisfy { waiting[$0] != nil }
    }
}

/// The outcome of a decision.
package struct StoragePlan: Sendable, Equatable {
    /// The names of the files to remove, the first to go first.
    package var evictions: [String] = []
    package var reserved: Set<MediaID> = []
    package var waiting: [MediaID: StorageShortage] = [:]
    /// Downloads that can never fit.
    package var failures: [MediaID: StorageShortage] = [:]
    /// Why nothing may be written, not even for a program that reads.
    package var stop: StorageShortage?
}
