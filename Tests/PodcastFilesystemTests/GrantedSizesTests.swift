import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFilesystem
@testable import PodcastLibrary

/// Grants: the sizes in the daemon's responses to opens. A grant replaces the size that the feed states until the
/// library has recorded the granted size.
struct GrantedSizesTests {
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
        var grants = GrantedSizes()
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
        var grants = GrantedSizes()
        grants.add(250, of: number, replacing: guessed, now: 20)
        grants.markRecorded(guess)
        #expect(grants.isPending(number))
        grants.markRecorded(confirmed(250))
        #expect(!grants.isPending(number))
        // A slow thread of the filesystem may still have the old row. It must not report the guessed size.
        #expect(grants.applied(to: guess).size == 250)
    }

    @Test(arguments: [false, true]) func anotherFileOfTheFeedHasNoGrant(isRecorded: Bool) {
        var grants = GrantedSizes()
        grants.add(250, of: number, replacing: guessed, now: 20)
        if isRecorded { grants.markRecorded(confirmed(250)) }
        var later = guess
        later.changed = 22
        #expect(grants.applied(to: later) == later)
        // Within the same second, the size or its source differs.
        (later.size, later.changed) = (120, 20)
        #expect(grants.applied(to: later) == later)
        (later.size, later.sizeSource) = (100, .estimate)
        #expect(grants.applied(to: later) == later)
        #expect(grants.applied(to: guess).size == 250)
    }
}
