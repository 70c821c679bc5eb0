import ContentCache
import Testing

struct EvictionPolicyTests {
    private typealias Candidate = EvictionPolicy.Candidate

    private static let mebibyte: Int64 = 1 << 20
    private static let gibibyte: Int64 = 1 << 30
    /// So much space that only the cache's own limit counts.
    private static let roomyDisk = DiskSpace(total: 1 << 40, free: 1 << 39)

    /// Sizes in these tests are small: the headroom is a twentieth of the capacity.
    private let policy = EvictionPolicy(capacity: 1_000, keepFree: 100)

    private func demand(used: Int64, free: Int64 = 1 << 39, incoming: Int64 = 0) -> EvictionPolicy.Demand {
        EvictionPolicy.Demand(used: used, disk: DiskSpace(total: 1 << 40, free: free), incoming: incoming)
    }

    private func candidate(
        _ id: String, _ allocated: Int64 = 100, opened: Int64 = 0, played: Bool = false, pinned: Bool = false,
        inTransfer: Bool = false
    ) -> Candidate {
        Candidate(
            id: id, allocated: allocated, lastOpened: opened, isPlayed: played, isPinned: pinned,
            isInTransfer: inTransfer)
    }

    // MARK: Limits

    @Test func nothingIsEvictedWhileBothLimitsHold() {
        let plan = policy.plan(for: demand(used: 900, free: 200, incoming: 100), from: [candidate("a")])
        #expect(plan.victims.isEmpty)
        #expect(plan.shortage == nil)
    }

    @Test func oneByteOverTheCapacityEvicts() {
        let plan = policy.plan(for: demand(used: 900, incoming: 101), from: [candidate("a"), candidate("b")])
        #expect(plan.victims.map(\.id) == ["a"])
        #expect(plan.shortage == nil)
    }

    @Test func oneByteBelowTheFloorEvicts() {
        let plan = policy.plan(
            for: demand(used: 500, free: 199, incoming: 100), from: [candidate("a"), candidate("b")])
        #expect(plan.victims.map(\.id) == ["a"])
        #expect(plan.shortage == nil)
    }

    @Test func theStricterOfBothLimitsDecides() {
        let files = (0..<9).map { candidate("\($0)", 100, opened: $0) }
        // 50 over the capacity, 300 below the floor, and 50 of headroom.
        let plan = policy.plan(for: demand(used: 1_050, free: -200), from: files)
        #expect(plan.victims.map(\.id) == ["0", "1", "2", "3"])
        #expect(plan.shortage == nil)
    }

    @Test func theDefaultsAreTenGibibytesAndOneFree() {
        let policy = EvictionPolicy()
        #expect(policy.capacity == 10 * Self.gibibyte)
        #expect(policy.keepFree == nil)
        #expect(policy.floor(total: 10 * Self.gibibyte) == Self.gibibyte / 2)
        #expect(policy.floor(total: 20 * Self.gibibyte) == Self.gibibyte)
        #expect(policy.floor(total: 100 * Self.gibibyte) == Self.gibibyte)
    }

    @Test(arguments: [0, 1 << 20, 1 << 30, 3 << 30] as [Int64])
    func whoSetsTheFloorGetsIt(keepFree: Int64) {
        let policy = EvictionPolicy(keepFree: keepFree)
        #expect(policy.floor(total: 8 * Self.gibibyte) == keepFree)
        #expect(policy.floor(total: 1000 * Self.gibibyte) == keepFree)
    }

    // MARK: Headroom

    @Test func aRoundServesSeveralWrites() {
        // Ten files of 100 in a cache of 1,000; writes of 10, of which the headroom of 50 serves more than one.
        var files = (0..<10).map { candidate("\($0)", 40, opened: $0) }
        var used: Int64 = 1_000
        var rounds = 0
        for _ in 0..<20 {
            let plan = policy.plan(for: demand(used: used, incoming: 10), from: files)
            #expect(plan.shortage == nil)
            if !plan.victims.isEmpty { rounds += 1 }
            files.removeAll { file in plan.victims.contains { $0.id == file.id } }
            used += 10 - plan.victims.reduce(0) { $0 + $1.allocated }
        }
        // 200 bytes came; each round makes room for at least 60 of them.
        #expect((2...4).contains(rounds))
    }

