import Fuse
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastFilesystem
@testable import PodcastLibrary

struct KernelCacheTests {
    private static let number = NodeNumber(kind: .episode, generation: 1, row: 7)
    private static let place = Library.EpisodePlace(id: 7, podcast: 1, name: "One.mp3", generation: 1, isBuried: false)

    /// Simulates random orders of lookups, listings, opens, reads, changes and other events by the kernel's rules.
    @Test func theSimulatedKernelNeverReturnsStaleData() {
        var (completed, modes) = (0, [String: Int]())
        for seed in 0..<3_000 as Range<UInt64> {
            var simulation = KernelCacheSimulation(seed: seed)
            simulation.run(steps: 400)
            #expect(simulation.failures == [], "seed \(seed)")
            if !simulation.failures.isEmpty { return }
            completed += simulation.completed
            modes.merge(simulation.modes, uniquingKeysWith: +)
        }
        print("kernel cache: \(completed) files read, opened \(modes)")
        #expect(completed > 10_000)
        #expect(modes.keys.sorted() == ["cached", "direct", "passthrough"] && modes.values.allSatisfy { $0 > 1_000 })
    }

    /// A grant (the size in the daemon's response to an open) replaces the size that the feed states, until the feed
    /// names another file.
    @Test(arguments: [false, true]) func anotherFileOfTheFeedHasNoGrant(isRecorded: Bool) {
        let guess = EpisodeEntry(
            id: 7, podcast: 1, name: "One.mp3", published: 5, firstSeen: 6, changed: 10, size: 100, sizeSource: .feed)
        var grants = GrantedSizes()
        grants.add(250, of: Self.number, replacing: EpisodeSize(bytes: 100, source: .feed), now: 20)
        var later = guess
        if isRecorded {
            (later.size, later.sizeSource, later.changed) = (250, .server, 21)
            grants.markRecorded(later)
        }
        #expect(grants.isPending(Self.number) != isRecorded)
        (later.size, later.sizeSource, later.changed) = (100, .feed, 22)
        #expect(grants.applied(to: later) == later)
        // Within the same second, the size or its source differs.
        (later.size, later.changed) = (120, 20)
        #expect(grants.applied(to: later) == later)
        (later.size, later.sizeSource) = (100, .estimate)
        #expect(grants.applied(to: later) == later)
        #expect(grants.applied(to: guess).size == 250)
    }

    /// A listing that was opened before the first open of a file in `Tagged` has an estimate of its size. With it the
    /// kernel would return zeros after the end of the open file.
    @Test func aReplyDoesNotChangeTheSizeOfAnOpenTaggedFile() {
        let tagged = NodeNumber(kind: .taggedEpisode, generation: 0, row: 7)
        var cache = KernelCache()
        #expect(cache.push(5, of: tagged) == .isRequired)
        cache.pushed(5, of: tagged)
        _ = cache.open(tagged, .cached)
        _ = cache.answered(tagged)
        let estimate = NodeFacts(tagged, size: 6, modified: 1, changed: 1)
        #expect(cache.prepareReply(estimate).facts.size == 5)
        _ = cache.close(tagged)
        #expect(cache.prepareReply(estimate).facts.size == 6)
    }

    /// GNU tar compares the ctime before and after it reads a file.
    @Test func aFileKeepsItsCtimeFromThePushOfASizeToTheLastClose() {
        var cache = KernelCache()
        func sent(_ changed: Int64) -> Int64 {
            cache.prepareReply(NodeFacts(Self.number, size: 5, modified: 1, changed: changed)).facts.changed
        }
        _ = cache.push(5, of: Self.number)
        var observed = [sent(10)]
        cache.pushed(5, of: Self.number)
        _ = cache.open(Self.number, .cached)
        _ = cache.answered(Self.number)
        observed += [sent(11), sent(12)]
        _ = cache.close(Self.number)
        observed.append(sent(12))
        #expect(observed == [10, 11, 11, 12])
    }

    @Test func dataReadBeforeAChangeIsOutdated() {
        var cache = KernelCache()
        let before = cache.changes.last
        _ = cache.changed(Self.place, row: nil, isRenamed: false)
        let other = NodeNumber(kind: .episode, generation: 1, row: 8)
        let (changed, unchanged) = (
            cache.isOutdated(Self.number, since: before), cache.isOutdated(other, since: before)
        )
        #expect(changed && !unchanged)
        // Beyond the log's capacity, older changes are unknown: any episode may have changed.
        for row in 100..<(100 + Int64(ChangeLog.capacity)) { cache.changes.add(EpisodeID(row)) }
        let unknown = cache.isOutdated(other, since: before)
        #expect(unknown)
    }

    @Test func accessTimesAreInvalidatedIfNoOtherHandleIsOpen() {
        var cache = KernelCache()
        let first = cache.access(Self.number, at: 10)
        _ = cache.open(Self.number, .cached)
        let sameSecond = cache.access(Self.number, at: 10)
        let second = cache.access(Self.number, at: 11)
        _ = cache.open(Self.number, .cached)
        _ = cache.close(Self.number)
        let closed = cache.access(Self.number, at: 12)
        _ = cache.close(Self.number)
        let last = cache.access(Self.number, at: 13)
        #expect([first, sameSecond, second, closed, last] == [true, false, false, false, true])
        #expect(cache.accessTimes[7] == 13)
    }
}
