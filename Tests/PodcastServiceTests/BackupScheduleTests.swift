import Platform
import Testing

@testable import PodcastService

/// The times of the library's backups.
@Suite struct BackupScheduleTests {
    private let start = WallTime.seconds(1_800_000_000)

    private func at(_ seconds: Int64) -> WallTime { start + .seconds(seconds) }

    @Test func aMissingBackupIsMadeSoonAfterTheStart() {
        let schedule = BackupSchedule(started: start)
        #expect(schedule.next(backup: nil, hasShows: true, now: start) == at(60))
        // Later calls do not postpone the backup.
        #expect(schedule.next(backup: nil, hasShows: true, now: at(3_600)) == at(60))
        #expect(schedule.isDueAtEnd(backup: nil, hasShows: true, now: at(5)))
    }

    @Test func aLibraryWithoutShowsNeedsNoBackup() {
        let schedule = BackupSchedule(started: start)
        #expect(schedule.next(backup: nil, hasShows: false, now: start) == nil)
        #expect(!schedule.isDueAtEnd(backup: nil, hasShows: false, now: start))
    }

    @Test func aBackupIsRenewedAfterADay() throws {
        let schedule = BackupSchedule(started: start)
        #expect(schedule.next(backup: at(-1_000), hasShows: true, now: start) == at(-1_000) + BackupSchedule.interval)
        #expect(!schedule.isDueAtEnd(backup: at(-1_000), hasShows: true, now: start))
        // The backup became too old while no daemon ran.
        #expect(try #require(schedule.next(backup: at(-200_000), hasShows: true, now: start)) <= start)
    }

    @Test func aBackupDatedInTheFutureCountsAsMissing() throws {
        var schedule = BackupSchedule(started: start)
        #expect(schedule.next(backup: at(400 * 86_400), hasShows: true, now: start) == at(60))
        #expect(schedule.isDueAtEnd(backup: at(400 * 86_400), hasShows: true, now: start))
        // The backup was made while the clock was ahead; the clock has been set back since.
        schedule.begin(now: at(400 * 86_400))
        #expect(try #require(schedule.next(backup: at(400 * 86_400), hasShows: true, now: start)) <= at(60))
    }

    @Test func aFailedBackupIsRetriedAfterADay() {
        var schedule = BackupSchedule(started: start)
        schedule.begin(now: at(60))
        #expect(schedule.next(backup: nil, hasShows: true, now: at(61)) == at(60) + BackupSchedule.interval)
        #expect(schedule.next(backup: at(-90_000), hasShows: true, now: at(61)) == at(60) + BackupSchedule.interval)
        #expect(!schedule.isDueAtEnd(backup: nil, hasShows: true, now: at(61)))
    }

    @Test func changesAreGatheredForAMinute() throws {
        var schedule = BackupSchedule(started: start)
        let changes = [schedule.subscriptionsChanged(now: at(10)), schedule.subscriptionsChanged(now: at(50))]
        #expect(changes == [true, false])
        #expect(schedule.next(backup: start, hasShows: true, now: at(50)) == at(70))
        #expect(schedule.isDueAtEnd(backup: start, hasShows: true, now: at(50)))
        // The change was recorded while the clock was ahead; the clock has been set back since.
        #expect(try #require(schedule.next(backup: at(-9), hasShows: true, now: at(-5_000))) <= at(-4_940))
        schedule.begin(now: at(70))
        #expect(schedule.next(backup: at(70), hasShows: true, now: at(71)) == at(70) + BackupSchedule.interval)
    }
}
