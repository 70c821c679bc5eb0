import Platform
import TestSupport
import Testing

@testable import PodcastFilesystem

struct DirectoryCacheTests {
    static func basis(_ number: Int64) -> DirectoryCaches.Basis {
        DirectoryCaches.Basis(folder: NodeNumber(kind: .show, row: 1), library: number, change: 0, accesses: 0)
    }

    static func opening(
        _ number: Int64 = 1, count: Int = 100, at now: Instant = .start, invalidations: UInt64 = 0
    ) -> DirectoryCache.OpenInputs {
        DirectoryCache.OpenInputs(listing: basis(number), count: count, now: now, invalidations: invalidations)
    }

    @Test func expiredAttributesAreSentAgain() {
        var listing = DirectoryCache()
        _ = listing.open(1, Self.opening(at: .seconds(10)))
        _ = listing.requested(1)
        #expect(listing.finished(1) == false)
        listing.close(1)
        #expect(listing.open(2, Self.opening(at: .seconds(9) + DirectoryCache.maxAge)) == .shares)
        listing.close(2)
        #expect(listing.open(3, Self.opening(at: .seconds(10) + DirectoryCache.maxAge)) == .fills)
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
