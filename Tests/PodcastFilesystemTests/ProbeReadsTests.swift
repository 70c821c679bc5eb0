import Platform
import Testing

@testable import PodcastFilesystem

/// A class around `ProbeReads`, so that `#expect` can call the mutating functions. Times are milliseconds.
private final class Subject {
    private var reads: ProbeReads

    init(openedAt now: Int64) { reads = ProbeReads(openedAt: .milliseconds(now)) }

    func read(_ range: Range<Int64>, at now: Int64) -> Bool { reads.read(range, at: .milliseconds(now)) }

    func beginWait(_ now: Int64) { reads.beginWait(at: .milliseconds(now)) }

    func endWait(_ now: Int64) { reads.endWait(at: .milliseconds(now)) }
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

    @Test func timeSpentWaitingForTheServerIsIgnoredOnce() {
        let reads = Subject(openedAt: 0)
        reads.beginWait(100)
        reads.endWait(200)
        // These waits overlap, and the first one ends last.
        reads.beginWait(500)
        reads.beginWait(1_000)
        reads.endWait(2_000)
        #expect(!reads.read(0..<Self.page, at: 30_000))
        reads.beginWait(2_500)
        reads.endWait(4_500)
        reads.endWait(5_000)
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
