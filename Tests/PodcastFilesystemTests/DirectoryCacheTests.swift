import Platform
import TestSupport
import Testing

@testable import PodcastFilesystem

struct DirectoryCacheTests {
    private let listing = Kept()

    static func basis(_ number: Int64) -> DirectoryCaches.Basis {
        DirectoryCaches.Basis(folder: NodeNumber(kind: .show, row: 1), library: number, change: 0, accesses: 0)
    }

    static func opening(
        _ number: Int64 = 1, count: Int = 100, at now: Instant = .start, invalidations: UInt64 = 0
    ) -> DirectoryCache.OpenInputs {
        DirectoryCache.OpenInputs(listing: basis(number), count: count, now: now, invalidations: invalidations)
    }

    @Test func aStreamOfAnotherListingBypassesTheCacheUntilTheOlderIsClosed() {
        _ = listing.open(1, Self.opening(1))
        listing.requested(1)
        #expect(!listing.finished(1))
        #expect(listing.open(2, Self.opening(2)) == .bypasses)
        // A stream that bypasses the cache does not prevent others from using it.
        #expect(listing.open(3, Self.opening(1)) == .shares)
        listing.close(1)
        #expect(listing.open(4, Self.opening(2)) == .bypasses)
        listing.close(3)
        #expect(listing.open(5, Self.opening(2)) == .fills)
    }

    @Test func noStreamSharesTheCacheBeforeItIsCleared() {
        _ = listing.open(1, Self.opening())
        #expect(listing.open(2, Self.opening()) == .bypasses)
        listing.requested(1)
        #expect(listing.open(3, Self.opening()) == .shares)
    }

    @Test func aStreamClosedUnreadHasClearedTheCache() {
        _ = listing.open(1, Self.opening())
        listing.close(1)
        #expect(listing.open(2, Self.opening()) == .shares)
    }

    @Test func lostAttributesAreSentAgain() {
        _ = listing.open(1, Self.opening(count: 80, invalidations: 5))
        listing.requested(1)
        #expect(!listing.finished(1))
        listing.close(1)
        #expect(listing.open(2, Self.opening(count: 80, invalidations: 15)) == .shares)
        // The cache is not cleared while a stream that may fill it is open.
        #expect(listing.open(3, Self.opening(count: 80, invalidations: 16)) == .bypasses)
        listing.close(2)
        #expect(listing.open(4, Self.opening(count: 80, invalidations: 16)) == .fills)
        listing.requested(4)
        #expect(!listing.finished(4))
        listing.close(4)
        #expect(listing.open(5, Self.opening(count: 80, invalidations: 16)) == .shares)
    }

    @Test func expiredAttributesAreSentAgain() {
        _ = listing.open(1, Self.opening(at: .seconds(10)))
        listing.requested(1)
        #expect(!listing.finished(1))
        listing.close(1)
        #expect(listing.open(2, Self.opening(at: .seconds(9) + DirectoryCache.maxAge)) == .shares)
        listing.close(2)
        #expect(listing.open(3, Self.opening(at: .seconds(10) + DirectoryCache.maxAge)) == .fills)
    }

    @Test func aChangeDropsTheCacheOfAnOpenStream() {
        #expect(!listing.change())
        _ = listing.open(1, Self.opening())
        #expect(!listing.requested(1))
        #expect(!listing.finished(1))
        #expect(listing.change())
        // The cache is already empty.
        #expect(!listing.change())
        #expect(listing.requested(1))
        listing.rewind(1, to: 2)
        #expect(listing.open(2, Self.opening(2)) == .bypasses)
        // The kernel may have cached names of both listings.
        #expect(listing.finished(1))
        listing.close(1)
        #expect(listing.open(3, Self.opening(2)) == .fills)
    }

