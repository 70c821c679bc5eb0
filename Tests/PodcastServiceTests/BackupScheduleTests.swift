import PodcastService
import Testing

/// The times of the library's backups.
@Suite struct BackupScheduleTests {
    private let start: Int64 = 1_800_000_000

    @Test func aMissingBackupIsMadeSoonAfterTheStart() {
        let schedule = BackupSchedule(started: start)
        #expect(schedule.next(backup: nil, hasShows: true, now: start) == start + 60)
        // Later calls do not postpone the backup.
        #expect(schedule.next(backup: nil, hasShows: true, now: start + 3_600) == start + 60)
        #expect(schedule.isDueAtEnd(backup: nil, hasShows: true, now: start + 5))
    }

    @Test func aLibraryWithoutShowsNeedsNone() {
        let schedule = BackupSchedule(started: start)
        #expect(schedule.next(backup: nil, hasShows: false, now: start) == .max)
        #expect(!schedule.isDueAtEnd(backup: nil, hasShows: false, now: start))
    }

    @Test func aBackupIsRenewedAfterADay() {
        let schedule = BackupSchedule(started: start)
        #expect(schedule.next(backup: start - 1_000, hasShows: true, now: start) == start - 1_000 + 86_400)
        #expect(!schedule.isDueAtEnd(backup: start - 1_000, hasShows: true, now: start))
        // A backup that became too old while no daemon ran.
        #expect(schedule.next(backup: start - 200_000, hasShows: true, now: start) <= start)
    }

    @Test func aBackupOfTheFutureCountsAsNone() {
        var schedule = BackupSchedule(started: start)
        #expect(schedule.next(backup: start + 400 * 86_400, hasShows: true, now: start) == start + 60)
        #expect(schedule.isDueAtEnd(backup: start + 400 * 86_400, hasShows: true, now: start))
        // The backup was made while the clock was ahead; the clock was set back since.
        schedule.begin(now: start + 400 * 86_400)
        #expect(schedule.next(backup: start + 400 * 86_400, hasShows: true, now: start) <= start + 60)
    }

    @Test func aTryThatFailedIsRepeatedAfterADay() {
        var schedule = BackupSchedule(started: start)
        schedule.begin(now: start + 60)
        #expect(schedule.next(backup: nil, hasShows: true, now: start + 61) == start + 60 + 86_400)
        #expect(schedule.next(backup: start - 90_000, hasShows: true, now: start + 61) == start + 60 + 86_400)
        #expect(!schedule.isDueAtEnd(backup: nil, hasShows: true, now: start + 61))
    }

    @Test func changesAreGatheredForAMinute() {
        var schedule = BackupSchedule(started: start)
        let changes = [schedule.subscriptionsChanged(now: start + 10), schedule.subscriptionsChanged(now: start + 50)]
        #expect(changes == [true, false])
        #expect(schedule.next(backup: start, hasShows: true, now: start + 50) == start + 70)
        #expect(schedule.isDueAtEnd(backup: start, hasShows: true, now: start + 50))
        // Recorded while the clock was ahead.
        #expect(schedule.next(backup: start - 9, hasShows: true, now: start - 5_000) <= start - 5_000 + 60)
        schedule.begin(now: start + 70)
        #expect(schedule.next(backup: start + 70, hasShows: true, now: start + 71) == start + 70 + 86_400)
    }
}
