internal import Foundation
internal import Logging
internal import Platform
package import PodcastFeed
package import PodcastLibrary
package import PodcastProtocol
internal import SystemPackage

/// The copies from which a lost library is restored: its backup and the subscription list.
@ServiceActor
final class LibraryCopies: ServicePart {
    nonisolated let driver: CoreDriver
    // Due times by the clock that never goes back, so that a set clock postpones nothing.
    /// The time at which the subscription list is written; `nil` if it has not changed.
    private var listDue: Instant?
    /// The time of the next backup.
    private var backupDue: Instant
    /// Whether the subscriptions have changed since the last backup.
    private var isChanged = false
    /// Whether there was no backup at the start, or one dated in the future, and none has been tried since.
    private var lacksBackup = false
    /// The task that writes what is due.
    private var running: Task<Void, Never>?

    /// Delay of the list after a change, because an import changes the subscriptions many times a second.
    private static let listDelay = Duration.seconds(1)
    /// Interval between two attempts while the list cannot be written, for example because the disk is full.
    private static let retryDelay = Duration.seconds(60)
    /// Maximum age of the backup. A failed attempt is retried only after this time, too.
    private static let interval = Duration.seconds(86_400)
    /// Delay of a backup after a change of the subscriptions, so that ten subscriptions in a row cause one backup. The
    /// same delay applies after the start if there is no backup.
    static let backupDelay = Duration.seconds(60)

    init(_ driver: CoreDriver) {
        self.driver = driver
        backupDue = SystemClock.boottime.now + Self.backupDelay
        var status = stat()
        let hasBackup = stat(configuration.paths.libraryBackup, &status) == 0 && status.st_size > 0
        let age = moment.wall - WallTime.seconds(status.st_mtim.tv_sec)
        lacksBackup = !hasBackup || age < .zero
        if !lacksBackup { backupDue = uptime + max(.zero, Self.interval - age) }
    }

    /// Schedules a backup and a new copy of the subscription list after a change of the subscriptions.
    func subscriptionsChanged() {
        if !isChanged {
            isChanged = true
            backupDue = min(backupDue, uptime + Self.backupDelay)
        }
        copySubscriptions()
    }

    /// Schedules a new copy of the subscription list.
    func copySubscriptions() {
        if listDue != nil { return }
        listDue = uptime + Self.listDelay
        driver.report(.rescheduled)
    }

    /// The time at which the list or a backup is due; `nil` if there is nothing to copy.
    var next: WallTime? {
        if running != nil { return nil }
        let due = [listDue, isChanged || hasShows ? backupDue : nil].compactMap(\.self).min()
        return due.map { moment.wall + ($0 - uptime) }
    }

    private var hasShows: Bool { (try? library.hasSubscriptions()) ?? false }

    /// Writes what is due.
    func run() {
        guard running == nil else { return }
        running = startTask { [self] in
            await driver.underWay {
                if let listDue, listDue <= uptime { await writeList() }
                if backupDue <= uptime { await backUp() }
            }
            running = nil
            driver.report(.rescheduled)
        }
    }

    /// Writes a pending copy of the subscription list and makes a pending backup, before the daemon exits.
    func finish() async {
        await running?.value
        if listDue != nil { await writeList() }
        if isChanged || lacksBackup && hasShows { await backUp() }
    }

    private func writeList() async {
        listDue = nil
        do {
            let document = SubscriptionsCopy.document(try library.subscriptions(), credentials)
            try await Self.replace(configuration.paths.subscriptionsCopy, with: document, now: now(), log)
        } catch {
            listDue = uptime + Self.retryDelay
            log.error("the list of the subscriptions was not copied: \(error)")
        }
    }

    /// Replaces the file unless it has this content already. A file that cannot be read or is damaged is renamed first,
    /// since it may be the only list of lost subscriptions. Runs outside the actor, because it waits for the disk.
    @concurrent private static func replace(
        _ path: String, with document: [UInt8], now: Int64, _ log: Logger
    ) async throws {
        if let old = FileManager.default.contents(atPath: path), old.elementsEqual(document) { return }
        do throws(SubscriptionsCopy.Problem) {
            _ = try SubscriptionsCopy.read(path)
        } catch {
            let aside = "\(path).damaged-\(now)"
            guard rename(path, aside) == 0 else { throw error }
            log.error(
                "\(error); it is kept as \(aside): if shows are missing, correct it and pass it to podfs import")
        }
        try AtomicFile.write(document, to: path, mode: 0o600, isSoleWriter: true)
    }

    /// Checks the library and copies it. Runs outside the actor, because a large library takes seconds. A damaged
    /// library never replaces the last good backup.
    func backUp() async {
        (isChanged, lacksBackup) = (false, false)
        backupDue = uptime + Self.interval
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

/// The copy of the subscription list beside the library, from which a lost library is restored. The format is OPML,
/// which other podcast apps can import. The feed URLs contain the shows' credentials.
package enum SubscriptionsCopy {
    /// Returns the list as an OPML document.
    package static func document(_ subscriptions: [Subscription], _ credentials: CredentialStore<ShowID>) -> [UInt8] {
        OPML.document(
            title: "podfs subscriptions",
            subscriptions: subscriptions.lazy.map { $0.outline(url: credentials.address(of: $0).whole) })
    }

    /// The reason, in one line, why a copy cannot be read or is not a list of subscriptions.
    package typealias Problem = Daemon.Problem

    /// Returns the subscriptions in a copy; empty if there is no file.
    package static func read(_ path: String) throws(Problem) -> [OPML.Subscription] {
        let bytes: [UInt8]
        do throws(Errno) {
            bytes = try readFile(path)
        } catch {
            // A folder at the path has no subscriptions that could be lost, so it counts as no file.
            if error == .noSuchFileOrDirectory || error == .isDirectory { return [] }
            throw Problem(description: "\(path) cannot be read: \(error.description)")
        }
        do {
            return try OPML.parse(bytes).subscriptions
        } catch {
            throw Problem(description: "\(path) is damaged: \(error)")
        }
    }
}

/// Returns the content of a file.
///
/// - Throws: The error of open(2) or read(2).
func readFile(_ path: String) throws(Errno) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Errno(rawValue: errno) }
    defer { close(descriptor) }
    guard let bytes = readAll(descriptor) else { throw Errno(rawValue: errno) }
    return bytes
}
