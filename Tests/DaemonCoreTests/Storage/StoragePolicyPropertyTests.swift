import Platform
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// Invariants of the policy over random, evolving caches: downloads start, progress and end; readers come and go.
struct StoragePolicyPropertyTests {
    @Test func nothingOpenOrPinnedIsLostAndTheLimitsHold() throws {
        var evictions = 0
        for seed in 0..<UInt64(300) {
            var cache = SimulatedCache(seed: seed)
            for _ in 0..<60 {
                cache.randomEvent()
                try cache.decide()
            }
            evictions += cache.evicted
        }
        // Without evictions the runs would prove nothing.
        #expect(evictions > 500)
    }

    /// Without further random events, each download in the end completes, fails, or waits because protected files leave
    /// too little space.
    @Test func everyDownloadEndsOrWaitsForProtectedFiles() throws {
        var (completions, waits, failures) = (0, 0, 0)
        for seed in 1_000..<UInt64(1_300) {
            var cache = SimulatedCache(seed: seed)
            for _ in 0..<40 {
                cache.randomEvent()
                try cache.decide()
            }
            cache.settleDown()
            try cache.decide()
            // Each iteration is a step of one download. 2,000 steps must be enough for all.
            for _ in 0..<2_000 where cache.progress() { try cache.decide() }
            let goesOn = cache.progress()
            #expect(!goesOn, "seed \(seed): it never ends")
            try cache.checkEnd()
            completions += cache.completed
            failures += cache.failed
            waits += cache.policy.waiting.count
        }
        #expect(completions > 1_000 && waits > 100 && failures > 10)
    }
}

