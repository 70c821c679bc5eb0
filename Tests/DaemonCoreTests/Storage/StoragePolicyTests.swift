import Platform
import Testing
import Transfers

@testable import PodcastService

struct StoragePolicyTests {
    private static let mebibyte: Int64 = 1 << 20
    private static let gibibyte: Int64 = 1 << 30

    /// A policy with small sizes: a limit of 1,000 bytes, and 100 to stay free.
    private var policy = StoragePolicy(limits: StorageLimits(capacity: 1_000, keepFree: 100))

    private func snapshot(
        used: Int64 = 0, free: Int64 = 1 << 39, _ transfers: [StorageTransfer] = [], files: [StorageFile] = []
    ) -> StorageSnapshot {
        StorageSnapshot(used: used, diskTotal: 1 << 40, diskFree: free, transfers: transfers, files: files)
    }

    private func file(
        _ id: String, _ bytes: Int64 = 100, used: Int = 0, played: Bool = false, open: Bool = false
    ) -> StorageFile {
        StorageFile(id: id, bytes: bytes, lastUse: .seconds(used), isPlayed: played, isOpen: open)
    }

    /// Returns a transfer, by default one that was requested at 1,000 s.
    private func transfer(
        _ id: Int64, _ expected: Int64?, received: Int64 = 0, asked: Int = 1_000,
        _ change: (inout StorageTransfer) -> Void = { _ in }
    ) -> StorageTransfer {
        var transfer = StorageTransfer(
            id: MediaID(id), number: TaskID(id), asked: .seconds(asked), received: received, expected: expected,
            file: received > 0 ? "part \(id)" : nil)
        change(&transfer)
        return transfer
    }

    private func waiting(_ plan: StoragePlan) -> Set<MediaID> { Set(plan.waiting.keys) }

    // MARK: Reservation

