import Testing
import Transfers

@Suite struct ByteRangesTests {
    private func set(_ ranges: Range<Int64>...) -> ByteRanges {
        var result = ByteRanges()
        for range in ranges { result.insert(contentsOf: range) }
        return result
    }

    @Test(arguments: ["", "0-0", "0-4095", "0-4095,8192-9999", "5-5,7-7,9-9"])
    func textSurvivesARoundTrip(text: String) throws {
        #expect(try #require(ByteRanges(text: text)).text == text)
    }

    @Test func textNamesBothEndsInclusively() {
        #expect(set(0..<4_096, 8_192..<10_000).text == "0-4095,8192-9999")
        #expect(set().text == "")
    }

    @Test(arguments: [
        "5", "5-", "-5", "5-4", "a-b", "0-1,", ",0-1", "0-1,,3-4", "0 -1", "+0-1", "0--1", "0-1;3-4",
        "0-9223372036854775807", "0-99999999999999999999", "3-4,0-1", "0-1,2-3", "0-5,3-8", "00-1",
    ])
    func textInAnotherFormIsRefused(text: String) {
        #expect(ByteRanges(text: text) == nil)
    }

    @Test func adjacentRangesAreMerged() {
        #expect(set(0..<5, 5..<9).text == "0-8")
        #expect(set(0..<5, 5..<9) == set(0..<9))
    }

    @Test func bytesAreCounted() {
        #expect(set().byteCount == 0)
        #expect(set(0..<10, 20..<25).byteCount == 15)
    }

    @Test func aRangeIsCoveredOnlyIfAllItsBytesArePresent() {
        let ranges = set(10..<20, 30..<40)
        #expect(ranges.covers(10..<20))
        #expect(ranges.covers(12..<13))
        #expect(ranges.covers(35..<40))
        #expect(ranges.covers(25..<25), "an empty range has no missing byte")
        #expect(!ranges.covers(9..<11))
        #expect(!ranges.covers(15..<35))
        #expect(!ranges.covers(39..<41))
    }

    @Test func theFirstMissingByteFollowsWhatIsPresent() {
        let ranges = set(0..<10, 20..<30)
        #expect(ranges.firstMissing(from: 0) == 10)
        #expect(ranges.firstMissing(from: 9) == 10)
        #expect(ranges.firstMissing(from: 10) == 10)
        #expect(ranges.firstMissing(from: 25) == 30)
        #expect(ranges.firstMissing(from: 99) == 99)
    }

    @Test func theNextPresentRangeBeginsAfterTheOffset() {
        let ranges = set(10..<20, 30..<40)
        #expect(ranges.nextPresent(after: 0) == 10)
        #expect(ranges.nextPresent(after: 10) == 30)
        #expect(ranges.nextPresent(after: 29) == 30)
        #expect(ranges.nextPresent(after: 30) == nil)
    }
}
