import Testing
import Transfers

@Suite struct ByteRangesTests {
    @Test(arguments: ["", "0-0", "0-4095", "0-4095,8192-9999", "5-5,7-7,9-9"])
    func textSurvivesARoundTrip(text: String) throws {
        #expect(try #require(ByteRanges(text: text)).text == text)
    }

    @Test func textNamesBothEndsInclusively() {
        #expect(ByteRanges([0..<5, 5..<4_096, 8_192..<10_000]).text == "0-4095,8192-9999")
    }

    @Test(arguments: [
        "5", "5-", "-5", "5-4", "a-b", "0-1,", ",0-1", "0-1,,3-4", "0 -1", "+0-1", "0--1", "0-1;3-4",
        "0-9223372036854775807", "0-99999999999999999999", "3-4,0-1", "0-1,2-3", "0-5,3-8", "00-1",
    ])
    func textInAnotherFormIsRefused(text: String) {
        #expect(ByteRanges(text: text) == nil)
    }

    @Test func aRangeIsCoveredOnlyIfAllItsBytesArePresent() {
        let ranges = ByteRanges([10..<20, 30..<40])
        #expect(ranges.covers(10..<20))
        #expect(ranges.covers(12..<13))
        #expect(ranges.covers(35..<40))
        #expect(ranges.covers(25..<25), "an empty range has no missing byte")
        #expect(!ranges.covers(9..<11))
        #expect(!ranges.covers(15..<35))
        #expect(!ranges.covers(39..<41))
    }

    @Test func theFirstMissingByteFollowsWhatIsPresent() {
        let ranges = ByteRanges([0..<10, 20..<30])
        #expect(ranges.firstMissing(from: 0) == 10)
        #expect(ranges.firstMissing(from: 9) == 10)
        #expect(ranges.firstMissing(from: 10) == 10)
        #expect(ranges.firstMissing(from: 25) == 30)
        #expect(ranges.firstMissing(from: 99) == 99)
    }

    @Test func theNextPresentRangeBeginsAfterTheOffset() {
        let ranges = ByteRanges([10..<20, 30..<40])
        #expect(ranges.nextPresent(after: 0) == 10)
        #expect(ranges.nextPresent(after: 10) == 30)
        #expect(ranges.nextPresent(after: 29) == 30)
        #expect(ranges.nextPresent(after: 30) == nil)
    }
}