    @Test func downloadsThatFitBeginAndTheOthersWaitWithAReason() throws {
        let plan = policy.plan(for: snapshot([transfer(1, 600), transfer(2, 600), transfer(3, 400)]))
        #expect(plan.reserved == [1, 3].ids)
        #expect(waiting(plan) == [2].ids)
        #expect(plan.evictions.isEmpty && plan.failures.isEmpty && plan.stopReason == nil)
        #expect(
            try #require(plan.waiting[MediaID(2)]).description
                == "the cache is full (0 B of cache.limit (1000 B) used, 600 B reserved for other downloads, 600 B more "
                + "needed): free space with podfs evict, unpin episodes, or raise cache.limit")
    }

    @Test func partialFilesYieldToTheFirstDownload() {
        // Three downloads of 600 bytes have received 57 %, 57 % and 0 %: if all continued, none could be finished.
        let now = snapshot(
            used: 680, [transfer(1, 600, received: 340), transfer(2, 600, received: 340), transfer(3, 600)])
        let plan = policy.plan(for: now)
        #expect(plan.reserved == [1].ids)
        #expect(plan.evictions.isEmpty, "there is room beside the other part")
        #expect(waiting(plan) == [2, 3].ids)
        // With less space, 260 more bytes do not fit beside the other partial file.
        let narrow = StoragePolicy(limits: StorageLimits(capacity: 800, keepFree: 100)).plan(for: now)
        #expect(narrow.evictions == ["part 2"])
        #expect(narrow.reserved == [1].ids)
    }

    @Test mutating func aDownloadKeepsItsReservationDespiteEarlierRequests() {
        policy.adopt(policy.plan(for: snapshot([transfer(2, 600)])))
        let plan = policy.plan(for: snapshot(used: 10, [transfer(1, 600), transfer(2, 600, received: 10)]))
        #expect(plan.reserved == [2].ids && plan.evictions.isEmpty)
    }

    @Test mutating func requestedDownloadsPrecedeAutomaticOnes() {
        let automatic = transfer(1, 600, received: 300) { $0.isAutomatic = true }
        policy.adopt(policy.plan(for: snapshot(used: 300, [automatic])))
        #expect(policy.adopted.reserved == [1].ids)
        let plan = policy.plan(for: snapshot(used: 300, [automatic, transfer(2, 800)]))
        #expect(plan.reserved == [2].ids)
        #expect(plan.evictions == ["part 1"])
    }

    @Test mutating func aServerThatFailsDoesNotHoldUpTheOthers() {
        policy.adopt(policy.plan(for: snapshot([transfer(1, 600)])))
        let stuck = transfer(1, 600) { $0.isRetrying = true }
        let plan = policy.plan(for: snapshot([stuck, transfer(2, 600)]))
        #expect(plan.reserved == [2].ids)
        // If there is space for both, the failing download keeps its reservation.
        #expect(policy.plan(for: snapshot([stuck, transfer(2, 400)])).reserved == [1, 2].ids)
    }

    @Test(arguments: [false, true]) func aSuspendedDownloadReservesNoSpaceAndMayBeEvicted(isNeeded: Bool) {
        let suspended = transfer(1, 900, received: 500) { $0.isWanted = false }
        let plan = policy.plan(for: snapshot(used: 500, [suspended, transfer(2, isNeeded ? 600 : 500)]))
        #expect(plan.reserved == [2].ids)
        #expect(plan.evictions == (isNeeded ? ["part 1"] : []))
        #expect(plan.waiting.isEmpty)
    }

    // MARK: Sizes

    @Test func anUnknownSizeIsReservedAsItGrows() {
        let policy = StoragePolicy(limits: StorageLimits(capacity: 100 * Self.mebibyte, keepFree: 0))
        let step = 5 * Self.mebibyte
        #expect(policy.plan(for: snapshot(used: 0, [transfer(1, nil)])).reserved == [1].ids)
        // Only 3 MiB remain, less than a usual reservation. The download reserves them.
        let late = transfer(1, nil, received: 97 * Self.mebibyte)
        #expect(policy.plan(for: snapshot(used: 97 * Self.mebibyte, [late])).reserved == [1].ids)
        // Of two downloads of unknown size, the first continues, in the space that the second one's file occupied.
        let both = [transfer(1, nil, received: 50 * Self.mebibyte), transfer(2, nil, received: 48 * Self.mebibyte)]
        let plan = policy.plan(for: snapshot(used: 98 * Self.mebibyte, both))
        #expect(plan.evictions == ["part 2"])
        #expect(plan.reserved.contains(MediaID(1)))
        let early = policy.plan(for: snapshot(used: step, [transfer(1, nil, received: step), transfer(2, nil)]))
        #expect(early.reserved == [1, 2].ids)
    }

    @Test func aFileLargerThanTheLimitFailsUnlessItIsRead() throws {
        let plan = policy.plan(for: snapshot([transfer(1, 1_001), transfer(2, 1_000)]))
        #expect(plan.reserved == [2].ids)
        #expect(Set(plan.failures.keys) == [1].ids)
        #expect(
            try #require(plan.failures[MediaID(1)]).description
                == "the file of 1001 B does not fit into cache.limit (1000 B): raise cache.limit; the limit does not apply "
                + "while a program has the file open")
        let read = policy.plan(for: snapshot([transfer(1, 1_001) { $0.isRead = true }]))
        #expect(read.reserved == [1].ids && read.failures.isEmpty && read.stopReason == nil)
        // A download that grows beyond the limit fails too.
        let grown = policy.plan(for: snapshot(used: 1_001, [transfer(1, nil, received: 1_001)]))
        #expect(Set(grown.failures.keys) == [1].ids)
    }

    @Test func aFeedThatExaggeratesDoesNotFailADownload() {
        let plan = policy.plan(for: snapshot([transfer(1, 5_000) { $0.isConfirmed = false }]))
        #expect(plan.reserved == [1].ids && plan.failures.isEmpty)
    }

    // MARK: Readers

    @Test func aReaderOutranksAndMayExceedTheLimit() {
        let read = transfer(3, 600) { $0.isRead = true }
        let background = transfer(1, 600, received: 340)
        let plan = policy.plan(for: snapshot(used: 940, [background, read], files: [file("old", 600, used: 2_000)]))
        // Complete files are evicted first, even those used recently. If that frees enough, the partial file of the
        // other download stays.
        #expect(plan.evictions == ["old"])
        #expect(plan.reserved == [3].ids)
        #expect(waiting(plan) == [1].ids)
        let tight = policy.plan(for: snapshot(used: 940, [transfer(1, 600, received: 940), read]))
        #expect(tight.evictions == ["part 1"])
        // Nothing can be evicted, so the reader's download exceeds the limit.
        let full = policy.plan(for: snapshot(used: 1_000, [read], files: [file("pinned", 1_000, open: true)]))
        #expect(full.reserved == [3].ids && full.stopReason == nil && full.evictions.isEmpty)
    }

    @Test func aReaderStopsAtTheSpaceToKeepFree() throws {
        let read = transfer(3, 600) { $0.isRead = true }
        let plan = policy.plan(for: snapshot(free: 100, [read]))
        let reason = try #require(plan.stopReason)
        #expect(reason.description.contains("100 B free, 100 B must stay free by cache.keep_free"))
        // For a reader everything evictable is evicted, even if the whole file still does not fit afterwards.
        let some = policy.plan(for: snapshot(used: 50, free: 100, [read], files: [file("old", 50)]))
        #expect(some.evictions == ["old"])
    }

    @Test func withoutAReaderWritingStopsOnlyIfNothingIsEvictable() {
        let plan = policy.plan(for: snapshot(used: 50, free: 100, [transfer(1, 600)], files: [file("old", 50)]))
        #expect(plan.stopReason == nil && plan.evictions.isEmpty)
        #expect(waiting(plan) == [1].ids)
        #expect(policy.plan(for: snapshot(free: 100, [transfer(1, 600)])).stopReason != nil)
        #expect(policy.plan(for: snapshot(free: 100)).stopReason == nil, "nothing is wanted")
    }

    // MARK: Order of eviction

    @Test func playedFilesAreEvictedFirstThenTheLeastRecentlyUsedThenPartialFiles() {
        let files = [
            file("new", used: 9), file("old", used: 1), file("new played", used: 8, played: true),
            file("old played", used: 2, played: true), file("old too", used: 1),
        ]
        let part = transfer(1, 200, received: 100) { $0.isWanted = false }
        let plan = policy.plan(for: snapshot(used: 1_600, [part], files: files))
        #expect(plan.evictions == ["old played", "new played", "old", "old too", "new", "part 1"])
    }

    @Test func nothingIsEvictedForADownloadThatDoesNotFitAnyway() {
        let files = (0..<5).map { file("\($0)", 100, used: $0) } + [file("pinned", 400, open: true)]
        let plan = policy.plan(for: snapshot(used: 900, [transfer(1, 700)], files: files))
        #expect(plan.evictions.isEmpty)
        #expect(waiting(plan) == [1].ids)
    }

    @Test func aFileUsedAfterTheRequestIsNotEvictedForIt() {
        let files = [file("before", 300, used: 999), file("after", 300, used: 1_001)]
        #expect(policy.plan(for: snapshot(used: 600, [transfer(1, 700)], files: files)).evictions == ["before"])
        #expect(waiting(policy.plan(for: snapshot(used: 600, [transfer(1, 800)], files: files))) == [1].ids)
        // The file "after" is evicted too if the download is requested again, or if that file has been played.
        let again = policy.plan(for: snapshot(used: 600, [transfer(1, 800, asked: 1_001)], files: files))
        #expect(again.evictions == ["before", "after"])
        let heard = [files[0], file("after", 300, used: 1_001, played: true)]
        let afterwards = policy.plan(for: snapshot(used: 600, [transfer(1, 800)], files: heard))
        #expect(afterwards.evictions == ["after", "before"])
    }

    // MARK: A disk that refuses

    @Test mutating func aRefusedWriteStopsAllUntilMoreIsFree() {
        let half = transfer(1, 20 * Self.mebibyte, received: 10 * Self.mebibyte)
        policy = StoragePolicy(limits: StorageLimits(capacity: Self.gibibyte, keepFree: 0))
        policy.writeFailed(free: 4_096)
        let full = policy.plan(for: snapshot(used: 10 * Self.mebibyte, free: 4_096, [half]))
        #expect(full.stopReason?.limit == .write)
        #expect(full.evictions.isEmpty && full.waiting.isEmpty)
        policy.adopt(full)
        #expect(policy.isBlocked)
        let more = policy.plan(for: snapshot(used: 10 * Self.mebibyte, free: 9 * Self.mebibyte, [half]))
        #expect(more.stopReason == nil)
        policy.adopt(more)
        #expect(policy.freeAtFailedWrite == nil)
    }

    @Test mutating func aRefusedWriteEvictsWholeFiles() {
        policy = StoragePolicy(limits: StorageLimits(capacity: Self.gibibyte, keepFree: 0))
        policy.writeFailed(free: 0)
        let half = transfer(1, 20 * Self.mebibyte, received: 10 * Self.mebibyte)
        let plan = policy.plan(
            for: snapshot(used: 30 * Self.mebibyte, free: 0, [half], files: [file("old", 20 * Self.mebibyte)]))
        #expect(plan.evictions == ["old"])
        #expect(plan.stopReason == nil)
    }

    // MARK: Effects

    private func shortage(_ limit: StorageShortage.Limit, used: Int64 = 0) -> StorageShortage {
        StorageShortage(
            limit: limit, used: used, reserved: 0, capacity: 1_000, free: 50, floor: 100, isFloorConfigured: true,
            incoming: 0)
    }

    /// After a refused write, the engine has stopped by itself, and writes nothing until it receives
    /// `.stopWriting(nil)`. It retries a write at a person's request only if the reason to stop is a refused write. So
    /// it must receive this reason even if it has stopped already.
    @Test mutating func theEngineIsToldWhyItMayNotWrite() {
        func plan(_ limit: StorageShortage.Limit?) -> StoragePlan {
            StoragePlan(stopReason: limit.map { shortage($0) })
        }
        policy.writeFailed(free: 150)
        for (limit, expected) in [
            (.write, []), (.disk, [.stopWriting(shortage(.disk))]), (.disk, []),
            (.write, [.stopWriting(shortage(.write))]), (.write, []), (nil, [.stopWriting(nil)]), (nil, []),
        ] as [(StorageShortage.Limit?, [Effect])] {
            let effects = policy.adopt(plan(limit))
            #expect(effects == expected)
        }
    }

    /// A reason contains the bytes in use, which change all the time.
    @Test mutating func aReasonWithOtherNumbersIsNotReportedAgain() {
        let plans = [shortage(.cache, used: 500), shortage(.cache, used: 501), shortage(.disk, used: 501)].map {
            StoragePlan(waiting: [1: $0])
        }
        let counts = plans.map { policy.adopt($0).count }
        #expect(counts == [1, 0, 1])
        let last = policy.adopt(StoragePlan())
        #expect(last == [.awaitSpace(1, nil)])
    }

    // MARK: Progress

    private func covers(_ bytes: Int64, free: Int64 = 1 << 39) -> Bool {
        var policy = policy
        policy.arrived(bytes)
        return policy.coversProgress(diskTotal: 1 << 40, diskFree: free)
    }

    @Test mutating func expectedProgressNeedsNoNewPlan() {
        policy.adopt(policy.plan(for: snapshot([transfer(1, 600), transfer(2, 600)])))
        #expect(covers(100) && covers(600))
        #expect(!covers(601), "more than the reservation, and no room for both")
        #expect(covers(100, free: 600) && !covers(100, free: 599), "the disk needs room for the reserved rest")
    }

    /// A scan by a media library reads bytes that nothing has reserved.
    @Test mutating func unreservedBytesNeedNoNewPlanWhileThereIsRoom() {
        policy.adopt(policy.plan(for: snapshot([transfer(1, 600)])))
        #expect(covers(400))
        policy.adopt(policy.plan(for: snapshot(used: 100)))
        #expect(covers(900) && !covers(901))
    }

    /// Evicting file by file, with a new plan after each, takes quadratic time.
    @Test func onePlanEvictsAllThatALowerLimitExcludes() {
        let files = (0..<5_000).map { file("\($0)", 1, used: $0) }
        #expect(policy.plan(for: snapshot(used: 5_000, files: files)).evictions.count == 4_000)
    }

    /// The cache's files are loaded only if a plan needs them.
    @Test func aPlanWithoutShortageDoesNotDependOnTheFiles() {
        let (files, transfers) = ([file("a", 10), file("b", 20)], [transfer(1, 600)])
        let plan = policy.plan(for: snapshot(used: 30, transfers))
        #expect(!plan.lacksRoom && plan == policy.plan(for: snapshot(used: 30, transfers, files: files)))
        #expect(policy.plan(for: snapshot(used: 500, transfers)).lacksRoom)
    }

    // MARK: Limits and numbers

    @Test func theDefaultsAreTenGibibytesAndOneFree() {
        let limits = StorageLimits()
        #expect(limits.capacity == 10 * Self.gibibyte)
        #expect(limits.keepFree == nil)
        #expect(limits.floor(total: 10 * Self.gibibyte) == Self.gibibyte / 2)
        #expect(limits.floor(total: 20 * Self.gibibyte) == Self.gibibyte)
        #expect(limits.floor(total: 100 * Self.gibibyte) == Self.gibibyte)
        #expect(StorageLimits(keepFree: 3).floor(total: 8) == 3)
    }

    @Test func extremeNumbersNeitherTrapNorLoseAnything() {
        let huge = (0..<4).map { file("\($0)", .max, used: $0) } + [file("pinned", .max, open: true)]
        let transfers = [transfer(1, .max, received: .max), transfer(2, .min), transfer(3, nil, received: .min)]
        for limits in [StorageLimits(capacity: .max), StorageLimits(capacity: .min, keepFree: .max), StorageLimits()] {
            for used in [Int64.min, 0, .max] {
                let now = StorageSnapshot(
                    used: used, diskTotal: used, diskFree: used, transfers: transfers, files: huge)
                let plan = StoragePolicy(limits: limits).plan(for: now)
                #expect(!plan.evictions.contains("pinned"))
                for reason in plan.waiting.values { #expect(!reason.description.isEmpty) }
            }
        }
    }
}

extension [Int64] {
    fileprivate var ids: Set<MediaID> { Set(map { MediaID($0) }) }
}