/// A cache with a policy, and random events.
struct SimulatedCache {
    private let seed: UInt64
    private var random: SeededGenerator
    private(set) var policy: StoragePolicy
    private var transfers: [StorageTransfer] = []
    private var files: [StorageFile] = []
    /// The true sizes of the downloads.
    private var sizes: [MediaID: Int64] = [:]
    /// Files that were opened without a notification: only their leases show that they are open.
    private var leased: Set<String> = []
    private var pinned: Set<MediaID> = []
    private var others: Int64 = 0
    private var clock = 0
    private var last: Int64 = 0
    private let disk: Int64
    private(set) var evicted = 0
    private(set) var completed = 0
    private(set) var failed = 0

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        // Disk and capacity are larger than 64 KiB, the smallest reservation for a download of unknown size.
        disk = .random(in: 2_000_000...9_000_000, using: &random)
        policy = StoragePolicy(
            limits: StorageLimits(
                capacity: .random(in: 500_000...5_000_000, using: &random),
                keepFree: .random(in: 0...500_000, using: &random)))
    }

    private var used: Int64 { files.reduce(0) { $0 + $1.bytes } + transfers.reduce(0) { $0 + $1.received } }
    private var free: Int64 { disk - others - used }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private mutating func any(_ count: Int) -> Int? { count == 0 ? nil : Int.random(in: 0..<count, using: &random) }

    // MARK: Events

    mutating func randomEvent() {
        clock += 1
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<25: arrive()
        case 25..<70: for _ in 0..<3 { _ = progress() }
        case 70..<76: if let index = any(transfers.count) { transfers[index].isRead.toggle() }
        case 76..<80: if let index = any(transfers.count) { transfers[index].isWanted.toggle() }
        case 80..<83: if let index = any(transfers.count) { transfers[index].isRetrying.toggle() }
        case 83..<87: if let index = any(files.count) { files[index].isOpen.toggle() }
        case 87..<90: if let index = any(files.count) { files[index].isPlayed = true }
        case 90..<93: if let index = any(files.count) { leased.formSymmetricDifference([files[index].id]) }
        case 93..<95: others = .random(in: 0...disk / 2, using: &random)
        case 95..<97: if let index = any(transfers.count) { transfers.remove(at: index) }
        default: if let index = any(transfers.count) { transfers[index].asked = .seconds(clock) }
        }
    }

    private mutating func arrive() {
        last += 1
        let id = MediaID(last)
        let size = Int64.random(in: 1...2_000_000, using: &random)
        sizes[id] = size
        var transfer = StorageTransfer(
            id: id, number: TaskID(last), asked: .seconds(clock), expected: chance(70) ? size : nil,
            isAutomatic: chance(30), isRead: chance(10))
        // The size in the feed may be wrong.
        if transfer.expected == nil, chance(50) {
            transfer.expected = .random(in: 1...8_000_000, using: &random)
            transfer.isConfirmed = false
        }
        if chance(10) { pinned.insert(id) }
        transfers.append(transfer)
    }

    /// Adds bytes to a download that may write.
    ///
    /// - Returns: `false` if there is none.
    mutating func progress() -> Bool {
        guard policy.adopted.stopReason == nil else { return false }
        let movable = transfers.indices.filter { index in
            let transfer = transfers[index]
            return policy.adopted.reserved.contains(transfer.id)
                && (transfer.isRead || transfer.isWanted && !transfer.isRetrying)
        }
        guard let choice = any(movable.count) else { return false }
        let index = movable[choice]
        let id = transfers[index].id
        let size = sizes[id] ?? 1
        transfers[index].received = min(size, transfers[index].received + .random(in: 1...60_000, using: &random))
        transfers[index].file = pinned.contains(id) ? nil : "media \(id)"
        guard transfers[index].received == size else {
            // The response head has arrived, so the size may be confirmed.
            if chance(80), transfers[index].expected != nil { confirm(index, size) }
            return true
        }
        let transfer = transfers.remove(at: index)
        completed += 1
        files.append(
            StorageFile(
                id: "media \(id)", bytes: size, lastUse: .seconds(clock), isOpen: transfer.isRead || pinned.contains(id)
            ))
        return true
    }

    private mutating func confirm(_ index: Int, _ size: Int64) {
        transfers[index].expected = size
        transfers[index].isConfirmed = true
    }

    /// Lets servers recover, ends the reads of files that are being downloaded, and resumes suspended downloads.
    /// Complete files that are open, leased or pinned stay so.
    mutating func settleDown() {
        for index in transfers.indices {
            transfers[index].isRead = false
            transfers[index].isRetrying = false
            transfers[index].isWanted = true
            if transfers[index].expected != nil { confirm(index, sizes[transfers[index].id] ?? 1) }
        }
        others = 0
    }

    // MARK: Decisions

    private var snapshot: StorageSnapshot {
        StorageSnapshot(used: used, diskTotal: disk, diskFree: free, transfers: transfers, files: files)
    }

    private func check(_ holds: Bool, _ message: @autoclosure () -> String) throws {
        if !holds { throw CoreSimulation.Violation(description: "seed \(seed): \(message())") }
    }

    /// Plans, evicts and applies the plan like the policy's owner, and checks the result.
    mutating func decide() throws {
        var plan = policy.plan(for: snapshot)
        var open: Set<String> = []
        var rounds = 0
        while !plan.evictions.isEmpty {
            rounds += 1
            try check(rounds < 1_000, "evicts for ever")
            for file in plan.evictions where !leased.contains(file) { try remove(file) }
            if leased.isDisjoint(with: plan.evictions) { break }
            open.formUnion(leased.intersection(plan.evictions))
            var known = snapshot
            known.markOpen(open)
            plan = policy.plan(for: known)
        }
        policy.adopt(plan)
        try check(plan.reserved.isDisjoint(with: plan.waiting.keys), "reserved and waiting")
        for id in plan.failures.keys {
            guard let index = transfers.firstIndex(where: { $0.id == id }) else { continue }
            let gone = transfers.remove(at: index)
            failed += 1
            try check(!gone.isRead, "a file that is read has failed")
            try check(max(sizes[id] ?? 0, gone.received) > policy.limits.capacity, "one that fits has failed")
        }
        try checkReservations()
    }

    private mutating func remove(_ file: String) throws {
        evicted += 1
        if let index = files.firstIndex(where: { $0.id == file }) {
            let gone = files.remove(at: index)
            return try check(!gone.isOpen, "\(file) was lost")
        }
        guard let index = transfers.firstIndex(where: { $0.file == file }) else {
            throw CoreSimulation.Violation(description: "seed \(seed): \(file) is not there")
        }
        try check(!transfers[index].isRead && !pinned.contains(transfers[index].id), "\(file) was lost")
        transfers[index].received = 0
        transfers[index].file = nil
    }

    /// Checks that all downloads with a reservation and a confirmed size fit together, unless there is a reader or
    /// writing has stopped.
    private func checkReservations() throws {
        let admitted = transfers.filter { policy.adopted.reserved.contains($0.id) }
        guard !transfers.contains(where: \.isRead), policy.adopted.stopReason == nil else { return }
        var needed: Int64 = 0
        for transfer in admitted where transfer.isConfirmed {
            needed += max(0, (transfer.expected ?? 0) - transfer.received)
        }
        guard needed > 0 else { return }
        try check(used + needed <= policy.limits.capacity, "more is reserved than the limit allows")
        let floor = policy.limits.floor(total: disk)
        try check(free - needed >= floor, "more is reserved than the disk has")
    }

    /// Checks the final state: every download waits, unless writing has stopped. For a waiting download of known size,
    /// the free space, the evictable files and the partial files of other downloads together are too small.
    func checkEnd() throws {
        let areWaiting = transfers.allSatisfy { policy.waiting[$0.id] != nil || policy.adopted.stopReason != nil }
        try check(areWaiting, "some neither wait nor go on")
        if policy.adopted.stopReason != nil { return }
        for transfer in transfers {
            let isEvictable = files.filter { file in
                !file.isOpen && !leased.contains(file.id)
                    && (file.isPlayed || file.lastUse <= transfer.asked)
            }.reduce(Int64(0)) { $0 + $1.bytes }
            let parts = transfers.filter { $0.id != transfer.id && $0.file != nil }
                .reduce(Int64(0)) { $0 + $1.received }
            let floor = policy.limits.floor(total: disk)
            let room = min(policy.limits.capacity - used, free - floor) + isEvictable + parts
            let need = transfer.expected.map { $0 - transfer.received } ?? 1
            let isHelpless = need > room || transfer.expected == nil
            try check(isHelpless, "\(transfer.id) waits for \(need) and could have \(room)")
        }
    }
}
