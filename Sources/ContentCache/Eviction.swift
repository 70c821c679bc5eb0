/// One round of eviction: hands out files until both limits of the policy hold.
///
/// Played files go first, then the others; among each the least recently opened first, and what is equal in the order
/// given. Pinned files and those in transfer are never handed out. Whether a file is open only its lease tells: a
/// file that turns out to be open is passed over, and the next takes its place.
///
///     var eviction = policy.eviction(for: demand, from: candidates)
///     while let candidate = eviction.next() {
///         eviction.record(cache.evict(candidate.id) ? .evicted : .inUse)
///     }
///     if let shortage = eviction.shortage { … stop writing … }
///
/// What cannot be helped is not tried: when even all files together would not make room for what is to come, they stay,
/// and only as many go as the limits need without it.
package struct Eviction: Sendable {
    /// How the removal of a file ended.
    package enum Result: Sendable {
        case evicted
        /// Somebody has it open: its lease was refused.
        case inUse
    }

    private let policy: EvictionPolicy
    private let demand: EvictionPolicy.Demand
    /// Those that may go and have not been handed out, the first to go at the end.
    private var remaining: [EvictionPolicy.Candidate]
    /// Handed out, and not reported yet.
    private var current: EvictionPolicy.Candidate?

    // 128 bits, here and below, because no sum of sizes overflows them whatever a file system reports.
    private var freed: Int128 = 0
    /// What `remaining` would free.
    private var potential: Int128

    package private(set) var evicted: [EvictionPolicy.Candidate] = []
    /// Files that were open.
    package private(set) var passedOver: [EvictionPolicy.Candidate] = []

    init(policy: EvictionPolicy, demand: EvictionPolicy.Demand, candidates: [EvictionPolicy.Candidate]) {
        self.policy = policy
        self.demand = demand
        remaining = candidates.enumerated().filter(\.element.mayGo).sorted { first, second in
            let (a, b) = (first.element, second.element)
            if a.isPlayed != b.isPlayed { return b.isPlayed }
            if a.lastOpened != b.lastOpened { return a.lastOpened > b.lastOpened }
            return first.offset > second.offset
        }.map(\.element)
        potential = remaining.reduce(0) { $0 + Int128($1.allocated) }
    }

    /// The file to remove now; `nil` when enough are gone, or none is left whose removal helps.
    ///
    /// The same one until `record` has told what became of it.
    package mutating func next() -> EvictionPolicy.Candidate? {
        if let current { return current }
        guard freed < goal, let candidate = remaining.popLast() else { return nil }
        potential -= Int128(candidate.allocated)
        current = candidate
        return candidate
    }

    /// Tells what became of the file that `next` gave.
    package mutating func record(_ result: Result) {
        guard let candidate = current else { return }
        current = nil
        switch result {
        case .evicted:
            freed += Int128(candidate.allocated)
            evicted.append(candidate)
        case .inUse:
            passedOver.append(candidate)
        }
    }

    /// Why writing must stop, as things stand; `nil` when both limits hold with what is to come. Ask when `next` has
    /// given `nil`.
    package var shortage: Shortage? {
        let overLimit = overCapacity(with: demand.incoming) - freed > 0
        let overFloor = overFloor(with: demand.incoming) - freed > 0
        guard overLimit || overFloor else { return nil }
        let gone = Int64(clamping: freed)
        return Shortage(
            isCacheFull: overLimit, isDiskFull: overFloor,
            used: max(0, demand.used.subtractingClamped(gone)), capacity: policy.capacity,
            free: demand.disk.free.addingClamped(gone), floor: policy.floor(total: demand.disk.total),
            isFloorChosen: policy.keepFree != nil, incoming: demand.incoming)
    }

    /// Bytes that this round is to free in all.
    private var goal: Int128 {
        let needed = max(overCapacity(with: demand.incoming), overFloor(with: demand.incoming))
        guard needed > 0 else { return 0 }
        if freed + potential >= needed { return needed + Int128(policy.headroom) }
        return max(overCapacity(with: 0), overFloor(with: 0), 0)
    }

    private func overCapacity(with incoming: Int64) -> Int128 {
        Int128(demand.used) + Int128(max(0, incoming)) - Int128(max(0, policy.capacity))
    }

    private func overFloor(with incoming: Int64) -> Int128 {
        Int128(policy.floor(total: demand.disk.total)) - Int128(demand.disk.free) + Int128(max(0, incoming))
    }
}

extension Int64 {
    fileprivate func addingClamped(_ other: Int64) -> Int64 { Int64(clamping: Int128(self) + Int128(other)) }
    fileprivate func subtractingClamped(_ other: Int64) -> Int64 { Int64(clamping: Int128(self) - Int128(other)) }
}
