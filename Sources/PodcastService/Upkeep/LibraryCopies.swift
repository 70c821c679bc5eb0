internal import CLinux
internal import Foundation
internal import Glibc
internal import Logging
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol

/// The copies from which a lost library is restored: its backup and the subscription list.
@ServiceActor
final class LibraryCopies: ServicePart {
    nonisolated let driver: CoreDriver
    private var schedule: BackupSchedule
    /// Whether the subscriptions have changed since the subscription list was last written.
    private var isDue = false
    /// The task that writes the list.
    private var writer: Task<Void, Never>?

    init(_ driver: CoreDriver) {
        self.driver = driver
        schedule = BackupSchedule(started: driver.context.configuration.wallClock())
    }

    /// Schedules a backup and a new copy of the subscription list after a change of the subscriptions.
    func subscriptionsChanged() {
        copySubscriptions()
        if schedule.subscriptionsChanged(now: moment.wall) { driver.report(.rescheduled) }
    }

    // MARK: The subscription list

    /// Schedules a new copy of the subscription list.
    func copySubscriptions() {
        isDue = true
        guard writer == nil else { return }
        writer = startTask { [weak self] in
            while let self, isDue, !Task.isCancelled {
                let isWritten = await writeSubscriptionsCopy()
                await Timers.sleep(for: isWritten ? SubscriptionsCopy.pause : SubscriptionsCopy.retryPause)
            }
            self?.writer = nil
        }
    }

    /// Writes a pending copy before the daemon exits.
    private func finishWriting() async {
        // During the wait, a change of the subscriptions may start another writer.
        while let writer {
            writer.cancel()
            await writer.value
        }
        while isDue, await writeSubscriptionsCopy() {}
    }

    /// Writes the list.
    ///
    /// - Returns: `false` if that fails: it is still due.
    private func writeSubscriptionsCopy() async -> Bool {
        isDue = false
        do {
            let document = SubscriptionsCopy.document(try library.subscriptions(), credentials)
            let problem = try await Self.replace(configuration.paths.subscriptionsCopy, with: document, now: now())
            if let problem { log.error("\(problem)") }
            return true
        } catch {
            isDue = true
            log.error("the list of the subscriptions was not copied: \(error)")
            return false
        }
    }

    /// Replaces the file unless it has this content already. A file that cannot be read or is damaged is renamed first,
    /// since it may be the only list of lost subscriptions. Runs outside the actor, because it waits for the disk.
    ///
    /// - Returns: a message about the renamed file; `nil` if there is none.
    @concurrent private static func replace(
        _ path: String, with document: [UInt8], now: Int64
    ) async throws -> String? {
        if let old = FileManager.default.contents(atPath: path), old.elementsEqual(document) { return nil }
        var renamed: (problem: SubscriptionsCopy.Problem, path: String)?
        do throws(SubscriptionsCopy.Problem) {
            _ = try SubscriptionsCopy.read(path)
        } catch {
            let aside = "\(path).damaged-\(now)"
            guard rename(path, aside) == 0 else { throw error }
            renamed = (error, aside)
        }
        do {
            try AtomicFile.write(document, to: path, mode: 0o600, isSoleWriter: true)
        } catch {
            if let renamed { rename(renamed.path, path) }
            throw error
        }
        return renamed.map {
            "\($0.problem); it is kept as \($0.path): if shows are missing, correct it and pass it to podfs import"
        }
    }

    // MARK: The backup

    /// The time at which the next backup is due; `nil` if there is nothing to back up.
    var next: WallTime? { schedule.next(backup: backupMoment, hasShows: hasShows, now: moment.wall) }

    /// The time at which the current backup was made; `nil` if there is none.
    private var backupMoment: WallTime? {
        var status = stat()
        guard stat(configuration.paths.libraryBackup, &status) == 0, status.st_size > 0 else { return nil }
        return .seconds(status.st_mtim.tv_sec)
    }

    private var hasShows: Bool { (try? library.hasSubscriptions()) ?? false }