    @Test func theHeadroomIsBoundedForLargeCachesAndSmallOnes() {
        #expect(EvictionPolicy().headroom == 256 * Self.mebibyte)
        #expect(EvictionPolicy(capacity: 100 * Self.mebibyte).headroom == 5 * Self.mebibyte)
        #expect(EvictionPolicy(capacity: 0).headroom == 0)
        #expect(EvictionPolicy(capacity: -1).headroom == 0)
    }

    @Test func missingHeadroomIsNoShortage() {
        let plan = policy.plan(for: demand(used: 1_000, incoming: 100), from: [candidate("a", 100)])
        #expect(plan.victims.map(\.id) == ["a"])
        #expect(plan.shortage == nil)
    }

    // MARK: Order

    @Test func playedGoFirstThenTheLeastRecentlyOpened() {
        let files = [
            candidate("new", opened: 9), candidate("old", opened: 1), candidate("new played", opened: 8, played: true),
            candidate("old played", opened: 2, played: true), candidate("old too", opened: 1),
        ]
        let plan = policy.plan(for: demand(used: 1_450), from: files)
        #expect(plan.victims.map(\.id) == ["old played", "new played", "old", "old too", "new"])
    }

    @Test func pinnedFilesAndThoseInTransferStay() {
        let files = [
            candidate("pinned", 5_000, played: true, pinned: true),
            candidate("arriving", 5_000, played: true, inTransfer: true), candidate("empty", 0, played: true),
            candidate("other", opened: 5),
        ]
        let plan = policy.plan(for: demand(used: 2_000), from: files)
        #expect(plan.victims.map(\.id) == ["other"])
        #expect(plan.shortage?.isCacheFull == true)
        #expect(plan.shortage?.used == 1_900)
    }

    // MARK: Files that are open

    @Test func anOpenFileIsPassedOverForTheNext() {
        let files = (0..<4).map { candidate("\($0)", 100, opened: $0) }
        var eviction = policy.eviction(for: demand(used: 1_100), from: files)
        #expect(eviction.next()?.id == "0")
        eviction.record(.inUse)
        #expect(eviction.next()?.id == "1")
        #expect(eviction.shortage?.isCacheFull == true)
        eviction.record(.evicted)
        #expect(eviction.shortage == nil)
        #expect(eviction.next()?.id == "2")
        eviction.record(.inUse)
        #expect(eviction.next()?.id == "3")
        eviction.record(.evicted)
        #expect(eviction.next() == nil)
        #expect(eviction.evicted.map(\.id) == ["1", "3"])
        #expect(eviction.passedOver.map(\.id) == ["0", "2"])
        #expect(eviction.shortage == nil)
    }

    @Test func aFileIsHandedOutUntilItsResultIsKnown() {
        var eviction = policy.eviction(for: demand(used: 1_100), from: [candidate("a"), candidate("b", opened: 1)])
        #expect(eviction.next()?.id == "a")
        #expect(eviction.next()?.id == "a")
        eviction.record(.evicted)
        // Without a file handed out there is nothing to record.
        eviction.record(.evicted)
        #expect(eviction.evicted.map(\.id) == ["a"])
        #expect(eviction.next()?.id == "b")
    }

    @Test func whenAllAreOpenWritingStops() {
        var eviction = policy.eviction(
            for: demand(used: 1_000, incoming: 100), from: (0..<3).map { candidate("\($0)", 100, opened: $0) })
        while eviction.next() != nil { eviction.record(.inUse) }
        #expect(eviction.evicted.isEmpty)
        #expect(eviction.passedOver.count == 3)
        #expect(eviction.shortage?.isCacheFull == true)
        #expect(eviction.shortage?.isDiskFull == false)
    }

    // MARK: What cannot be helped

    @Test func nothingGoesForWhatWouldNotFitAnyway() {
        let files = (0..<5).map { candidate("\($0)", 100, opened: $0) }
        let plan = policy.plan(for: demand(used: 900, incoming: 2_000), from: files)
        #expect(plan.victims.isEmpty)
        #expect(plan.shortage?.isCacheFull == true)
    }

    @Test func theLimitsAreRestoredEvenWhenTheWriteDoesNotFit() {
        let files = (0..<5).map { candidate("\($0)", 100, opened: $0) }
        // A limit that was lowered to 1,000 while the cache held 1,150.
        let plan = policy.plan(for: demand(used: 1_150, incoming: 2_000), from: files)
        #expect(plan.victims.map(\.id) == ["0", "1"])
        #expect(plan.shortage?.isCacheFull == true)
    }

