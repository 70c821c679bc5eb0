package import Platform
package import TransferCore

/// The adopted storage plan, and the inputs of the next plan that the library does not store.
package struct SpaceKeeper: Sendable {
    package private(set) var policy: StoragePolicy
    /// When each episode was completed in this run; finer than the library's seconds.
    package private(set) var completions: [MediaID: WallTime] = [:]
    /// Downloads that the last plan failed, because they can never fit.
    private(set) var hopeless: Set<MediaID> = []

    /// Whether the last plan could not restore the limits: files that are closed may then be evicted.
    var exceedsLimits: Bool { policy.exceedsLimits }

    init(limits: StorageLimits) { policy = StoragePolicy(limits: limits) }

    /// Downloads that wait for space, with the reason.
    package var waiting: [MediaID: StorageShortage] { policy.waiting }

    mutating func completed(_ media: MediaID, at now: Moment) { completions[media] = now.wall }

    mutating func evicted(_ media: MediaID) { completions[media] = nil }

    mutating func writeFailed(free: Int64) { policy.writeFailed(free: free) }

    /// Adopts a plan, and returns the effects of its differences from the last one.
    mutating func adopt(_ plan: StoragePlan) -> [Effect] {
        let before = policy
        policy.adopt(plan)
        hopeless = Set(plan.failures.keys)
        var effects: [Effect] = []
        for (media, reason) in plan.waiting.sorted(by: { $0.key < $1.key }) where before.waiting[media] != reason {
            effects.append(.awaitSpace(media, reason))
        }
        for media in before.waiting.keys.sorted() where plan.waiting[media] == nil {
            effects.append(.awaitSpace(media, nil))
        }
        for (media, reason) in plan.failures.sorted(by: { $0.key < $1.key }) {
            effects.append(.exceedsSpace(media, reason))
        }
        if let stop = plan.stop {
            // After a refused write the engine itself detects free space and retries.
            if !stop.isWriteRefused, before.stop == nil || before.stop?.isWriteRefused == true {
                effects.append(.stopWriting(stop))
            }
        } else if before.stop != nil || before.freeAtFailedWrite != nil {
            // The engine stopped at the failed write, even if the plan has freed space since.
            effects.append(.stopWriting(nil))
        }
        return effects
    }
}
