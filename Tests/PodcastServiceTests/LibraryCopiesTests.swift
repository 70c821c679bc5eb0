import Foundation
import Platform
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

/// The times of the library's backups.
@Suite(.stopsDaemons) struct LibraryCopiesTests {
    private let home = ServiceHome()
    private let clock = WallTime.now + .seconds(7 * 86_400)

    /// Starts a daemon with a show and a backup of this age, by the daemon's clock.
    private func start(backup age: Duration?) async throws -> RunningService {
        home.publish()
        let first = try await home.start()
        try await first.connect().subscribe(home.web.url("/feed.xml"))
        await first.stop()
        if let age {
            let date = Date(timeIntervalSince1970: Double((clock - age).seconds))
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: home.paths.libraryBackup)
        } else {
            try FileManager.default.removeItem(atPath: home.paths.libraryBackup)
        }
        return try await home.start { $0.wallClock = { [clock] in clock } }
    }

    @Test(
        arguments: [
            (.seconds(1_000), .seconds(85_400)), (nil, .seconds(60)), (.seconds(-400 * 86_400), .seconds(60)),
        ] as [(Duration?, Duration)])
    func aMissingOrFutureBackupIsRenewedSoonAndAnyOtherAfterADay(age: Duration?, delay: Duration) async throws {
        let daemon = try await start(backup: age)
        // The list of the subscriptions is checked at the start.
        try await waitUntil { await daemon.service.refresher.copies.next.map { $0 > clock + .seconds(30) } ?? false }
        let next = try #require(await daemon.service.refresher.copies.next)
        #expect(next > clock + delay - .seconds(30) && next <= clock + delay)
        // A change of the subscriptions, in a minute; it is also backed up when the daemon exits.
        let show = try #require(try daemon.library.podcasts().first).id
        _ = try await daemon.connect().perform(.unsubscribe(podcast: show))
        let changed = try #require(await daemon.service.refresher.copies.next)
        #expect(changed <= clock + .seconds(60))
        await daemon.stop()
        let attributes = try FileManager.default.attributesOfItem(atPath: home.paths.libraryBackup)
        let made = try #require(attributes[.modificationDate] as? Date)
        #expect(abs(made.timeIntervalSinceNow) < 600)
    }

    @Test func aLibraryWithoutShowsNeedsNoBackup() async throws {
        let daemon = try await home.start()
        await daemon.stop()
        #expect(!FileManager.default.fileExists(atPath: home.paths.libraryBackup))
    }
}
