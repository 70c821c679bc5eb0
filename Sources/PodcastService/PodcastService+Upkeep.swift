internal import CLinux
internal import Foundation
internal import Glibc
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferEngine

// What comes by itself: each thing has a moment at which it is due; one timer sleeps until the first of them.
extension PodcastService {
    /// The longest sleep, in seconds. The moments are of the wall clock, which may be set; after a jump all is well again
    /// within this time, and what is due is done once however often it has been missed.
    private static let longestSleep: Int64 = 900

    /// Sets the timer anew: something has become due earlier or later.
    func planUpkeep() {
        upkeepTimer?.cancel()
        let pause = max(0, min(nextUpkeep() - now(), Self.longestSleep))
        upkeepTimer = Task(executorPreference: WorkerPool.shared) { [weak self] in
            await Timers.sleep(for: .seconds(pause))
            guard !Task.isCancelled else { return }
            await self?.upkeep()
        }
    }

    private func nextUpkeep() -> Int64 {
        min(
            nextBackup(), storage.recheck ?? .max, nextRefresh() ?? .max, nextSync() ?? .max, nextUpload() ?? .max)
    }

    private func upkeep() async {
        guard !isUpkeepRunning else { return }
        isUpkeepRunning = true
        noteClock()
        if let due = storage.recheck, due <= now() {
            storage.recheck = nil
            makeRoom()
        }
        refreshDue()
        syncIfDue()
        beginWaitingUploads()
        if nextBackup() <= now() { await backUp() }
        forgetRemovedShows()
        purgeEphemeral()
        isUpkeepRunning = false
        planUpkeep()
    }

    /// Takes up that the clock was set. What was scheduled by one that was set back would be due that much later; and what
    /// waits for the sync server was dated by the clock as it was.
    func noteClock() {
        let (wall, uptime) = (now(), SystemClock.boottime.seconds)
        defer { clock = (wall, uptime) }
        let jump = clock.map { (wall - $0.wall) - (uptime - $0.uptime) } ?? 0
        let isSet = abs(jump) > Self.clockTolerance
        guard clock == nil || isSet else { return }
        do {
            if isSet { try library.moveUnsent(by: jump) }
            guard clock == nil || jump < 0 else { return }
            storage.recheck = storage.recheck.map { $0 + jump }
            try library.forgetFutureSchedules(now: wall)
        } catch {
            log.error("\(error)")
        }
    }

    /// Seconds by which a clock is corrected and not set.
    private static let clockTolerance: Int64 = 60

    // MARK: Conditions

    /// Lets downloads that nobody has asked for run while the link and the power allow it.
    func watchConditions() {
        let configuration = configuration
        // Until the conditions are known they are not taken for good ones.
        if configuration.conditions.current() == nil { setDiscretionary(false) }
        conditionWatch = Task(executorPreference: WorkerPool.shared) { [weak self] in
            for await conditions in configuration.conditions.changes() {
                let allowed = conditions.allowsDiscretionary(
                    allowMetered: configuration.allowsMetered, allowBattery: configuration.allowsBattery)
                await self?.setDiscretionary(allowed)
            }
        }
    }

    private func setDiscretionary(_ allowed: Bool) {
        allowsDiscretionary = allowed
        engine.setDiscretionary(allowed: allowed)
        planUpkeep()
    }

    // MARK: The library's backup

    /// The subscriptions have changed: they are worth a backup soon, and a new copy of their list now.
    func backUpSoon() {
        copySubscriptions()
        if backups.subscriptionsChanged(now: now()) { planUpkeep() }
    }

    private func nextBackup() -> Int64 {
        backups.next(backup: backupMoment, hasShows: hasShows, now: now())
    }

    /// When the present backup was made; `nil` when there is none.
    private var backupMoment: Int64? {
        var status = stat()
        guard stat(configuration.places.libraryBackup, &status) == 0, status.st_size > 0 else { return nil }
        return Int64(status.st_mtim.tv_sec)
    }

    private var hasShows: Bool { (try? library.hasSubscriptions()) ?? false }

    /// The daemon leaves: a backup that is still due is made now.
    func backUpIfDue() async {
        await finishSubscriptionsCopy()
        if backups.isDueAtEnd(backup: backupMoment, hasShows: hasShows, now: now()) { await backUp() }
    }

    /// Looks the library over and copies it, away from the actor: it takes seconds for a large one. A damaged library does
    /// not take the place of its last good backup.
    private func backUp() async {
        backups.begin(now: now())
        let library = library
        let path = configuration.places.libraryBackup
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
    /// For people, one line.
    fileprivate static func date(_ moment: Int64) -> String {
        ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: TimeInterval(moment)))
    }

    var notice: String {
        let kept = "the damaged file is kept as \(damaged)"
        guard let backup else {
            return "the library was damaged and had no backup: it is made anew from the list of subscriptions; \(kept)"
        }
        return "the library was damaged: the backup of \(Self.date(backup)) has taken its place; \(kept)"
    }
}
