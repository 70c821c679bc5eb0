import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFilesystem
@testable import PodcastLibrary

/// Grants: the sizes in the daemon's responses to opens. A grant replaces the size that the feed states until the
/// library has recorded the granted size.
struct GrantedSizesTests {
    private let grants = Kept()
    private let guess = EpisodeEntry(
        id: 7, podcast: 1, name: "One.mp3", published: 5, firstSeen: 6, changed: 10, size: 100, sizeSource: .feed,
        generation: 2)
    private let guessed = EpisodeSize(bytes: 100, source: .feed)
    private var number: NodeNumber { NodeNumber(kind: .episode, generation: 2, row: 7) }

    /// Returns the entry as the library stores it once a server has confirmed `size`.
    private func confirmed(_ size: Int64, changed: Int64 = 21) -> EpisodeEntry {
        var entry = guess
        (entry.size, entry.sizeSource, entry.changed) = (size, .server, changed)
        return entry
    }

    @Test func aGrantReplacesTheGuess() {
        #expect(grants.applied(to: guess) == guess && !grants.isPending(number))
        grants.add(250, of: number, replacing: guessed, now: 20)
        #expect(grants.isPending(number))
        #expect(grants.applied(to: guess) == confirmed(250, changed: 20))
        var other = guess
        other.generation = 3
        #expect(grants.applied(to: other) == other)
        #expect(grants.applied(to: confirmed(300)) == confirmed(300))
    }

    @Test func aRecordedGrantStaysForReadersOfTheOldRow() {
        grants.add(250, of: number, replacing: guessed, now: 20)
        grants.markRecorded(guess)
        #expect(grants.isPending(number))
        grants.markRecorded(confirmed(250))
        #expect(!grants.isPending(number))
        // A slow thread of the filesystem may still have the old row. It must not report the guessed size.
        #expect(grants.applied(to: guess).size == 250)
    }

    @Test func anotherFileOfTheFeedHasNoGrant() {
        grants.add(250, of: number, replacing: guessed, now: 20)
        var later = guess
        later.changed = 22
        #expect(grants.applied(to: later) == later)
    }

    @Test(arguments: [false, true]) func anotherFileWithinTheSameSecondHasNoGrant(isRecorded: Bool) {
        grants.add(250, of: number, replacing: guessed, now: 20)
        if isRecorded { grants.markRecorded(confirmed(250)) }
        var later = guess
        (later.size, later.changed) = (120, 20)
        #expect(grants.applied(to: later) == later)
        (later.size, later.sizeSource) = (100, .estimate)
        #expect(grants.applied(to: later) == later)
        #expect(grants.applied(to: guess).size == 250)
    }

    @Test func recordedGrantsArePruned() {
        for row in 1...1_000 as ClosedRange<Int64> {
            grants.add(
                row, of: NodeNumber(kind: .episode, generation: 1, row: row),
                replacing: EpisodeSize(bytes: 0, source: .unknown), now: 20)
        }
        func entry(_ row: Int64) -> EpisodeEntry {
            EpisodeEntry(
                id: EpisodeID(row), podcast: 1, name: "", published: nil, firstSeen: 1, changed: 1, size: 0,
                sizeSource: .unknown,
                generation: 1)
        }
        var first = entry(1)
        (first.size, first.sizeSource) = (1, .server)
        grants.markRecorded(first)
        grants.add(
            1, of: NodeNumber(kind: .episode, generation: 1, row: 2_000),
            replacing: EpisodeSize(bytes: 0, source: .unknown), now: 100)
        #expect(grants.applied(to: entry(1)).sizeSource == .unknown)
        // The other grants stay: no row with their size has been read from the library.
        #expect(grants.applied(to: entry(2)).size == 2)
    }
}

/// A class around `GrantedSizes`, because `#expect` cannot call mutating functions of a value stored in the suite.
private final class Kept {
    private var grants = GrantedSizes()

    func add(_ size: Int64, of number: NodeNumber, replacing guess: EpisodeSize, now: Int64) {
        grants.add(size, of: number, replacing: guess, now: now)
    }

    func applied(to entry: EpisodeEntry) -> EpisodeEntry { grants.applied(to: entry) }

    func isPending(_ number: NodeNumber) -> Bool { grants.isPending(number) }

    func markRecorded(_ entry: EpisodeEntry) { grants.markRecorded(entry) }
}