    /// Writes a pending copy of the subscription list and makes a pending backup, before the daemon exits.
    func finish() async {
        await finishWriting()
        if schedule.isDueAtEnd(backup: backupMoment, hasShows: hasShows, now: moment.wall) { await backUp() }
    }

    /// Checks the library and copies it. Runs outside the actor, because a large library takes seconds. A damaged
    /// library never replaces the last good backup.
    func backUp() async {
        schedule.begin(now: moment.wall)
        let library = library
        let path = configuration.paths.libraryBackup
        let problem: String? = await withCheckedContinuation { continuation in
            DispatchQueue(label: "podfs.backup", qos: .background).async {
                do {
                    try library.check()
                    try library.backup(to: path)
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: "\(error)")
                }
            }
        }
        if let problem { log.error("the library was not backed up: \(problem)") }
    }
}

extension LibraryRecovery {
    /// The message that the daemon logs, and that the next command prints. It names the source from which the library
    /// was restored, and the current path of the damaged file, if there is one.
    var notice: String {
        let problem = damaged == nil ? "did not exist" : "was damaged"
        let kept = damaged.map { "; the damaged file is kept as \($0)" } ?? ""
        guard let backup else {
            return "the library \(problem) and had no backup: it was recreated from the subscription list\(kept)"
        }
        let date = PublicationDate(seconds: backup, offset: 0).iso8601
        return "the library \(problem): it was restored from the backup of \(date)\(kept)"
    }
}

/// The schedule of library backups. Pure: the caller supplies the clock and the time of the current backup.
///
/// If there is no backup, or it is dated in the future because the clock was set back, the next one is due shortly
/// after the start.
struct BackupSchedule: Sendable, Equatable {
    /// Maximum age of the backup.
    static let interval = Duration.seconds(86_400)
    /// Delay of a backup after a change of the subscriptions, so that ten subscriptions in a row cause one backup. The
    /// same delay applies after the start if there is no backup.
    static let delay = Duration.seconds(60)

    /// The time at which the daemon started.
    private let started: WallTime
    /// The time of the last attempt at a backup, successful or not.
    private var lastTry: WallTime?
    /// The time at which the backup for a changed subscription list is due.
    private var changeDue: WallTime?

    init(started: WallTime) { self.started = started }

    /// Records a change of the subscriptions.
    ///
    /// - Returns: whether the next backup may now be due earlier; `false` if an earlier change has already scheduled
    ///   one, which is not postponed.
    mutating func subscriptionsChanged(now: WallTime) -> Bool {
        guard changeDue == nil else { return false }
        changeDue = now + Self.delay
        return true
    }

    /// Records that a backup begins.
    mutating func begin(now: WallTime) {
        lastTry = now
        changeDue = nil
    }

    /// Returns when the next backup is due; `nil` if the library has no shows, there is no backup, and no change of the
    /// subscriptions is waiting for one.
    ///
    /// - Parameters:
    ///   - backup: when the current backup was made; `nil` if there is none.
    ///   - hasShows: whether the library contains anything worth backing up.
    func next(backup: WallTime?, hasShows: Bool, now: WallTime) -> WallTime? {
        // A change recorded before the clock was set back is due after at most one delay from now.
        let change = changeDue.map { min($0, now + Self.delay) }
        // A failed attempt is retried only after the full interval.
        let tried = lastTry.flatMap { $0 <= now ? $0 : nil }
        var regular: WallTime?
        if let backup, backup <= now {
            regular = max(backup, tried ?? backup) + Self.interval
        } else if hasShows {
            regular = tried.map { $0 + Self.interval } ?? min(started, now) + Self.delay
        }
        return [change, regular].compactMap(\.self).min()
    }

    /// Returns whether the daemon makes a backup before it exits: after changes, and if there is no backup.
    func isDueAtEnd(backup: WallTime?, hasShows: Bool, now: WallTime) -> Bool {
        if changeDue != nil { return true }
        guard hasShows else { return false }
        // An attempt that failed since the start is not repeated at exit.
        return (backup.map { $0 > now } ?? true) && lastTry == nil
    }
}
