import Foundation
import Platform
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService

@Suite(.stopsDaemons) struct LibraryCopiesTests {
    @Test func theFirstBackupIsScheduledByTheServiceClock() async throws {
        let home = ServiceHome()
        home.publish()
        let first = try await home.start()
        try await first.connect().subscribe(home.web.url("/feed.xml"))
        await first.stop()
        try FileManager.default.removeItem(atPath: home.paths.libraryBackup)
        let clock = WallTime.now + .seconds(7 * 86_400)
        let second = try await home.start { $0.wallClock = { clock } }
        #expect(await second.service.refresher.copies.next == clock + BackupSchedule.delay)
    }
}
