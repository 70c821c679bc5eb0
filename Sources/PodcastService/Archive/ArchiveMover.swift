internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// The archive's unattended work: moves complete files of archived shows from the cache to the archive, one at a time,
/// and serves archived files again when the folder has returned.
///
/// `ArchiveQueue` decides what is done when.
@ServiceActor
final class ArchiveMover: ServicePart {
    nonisolated let driver: CoreDriver
    private let archive: Archive
    private let sidecars: ArchiveSidecars
    private var queue: ArchiveQueue
    private var isWorking = false
    /// The value of `due` that the daemon's schedule contains.
    private var scheduled: Instant?
    /// The next files to move.
    private var candidates: [ArchiveCandidate] = []
    /// Episodes that programs had open when their files were to be moved or served again.
    private var busy: Set<EpisodeID> = []

    init(_ archive: Archive, _ driver: CoreDriver, _ assets: Assets) {
        self.driver = driver
        self.archive = archive
        sidecars = ArchiveSidecars(archive, assets)
        queue = ArchiveQueue(isConfigured: driver.context.configuration.archiveFolder != nil)
    }

    /// The number of detached files that are served again in one turn.
    private static let reattachedPerTurn = 64

    /// The time of the chore `archive`.
    var next: WallTime? { due.map { configuration.wallClock() + max(.zero, $0 - uptime) } }

    private var due: Instant? { isWorking ? nil : queue.due }

    /// Whether the episodes of a show are moved to the archive.
    func isArchived(_ show: ShowID) throws -> Bool {
        try configuration.archiveFolder != nil && library.isArchived(show, isDefault: configuration.archivesAll)
    }

    // MARK: Requests

    /// Starts the work: removes unfinished files, and continues what the previous daemon had begun.
    func start() {
        archive.queue.onRecovery { [weak self] in startTask { self?.folderMayHaveChanged() } }
        request()
    }

    /// Looks for files to move. Call after a download has completed, after a show's settings have changed, and after a
    /// program has closed an episode.
    func request() {
        guard configuration.archiveFolder != nil else { return }
        // A file that a program had open may have been closed since it was passed over.
        busy = []
        request(.move)
    }

    /// Looks for files that can be served again, since a missing one was found.
    func requestReattachment() { request(.reattach) }

    /// Looks at the folder, which may have come or gone.
    func folderMayHaveChanged() { request(.examine) }

    private func request(_ step: ArchiveQueue.Step) {
        queue.request(step)
        run()
    }

    /// Handles a refresh of a show, or a change of its settings. Finds the archived files of a show that is subscribed
    /// again, and adds what could not be fetched when its episodes were archived.
    func tidied(_ show: ShowID) {
        guard configuration.archiveFolder != nil else { return }
        attempt {
            if try library.reattachArchived(to: show) > 0 { queue.request(.reattach) }
            if try isArchived(show) {
                queue.request(.move)
                queue.request(.complete(show))
            }
            run()
        }
    }

    /// Performs steps until there are none.
    func run() {
        if isWorking { return }
        guard let step = queue.next(at: uptime) else { return reschedule() }
        isWorking = true
        startTask { [self] in
            var step: ArchiveQueue.Step? = step
            while let current = step {
                // The end of each step lets downloads use the space that it has freed.
                await driver.underWay { queue.finish(current, await perform(current), at: uptime) }
                await Task.yield()
                step = queue.next(at: uptime)
            }
            isWorking = false
            reschedule()
        }
    }

    /// Makes the daemon read `next`, if it has changed.
    private func reschedule() {
        guard due != scheduled else { return }
        scheduled = due
        driver.report(.rescheduled)
    }

    private func perform(_ step: ArchiveQueue.Step) async -> ArchiveQueue.Result {
        do {
            switch step {
            case .examine:
                let before = archive.state
                let found = await archive.check()
                if found.readProblem == nil, before == .unknown || before.readProblem != nil {
                    try await archive.reconcile()
                }
                if case .readOnly(let reason) = found,
                    try library.archiveBacklog(isDefault: configuration.archivesAll).episodes > 0
                {
                    try library.record(archiveHindrance: reason)
                }
                return .examined(found)
            case .reattach: return try reattach()
            case .move: return try await move()
            case .complete(let show): return await sidecars.complete(show) ? .done : .more
            }
        } catch {
            log.error("the archive: \(error)")
            return .failed
        }
    }

    // MARK: Moving

    private func move() async throws -> ArchiveQueue.Result {
        driver.drainEvents()
        guard let candidate = try nextCandidate() else {
            if busy.isEmpty, queue.refused.isEmpty { try library.record(archiveHindrance: nil) }
            defer { busy = [] }
            return busy.isEmpty ? .done : .postponed
        }
        guard try !archive.isRead(candidate.episode) else {
            busy.insert(candidate.episode)
            return .more
        }
        guard let rendition = try library.rendition(of: candidate.episode), rendition.complete,
            rendition.archived == nil, let size = rendition.size, try isArchived(candidate.show)
        else { return .more }
        let task = driver.beginFetch(path: candidate.path, kind: .archive)
        defer { driver.finishFetch(task) }
        let path = ContentCache.path(of: rendition.file, in: FilePath(configuration.paths.cache)).string
        do {
            let readers = driver.clients.waitingReaders
            let file = try await archive.store(
                fileAt: path, size: size, sha256: rendition.sha256, of: candidate.episode,
                begin: { readers.waitUntilQuiet(atMost: Self.longestYield) })
            if queue.refused.isEmpty { try library.record(archiveHindrance: nil) }
            if await !sidecars.add(to: file, of: candidate.episode) { queue.request(.complete(candidate.show)) }
            return .more
        } catch let error as ArchiveError {
            let hindrance = "\(candidate.path) is not archived: \(error)"
            log.warning("\(hindrance)")
            // For `.status` and `podfs doctor`.
            if archive.state.readProblem == nil { try library.record(archiveHindrance: hindrance) }
            switch error {
            case .unavailable, .full: return .failed
            case .refused, .damaged: return .refused(candidate.episode)
            }
        }
    }

    /// The number of candidates that are read from the library at a time.
    private static let candidatesPerPage = 64

    private func nextCandidate() throws -> ArchiveCandidate? {
        if candidates.isEmpty {
            candidates = try library.archiveCandidates(
                isDefault: configuration.archivesAll, excluding: busy.union(queue.refused),
                limit: Self.candidatesPerPage)
        }
        return candidates.isEmpty ? nil : candidates.removeFirst()
    }

    /// The maximum time for which the copying of one part waits for readers.
    private nonisolated static let longestYield = Duration.seconds(2)

    /// Serves archived files again that were read from elsewhere while the folder was offline. A file that a program
    /// has open stays as it is until the next attempt.
    private func reattach() throws -> ArchiveQueue.Result {
        driver.drainEvents()
        let open = driver.clients.openEpisodes
        let files = try library.detachedArchivedFiles(excluding: busy, limit: Self.reattachedPerTurn)
        for file in files {
            guard let episode = file.episode else { continue }
            let cached = try library.rendition(of: episode)
            let isRead = open.contains(episode) || cached.map { engine.cache.hasReader($0.file) } ?? false
            if isRead || driver.core.tasks.downloads[MediaID(episode)]?.snapshot.state.isActive ?? false {
                busy.insert(episode)
            } else {
                try archive.serve(file, as: episode)
            }
        }
        if !files.isEmpty { return .more }
        defer { busy = [] }
        return busy.isEmpty ? .done : .postponed
    }
}
