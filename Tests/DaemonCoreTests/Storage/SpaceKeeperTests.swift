import Testing
import TransferCore

@testable import DaemonCore

struct SpaceKeeperTests {
    /// The engine writes nothing after a refused write, until it is told that there is space.
    @Test func writingContinuesWhenAnEvictionHasMadeSpaceForARefusedWrite() {
        var keeper = SpaceKeeper(limits: StorageLimits(capacity: 1_000, keepFree: 0))
        keeper.writeFailed(free: 50)
        #expect(keeper.adopt(StoragePlan()) == [.stopWriting(nil)])
        #expect(keeper.adopt(StoragePlan()) == [])
    }
}
