import Foundation
import Testing

@testable import Transfers

@Suite struct CheckpointTests {
    private func checkpoint(_ total: String, _ generation: String, _ received: String) -> Checkpoint? {
        let text = """
            {"version":1,"key":5,"generation":\(generation),"total":\(total),"complete":false,"bootID":"","inode":1,
            "received":"\(received)","synced":""}
            """
        return Checkpoint.decode(Data(text.utf8))
    }

    @Test func impossibleNumbersCountAsDamage() {
        #expect(checkpoint("100", "1", "0-99")?.receivedRanges == RangeSet(0..<100))
        #expect(checkpoint("null", "1", "0-99") != nil)
        for received in ["50-10", "-1-10", "0-9223372036854775807", "0-1,1-2", "x"] {
            #expect(checkpoint("100", "1", received)?.receivedRanges == RangeSet())
        }
        for (total, generation) in [("-1", "1"), ("9223372036854775807", "1"), ("1", "-1"), ("1", "2147483648")] {
            #expect(checkpoint(total, generation, "") == nil)
        }
    }
}