    @Test func aDiskThatOthersFilledTakesTheWholeCache() {
        let files = (0..<3).map { candidate("\($0)", 100, opened: $0) }
        let plan = EvictionPolicy(capacity: 1_000, keepFree: 10_000).plan(for: demand(used: 300, free: 50), from: files)
        #expect(plan.victims.count == 3)
        #expect(plan.shortage?.isDiskFull == true)
        #expect(plan.shortage?.isCacheFull == false)
        #expect(plan.shortage?.free == 350)
    }

    @Test func aFileThatTurnsOutOpenMayMakeTheRestUseless() {
        var eviction = policy.eviction(
            for: demand(used: 1_000, incoming: 200), from: [candidate("a", 150), candidate("b", 100, opened: 1)])
        #expect(eviction.next()?.id == "a")
        eviction.record(.inUse)
        // 100 bytes would not be enough for 200.
        #expect(eviction.next() == nil)
        #expect(eviction.evicted.isEmpty)
        #expect(eviction.shortage != nil)
    }

    @Test func extremeNumbersNeitherTrapNorEvictInVain() {
        let huge = (0..<4).map { candidate("\($0)", .max, opened: $0) }
        let demand = EvictionPolicy.Demand(
            used: .max, disk: DiskSpace(total: .max, free: .min), incoming: .max)
        for policy in [EvictionPolicy(capacity: .max), EvictionPolicy(capacity: .min, keepFree: .max)] {
            let plan = policy.plan(for: demand, from: huge)
            #expect(plan.victims.count <= 4)
            if let shortage = plan.shortage { #expect(!shortage.description.isEmpty) }
        }
        let small = EvictionPolicy.Demand(used: .min, disk: DiskSpace(total: .min, free: .max), incoming: .min)
        #expect(EvictionPolicy().plan(for: small, from: huge).victims.isEmpty)
    }

    // MARK: Reasons

    @Test func aFullCacheSaysHowToMakeRoom() throws {
        let policy = EvictionPolicy()
        let demand = EvictionPolicy.Demand(
            used: 10 * Self.gibibyte, disk: Self.roomyDisk, incoming: 8 * Self.mebibyte)
        let shortage = try #require(policy.plan(for: demand, from: []).shortage)
        #expect(
            shortage.description
                == "the cache is full (10 GiB of cache.limit (10 GiB) taken, 8 MiB more wanted): free some with "
                + "podfs evict or podfs unpin, or raise cache.limit")
    }

    @Test func aFullDiskSaysWhichLimitItIs() throws {
        let demand = EvictionPolicy.Demand(
            used: Self.gibibyte, disk: DiskSpace(total: 100 * Self.gibibyte, free: Self.gibibyte / 2))
        let byDefault = try #require(EvictionPolicy().plan(for: demand, from: []).shortage)
        #expect(
            byDefault.description
                == "the disk is full (512 MiB free of which 1 GiB stay free by default): delete something there, use "
                + "podfs evict or podfs unpin, or set cache.keep_free lower")
        let chosen = try #require(
            EvictionPolicy(keepFree: 9 * Self.gibibyte / 2).plan(for: demand, from: []).shortage)
        #expect(chosen.description.contains("4.5 GiB stay free by cache.keep_free"))
    }

    @Test func bothLimitsAreNamed() throws {
        let demand = EvictionPolicy.Demand(used: 2_000, disk: DiskSpace(total: 10_000, free: 50))
        let text = try #require(policy.plan(for: demand, from: []).shortage).description
        for part in ["cache.limit", "cache.keep_free", "podfs evict", "podfs unpin"] { #expect(text.contains(part)) }
    }

    @Test func anEpisodeLargerThanTheCacheIsNamedAsSuch() throws {
        let demand = EvictionPolicy.Demand(used: 0, disk: Self.roomyDisk, incoming: 12 * Self.gibibyte)
        let shortage = try #require(EvictionPolicy().plan(for: demand, from: []).shortage)
        #expect(shortage.description == "12 GiB do not fit into cache.limit (10 GiB): raise it")
    }

    @Test func everyReasonIsOneLine() {
        for used in [0, 5_000] as [Int64] {
            for free in [0, 5_000] as [Int64] {
                for incoming in [0, 700, 1_024 * 1_024 - 1, 1 << 50] as [Int64] {
                    let plan = policy.plan(for: demand(used: used, free: free, incoming: incoming), from: [])
                    #expect(plan.shortage?.description.contains("\n") != true)
                    #expect(plan.shortage?.description.contains("1024 KiB") != true)
                }
            }
        }
    }
}
