internal import Platform
internal import Transfers

/// The adopted storage plan, and those inputs of the next plan that the library does not store.
struct SpaceKeeper: Sendable {
    private(set) var policy: StoragePolicy
    /// The times at which downloads have completed since the daemon started. Their resolution is finer than that of the
    /// library, which stores seconds.
    private(set) var completions: [MediaID: WallTime] = [:]
    /// Downloads that fail according to the last plan, because they can never fit.
    private(set) var rejected: Set<MediaID> = []

    /// The number of bytes that have arrived since the plan was computed, or are needed beyond its reservations.
    private var newBytes: Int64 = 0

    /// Whether a limit is still exceeded after the evictions of the last plan. If so, a file may be evicted as soon as
    /// it is closed.
    var exceedsLimits: Bool { policy.exceedsLimits }

    init(limits: StorageLimits) { policy = StoragePolicy(limits: limits) }

    /// Downloads that wait for space, with the reason.
    var waiting: [MediaID: StorageShortage] { policy.waiting }

    mutating func completed(_ media: MediaID, at now: Moment) { completions[media] = now.wall }

    mutating func evicted(_ media: MediaID) { completions[media] = nil }

    mutating func writeFailed(free: Int64) { policy.writeFailed(free: free) }

    mutating func arrived(_ bytes: Int64) { newBytes += bytes }

    /// Returns whether the plan allows for the bytes that have arrived since it was computed; see
    /// `StoragePolicy.covers`.
    func coversProgress(diskTotal: Int64, diskFree: Int64) -> Bool {
        policy.covers(newBytes, diskTotal: diskTotal, diskFree: diskFree)
    }

    /// Adopts a plan, and returns the effects that carry it out: those of its differences from the previous plan, and
    /// one for each download that can never fit.
    mutating func adopt(_ plan: StoragePlan) -> [Effect] {
        let before = policy
        policy.adopt(plan)
        newBytes = 0
        rejected = Set(plan.failures.keys)
        var effects: [Effect] = []
        // A reason whose numbers alone have changed is not reported again: thousands of downloads may wait.
        for (media, reason) in plan.waiting.sorted(by: { $0.key < $1.key })
        where before.waiting[media]?.isSameKind(as: reason) != true {
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
            let wasWriteRefused = before.stopReason?.isWriteRefused ?? true
            if stop.isWriteRefused != wasWriteRefused { effects.append(.stopWriting(stop)) }
        } else if before.stopReason != nil || before.freeAtFailedWrite != nil {
            // After a failed write the engine stopped by itself, even if the previous plan stopped nothing.
            effects.append(.stopWriting(nil))
        }
        return effects
    }
}
