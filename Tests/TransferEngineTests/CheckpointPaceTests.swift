import Platform
import Testing

@testable import Transfers

struct CheckpointPaceTests {
    private var pace = CheckpointPace()

    @Test mutating func aCheckpointIsDueASecondAfterItsFirstByte() {
        #expect(pace.due == nil && !pace.isBehind)
        pace.add(1_000, at: .milliseconds(0))
        pace.add(1_000, at: .milliseconds(900))
        #expect(pace.due == .seconds(1) && pace.isBehind)
        let synchronizes = pace.start(at: .seconds(1), all: false)
        #expect(!synchronizes && pace.isBusy && pace.due == nil && !pace.isBehind)
        // Bytes that arrive meanwhile are in the next checkpoint.
        pace.add(1_000, at: .milliseconds(1_100))
        pace.finish(synced: nil)
        #expect(!pace.isBusy && pace.due == .milliseconds(2_100))
    }

    @Test mutating func aCheckpointIsDueAtOnceAfter8MiB() {
        pace.add(CheckpointPace.maxBehind - 1, at: .milliseconds(0))
        #expect(pace.due == .seconds(1))
        pace.add(1, at: .milliseconds(300))
        #expect(pace.due == .milliseconds(300))
        pace.add(1, at: .milliseconds(400))
        #expect(pace.due == .milliseconds(300))
    }

    @Test mutating func bytesAreSyncedAfterTenSecondsOr64MiB() {
        pace.add(1, at: .seconds(0))
        var synchronizes = pace.start(at: .seconds(9), all: false)
        pace.finish(synced: nil)
        #expect(!synchronizes && pace.synced.isEmpty)
        pace.add(1, at: .seconds(10))
        synchronizes = pace.start(at: .seconds(10), all: false)
        pace.finish(synced: ByteRanges(0..<2))
        #expect(synchronizes && pace.synced == ByteRanges(0..<2))
        pace.add(64 << 20, at: .seconds(11))
        synchronizes = pace.start(at: .seconds(11), all: false)
        #expect(synchronizes)
    }

    @Test mutating func aFailedCheckpointIsRetriedAfterFiveSecondsWithASync() {
        pace.add(CheckpointPace.maxBehind, at: .seconds(0))
        _ = pace.start(at: .seconds(0), all: false)
        pace.failed(at: .seconds(0))
        pace.add(1, at: .seconds(1))
        #expect(pace.isBehind && !pace.isBusy && pace.due == .seconds(5))
        let synchronizes = pace.start(at: .seconds(5), all: false)
        pace.finish(synced: nil)
        #expect(synchronizes && !pace.isBehind && pace.due == nil)
    }
}
