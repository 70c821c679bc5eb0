import Foundation
import TestSupport
import Testing

@testable import Transfers

@Suite struct CheckpointTests {
    private func checkpoint(_ total: String, _ generation: String, _ from: String, _ to: String) -> Checkpoint? {
        let text = """
            {"version":1,"key":5,"generation":\(generation),"total":\(total),"complete":false,"bootID":"","inode":1,
            "received":[[\(from),\(to)]],"synced":[]}
            """
        return Checkpoint.decode(Data(text.utf8))
    }

    @Test func impossibleSizesCountAsDamage() {
        #expect(checkpoint("100", "1", "0", "100")?.receivedRanges == RangeSet(0..<100))
        #expect(checkpoint("null", "1", "0", "100") != nil)
        #expect(checkpoint("100", "1", "50", "10") == nil)
        #expect(checkpoint("100", "1", "-1", "10") == nil)
        #expect(checkpoint("-1", "1", "0", "0") == nil)
        #expect(checkpoint("100", "-1", "0", "1") == nil)
        #expect(checkpoint("100", "9223372036854775807", "0", "1") == nil)
        #expect(checkpoint("9223372036854775807", "1", "0", "9223372036854775807") == nil)
    }

    @Test func extremeNumbersAreReadOrRefused() {
        var dice = SeededGenerator(seed: 5)
        var found = 0
        for _ in 0..<4_000 {
            func number() -> String {
                let isSmall = Bool.random(using: &dice)
                return isSmall ? "\(Int.random(in: 0...90, using: &dice))" : ExtremeNumbers.json(using: &dice)
            }
            guard let checkpoint = checkpoint(number(), number(), number(), number()) else { continue }
            found += 1
            #expect((0...Int(Int32.max)).contains(checkpoint.generation))
            for range in checkpoint.receivedRanges.ranges {
                #expect(range.lowerBound >= 0 && range.upperBound <= 1 << 44)
            }
        }
        #expect(found > 50)
    }
}
