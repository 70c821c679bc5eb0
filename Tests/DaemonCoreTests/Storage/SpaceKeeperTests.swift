import Testing
import TransferCore

@testable import DaemonCore

struct SpaceKeeperTests {
    /// After a refused write, the engine writes nothing until it receives `.stopWriting(nil)`.
    @Test func writingContinuesWhenAnEvictionHasMadeSpaceForARefusedWrite() {
        var keeper = SpaceKeeper(limits: StorageLimits(capacity: 1_000, keepFree: 0))
        keeper.writeFailed(free: 50)
        #expect(keeper.adopt(StoragePlan()) == [.stopWriting(nil)])
        #expect(keeper.adopt(StoragePlan()) == [])
    }
}