    @Test func aCacheIsNotClearedWhileItIsFilled() {
        _ = listing.open(1, Self.opening())
        listing.requested(1)
        #expect(!listing.change())
        #expect(listing.finished(1))
        // The stream's names are outdated until it is rewound. So `finished` reports again that the kernel must drop
        // its cache.
        #expect(listing.finished(1))
        #expect(!listing.change())
        listing.close(1)
        // Without open streams no invalidation is needed.
        #expect(!listing.change())
    }

    @Test func aPartialCacheIsCompletedAndDroppedBeforeItIsCleared() {
        _ = listing.open(1, Self.opening(1))
        listing.requested(1)
        listing.close(1)
        // A stream of the same listing continues to fill the cache.
        #expect(listing.open(2, Self.opening(1)) == .shares)
        listing.requested(2)
        listing.close(2)
        #expect(listing.open(3, Self.opening(2)) == .shares)
        #expect(listing.open(4, Self.opening(2)) == .bypasses)
        listing.requested(3)
        #expect(listing.finished(3))
        listing.close(3)
        #expect(listing.open(5, Self.opening(2)) == .fills)
        listing.requested(5)
        #expect(!listing.finished(5))
    }

    @Test func aPartialCacheIsSharedDespiteInvalidations() {
        _ = listing.open(1, Self.opening(count: 80))
        listing.requested(1)
        listing.close(1)
        // 50 of the 80 inodes have lost their attributes. The kernel reads no names from an incomplete cache: it
        // requests all of them, and receives them with attributes.
        #expect(listing.open(2, Self.opening(count: 80, invalidations: 50)) == .shares)
        listing.requested(2)
        #expect(!listing.finished(2))
        listing.close(2)
        #expect(listing.open(3, Self.opening(count: 80, invalidations: 60)) == .shares)
        listing.close(3)
        #expect(listing.open(4, Self.opening(count: 80, invalidations: 61)) == .fills)
    }

    /// A single program lists the folder, under the simulated kernel's rules.
    @Test func theCacheIsFilledAgainAfterAPartialListing() {
        var simulation = ListingSimulation(seed: 1)
        for _ in 0..<10 {
            let known = (0..<2).map { _ in simulation.listAlone() }
            simulation.change()
            let left = simulation.listAlone(leavingAfter: 2)
            simulation.changeAndRestoreNames()
            let changed = (0..<3).map { _ in simulation.listAlone() }
            #expect(known.last == false && left && changed.first == true && changed.last == false)
        }
        #expect(simulation.failures == [])
    }

    /// Simulates random orders of opens, reads, changes and other events against the kernel's rules. Every stream
    /// returns each name at most once, all names that exist throughout, and none that does not exist meanwhile. The
    /// time begins at the stream's opendir(3); after a rewinddir(3), at the last change that had reached the kernel as
    /// an invalidation.
    @Test(arguments: 0..<200) func everyStreamGivesEachLastingNameOnce(seed: UInt64) {
        var simulation = ListingSimulation(seed: seed)
        for _ in 0..<2_000 { simulation.step() }
        simulation.finish()
        #expect(simulation.failures == [])
        #expect(simulation.completed > 20)
        #expect(simulation.uses[.fills, default: 0] > 0 && simulation.uses[.shares, default: 0] > 0)
    }
}

/// A class around `DirectoryCache`, because `#expect` cannot call mutating functions of a value stored in the suite.
private final class Kept {
    private var listing = DirectoryCache()

    var isIdle: Bool { listing.isIdle }

    func open(_ handle: UInt64, _ opening: DirectoryCache.OpenInputs) -> DirectoryCache.Use {
        listing.open(handle, opening)
    }

    func abandon(_ handle: UInt64) { listing.abandon(handle) }

    @discardableResult
    func requested(_ handle: UInt64) -> Bool { listing.requested(handle) }

    func finished(_ handle: UInt64) -> Bool { listing.finished(handle) }

    func rewind(_ handle: UInt64, to number: Int64) { listing.rewind(handle, to: DirectoryCacheTests.basis(number)) }

    func change() -> Bool { listing.change() }

    func close(_ handle: UInt64) { listing.close(handle) }
}
