internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

/// The daemon's service: the only writer of library and cache, and the only part of podfs that uses the network.
///
/// It creates the parts and dispatches clients' commands to them. `DaemonCore` makes the decisions as a value without
/// IO, and `CoreDriver` passes it inputs and performs its effects. Frames with opens and reads are passed from the
/// socket's thread to the engine directly, since programs wait for the replies. Engine events are written to the
/// library in order before they are broadcast.
@ServiceActor
final class PodcastService: ServicePart {
    nonisolated let driver: CoreDriver
    let tasks: TaskCommands
    nonisolated let verifier: CacheVerifier
    let chapters: ChapterReader
    let refresher: Refresher
    let subscriptions: Subscriptions
    let searches: Searches
    let found: FoundShows
    let uploads: Uploads
    let listening: ListeningRecorder
    let sync: SyncExchange
    let views: Views
    let archive: Archive
    let mover: ArchiveMover
    /// Reports disks that are mounted or unmounted, if there is an archive.
    private var mounts: MountTableWatch?
    let find: FindUpdates
    let covers: Covers
    /// The way in which a damaged or missing library was replaced; `nil` if the library was intact.
    private let recovery: LibraryRecovery?
    /// The message for the next `podfs` command that connects; `nil` if there is none.
    nonisolated let notice: Mutex<String?>
    /// The episodes that probes (programs that read only headers and tags) have opened or read since the start.
    private nonisolated let probed = Mutex<Set<EpisodeID>>([])
    let onIdle: @Sendable () -> Void

    /// - Parameters:
    ///   - recovery: how a damaged or missing library was replaced; `nil` if the library was intact.
    ///   - onIdle: called when the daemon has been idle long enough, or a client has asked it to exit.
    init(
        configuration: ServiceConfiguration, library: Library, recovery: LibraryRecovery? = nil,
        onIdle: @escaping @Sendable () -> Void
    ) throws {
        self.recovery = recovery
        self.onIdle = onIdle
        notice = Mutex(recovery?.notice)
        let events = EventQueue()
        driver = CoreDriver(try ServiceContext(configuration, library, reportingTo: events), events: events)
        tasks = TaskCommands(driver)
        verifier = CacheVerifier(driver)
        searches = Searches(driver)
        found = FoundShows(tasks)
        uploads = Uploads(driver)
        refresher = Refresher(Tidier(tasks), driver, LibraryCopies(driver))
        subscriptions = Subscriptions(refresher, tasks, searches, Assets(driver))
        sync = SyncExchange(subscriptions)
        listening = ListeningRecorder(driver, refresher.tidier)
        views = Views(driver)
        archive = Archive(driver)
        chapters = ChapterReader(driver, archive)
        mover = ArchiveMover(archive, driver, subscriptions.assets)
        refresher.tidier.tidied = { [weak mover] show in mover?.tidied(show) }
        chapters.finished = { [weak mover] in mover?.request() }
        verifier.archive = archive
        find = FindUpdates(driver)
        covers = Covers(subscriptions.assets, driver)
    }

    /// Records an episode that a program opened or read only to probe it.
    nonisolated func recordProbe(of episode: EpisodeID) { probed.withLock { _ = $0.insert(episode) } }

    nonisolated var counters: Reply { .counters(probed: probed.withLock { $0.count }) }

    /// Starts the service: reconciles cache and library, restores lost subscriptions, continues the downloads and
    /// uploads of the previous daemon, and begins scheduled work.
    func start() throws {
        driver.service = self
        try verifier.reconcile()
        if let recovery {
            log.error("\(recovery.notice)")
            try library.skipGenerations()
        }
        if let problem = credentials.problem { log.error("\(problem)") }
        try found.removeMedia()
        found.purge()
        try subscriptions.restore(isRecovering: recovery != nil) { text in
            notice.withLock { if $0 == nil { $0 = text } }
        }
        subscriptions.assets.start()
        try refresher.start()
        try refresher.tidier.restoreKeptEpisodes()
        try tasks.start()
        // The work during which the daemon has crashed twice is skipped.
        let skipped = context.work.open(now: now()) { item in
            switch item.kind {
            case .refresh: (try? library.podcast(id: ShowID(item.id)))?.map(\.name)
            case .sync: (try? library.syncAccount())?.map(\.url)
            case .upload: (try? library.upload(id: TaskID(item.id)))?.map(\.title)
            }
        }
        for entry in skipped { log.error("\(entry.explanation)") }
        try uploads.start(isRecovering: recovery != nil)
        driver.start()
        chapters.start()
        mover.start()
        if configuration.archiveFolder != nil {
            mounts = MountTableWatch { [weak self] in startTask { self?.mover.folderMayHaveChanged() } }
        }
        driver.report(.changedText)
    }

    /// Stops all work, writes pending copies of the library, and records the bytes that each download has received.
    func stop() async {
        mounts = nil
        subscriptions.assets.stop()
        sync.stop()
        context.work.close()
        engine.shutDown()
        driver.drainEvents()
        driver.writeAgain()
        refresher.stop()
        driver.stop()
        await find.stop()
        await refresher.copies.finish()
        try? library.group {
            for task in tasks.downloads.values where task.snapshot.received != task.recordedBytes {
                try? library.recordReceived(
                    episode: task.media.episode, generation: task.snapshot.generation, bytes: task.snapshot.received)
            }
        }
    }

    /// The handler of the socket's clients and their frames.
    nonisolated var handler: SocketServer.Handler {
        SocketServer.Handler(
            connected: { [self] client in
                driver.clients.add(client)
                driver.events.enqueue(.marker { [driver] in driver.report(.connected(client.id)) })
            },
            received: { [self] client, frame in receive(frame, from: client) },
            disconnected: { [self] client in
                driver.clients.remove(client)
                disconnect(client)
            })
    }
}

// What `CoreDriver` needs of the other parts.
extension PodcastService {
    /// The due times of chores, the work that the daemon starts by itself.
    var schedule: [Chore: WallTime] {
        var moments: [Chore: WallTime] = [:]
        moments[.backUp] = refresher.copies.next
        moments[.refresh] = refresher.next
        moments[.synchronize] = sync.next.map { .seconds($0) }
        moments[.upload] = uploads.next.map { .seconds($0) }
        moments[.archive] = mover.next
        moments[.fetchCovers] = covers.next
        moments[.updateViews] = views.next.map { .seconds($0) }
        return moments
    }

    /// Starts a chore that is due.
    func perform(_ chore: Chore) {
        switch chore {
        case .backUp: refresher.copies.run()
        case .refresh: refresher.refreshDue()
        case .synchronize: sync.runIfDue()
        case .upload: uploads.beginPending()
        case .updateViews: views.update()
        case .archive: mover.run()
        case .fetchCovers: covers.run()
        case .updateIndex: find.run()
        case .tidyUp:
            sync.pruneRemovedShows()
            found.purge()
        // `CoreDriver` performs these itself.
        case .assessSpace, .writeAgain: break
        }
    }

    /// Handles the close of episodes.
    func closed(_ episodes: Set<EpisodeID>) {
        for episode in episodes { found.closed(episode) }
        if !episodes.isEmpty { mover.request() }
    }
}
