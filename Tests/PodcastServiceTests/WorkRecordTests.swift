import TestSupport
import Testing

@testable import PodcastService

/// The work that is skipped or runs alone after the daemon has crashed during it. No IO.
@Suite struct WorkRecordTests {
    private let now: Int64 = 1_800_000_000
    private let guilty = WorkItem(kind: .refresh, id: 1)

    private func items(_ ids: ClosedRange<Int64>) -> [WorkItem] { ids.map { WorkItem(kind: .refresh, id: $0) } }

    @Test func twoConsecutiveCrashesSkipAnItemForADay() throws {
        var record = WorkRecord(now: now)
        let none = record.recordCrash(during: [guilty], now: now) { _ in "Show" }
        #expect(none.isEmpty && record.entries.count == 1 && record.skippedUntil(guilty, now: now) == nil)
        let skipped = record.recordCrash(during: [guilty], now: now + 5) { _ in "Bob's Show" }
        #expect(skipped.map(\.item) == [guilty])
        #expect(skipped.first?.explanation.contains("podfs refresh 'Bob'\\''s Show' runs") == true)
        #expect(record.skippedUntil(guilty, now: now + 5) == now + 5 + 86_400)
        #expect(record.turn(of: [guilty], now: now + 86_404) == [])
        // After a day the item runs again, and one more crash is enough to skip it.
        #expect(record.turn(of: [guilty], now: now + 86_405) == [guilty])
        _ = record.recordCrash(during: [guilty], now: now + 90_000) { _ in "Show" }
        #expect(record.skippedUntil(guilty, now: now + 90_000) == now + 90_000 + 86_400)
    }

    /// One of 40 feeds crashes the daemon each time it is processed.
    @Test(arguments: [1, 7, 40])
    func onlyTheItemThatCrashesTheDaemonIsSkipped(guiltyID: Int64) {
        var dice = SeededGenerator(seed: UInt64(guiltyID))
        var record = WorkRecord(now: now)
        let guilty = WorkItem(kind: .refresh, id: guiltyID)
        var due = items(1...40).shuffled(using: &dice)
        var crashes = 0
        while record.skippedUntil(guilty, now: now) == nil, crashes < 10 {
            // One run of the daemon.
            var turn = record.turn(of: due, now: now).prefix(8)
            while !turn.isEmpty, !turn.contains(guilty) {
                for item in turn { _ = record.resetCount(of: item) }
                due.removeAll { turn.contains($0) }
                turn = record.turn(of: due, now: now).prefix(8)
            }
            crashes += 1
            _ = record.recordCrash(during: Set(turn), now: now) { "\($0.id)" }
        }
        #expect(crashes == 2)
        #expect(record.skipped(now: now).map(\.item) == [guilty])
    }

    @Test func extremeValuesInTheFileAreBounded() {
        for number in ExtremeNumbers.integers {
            let entry = WorkRecord.Entry(item: guilty, crashes: Int(number), last: number, name: "Show")
            var record = WorkRecord([entry], now: now)
            if let until = record.skippedUntil(guilty, now: now) { #expect(until > now && until <= now + 86_400) }
            _ = record.recordCrash(during: [guilty], now: now) { _ in "Show" }
        }
        let many = items(1...5_000).map { WorkRecord.Entry(item: $0, crashes: 2, last: now, name: "s") }
        #expect(WorkRecord(many, now: now).entries.count <= 1_000)
    }

    @Test func workThatIsGoneIsForgotten() {
        var record = WorkRecord(now: now)
        _ = record.recordCrash(during: [guilty], now: now) { _ in "Show" }
        _ = record.recordCrash(during: [guilty], now: now) { _ in nil }
        #expect(record.entries.isEmpty)
        let old = WorkRecord.Entry(item: guilty, crashes: 2, last: now - 40 * 86_400, name: "s")
        #expect(WorkRecord([old], now: now).entries == [])
    }
}
