import Platform
import Testing

@testable import PodcastFilesystem

/// A class around `ProbeReads`, so that `#expect` can call the mutating functions. Times are milliseconds.
private final class Subject {
    private var reads: ProbeReads

    init(openedAt now: Int64) { reads = ProbeReads(openedAt: .milliseconds(now)) }

    func read(_ range: Range<Int64>, at now: Int64) -> Bool { reads.read(range, at: .milliseconds(now)) }

    func waited(from start: Int64, to end: Int64) { reads.waited(from: .milliseconds(start), to: .milliseconds(end)) }
}

@Suite struct ProbeReadsTests {
    private static let page: Int64 = 4_096
    private static let piece: Int64 = 128 * 1024

    @Test func readsOfHeadAndTailMeanAProbe() {
        let reads = Subject(openedAt: 0)
        let size: Int64 = 30_000_000
        for round in 0..<20 as Range<Int64> {
            #expect(!reads.read(0..<Self.piece, at: round))
            #expect(!reads.read(size - Self.piece..<size, at: round))
            #expect(!reads.read(round * 1_000_000 + 500_000..<round * 1_000_000 + 500_000 + Self.page, at: round))
        }
    }

    @Test func aMegabyteInSequenceMeansAPlayer() {
        let reads = Subject(openedAt: 0)
        for number in 0..<7 as Range<Int64> {
            #expect(!reads.read(number * Self.piece..<(number + 1) * Self.piece, at: 1))
        }
        #expect(reads.read(7 * Self.piece..<8 * Self.piece, at: 1))
    }

    @Test func readaheadInAnyOrderIsASequence() {
        let reads = Subject(openedAt: 0)
        let order: [Int64] = [20, 22, 21, 23, 25, 24, 26]
        for number in order { #expect(!reads.read(number * Self.piece..<(number + 1) * Self.piece, at: 1)) }
        #expect(reads.read(27 * Self.piece..<28 * Self.piece, at: 1))
    }

    @Test func aJumpBeginsAnotherSequence() {
        let reads = Subject(openedAt: 0)
        for place in 0..<4 as Range<Int64> {
            for number in place * 100..<place * 100 + 7 {
                #expect(!reads.read(number * Self.piece..<(number + 1) * Self.piece, at: 1))
            }
        }
    }

    @Test func aProgramThatReadsFiveSecondsAfterItsOpenIsAPlayer() {
        let reads = Subject(openedAt: 1_000)
        #expect(!reads.read(0..<Self.page, at: 5_999))
        #expect(reads.read(0..<Self.page, at: 6_000))
    }

    @Test func timeSpentWaitingForTheServerIsIgnored() {
        let reads = Subject(openedAt: 0)
        reads.waited(from: 0, to: 4_000)
        reads.waited(from: 4_100, to: 8_000)
        #expect(!reads.read(0..<Self.page, at: 12_000))
        #expect(reads.read(0..<Self.page, at: 12_900))
    }

    @Test func overlappingWaitsCountOnce() {
        let reads = Subject(openedAt: 0)
        reads.waited(from: 100, to: 200)
        reads.waited(from: 1_000, to: 2_000)
        reads.waited(from: 1_500, to: 3_000)
        reads.waited(from: 2_500, to: 4_500)
        // This wait began before most of the others, and ends last.
        reads.waited(from: 500, to: 5_000)
        reads.waited(from: 500, to: 5_000)
        // 4.6 seconds in all.
        #expect(!reads.read(0..<Self.page, at: 9_599))
        #expect(reads.read(0..<Self.page, at: 9_600))
    }

    @Test func extremeOffsetsAreNotASequence() {
        let reads = Subject(openedAt: 0)
        #expect(!reads.read(Int64.max - 10..<Int64.max, at: 1))
        #expect(!reads.read(0..<10, at: 1))
    }
}
