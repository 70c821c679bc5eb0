import Testing
import Transfers

@testable import PodcastService

struct SpaceKeeperTests {
    /// After a refused write, the engine writes nothing until it receives `.stopWriting(nil)`.
    @Test func writingContinuesWhenAnEvictionHasMadeSpaceForARefusedWrite() {
        var keeper = SpaceKeeper(limits: StorageLimits(capacity: 1_000, keepFree: 0))
        keeper.writeFailed(free: 50)
        #expect(keeper.adopt(StoragePlan()) == [.stopWriting(nil)])
        #expect(keeper.adopt(StoragePlan()) == [])
    }

    /// The engine retries a write at a person's request only if the reason to stop is a refused write. So it must
    /// receive this reason even if it has stopped already.
    @Test func aRefusedWriteReplacesAnEarlierReasonToStop() {
        var keeper = SpaceKeeper(limits: StorageLimits(capacity: 1_000, keepFree: 100))
        var floor = StoragePlan()
        floor.stopReason = StorageShortage(
            isCacheFull: false, isDiskFull: true, used: 0, reserved: 0, capacity: 1_000, free: 50, floor: 100,
            isFloorConfigured: true, incoming: 0)
        var refused = floor
        refused.stopReason?.isDiskFull = false
        refused.stopReason?.isWriteRefused = true
        keeper.writeFailed(free: 150)
        #expect(keeper.adopt(refused) == [], "the engine has stopped by itself")
        #expect(keeper.adopt(floor) == [.stopWriting(floor.stopReason)])
        #expect(keeper.adopt(floor) == [])
        #expect(keeper.adopt(refused) == [.stopWriting(refused.stopReason)])
        #expect(keeper.adopt(refused) == [])
    }
}
