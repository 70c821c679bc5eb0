internal import ContentCache
internal import Foundation
internal import Glibc
internal import Logging
internal import Platform
package import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// What the daemon does: the one writer of library and cache, the one that talks to the network.
///
/// Frames that readers wait for go straight from the socket's thread to the engine and back; everything else is handled
/// by this actor. What the engine reports is written to the library here, in the order in which it happened, before
/// anybody is told of it.
package actor PodcastService {
    let configuration: ServiceConfiguration
    let library: Library
    let engine: TransferEngine
    let fetcher: FeedFetcher
    nonisolated let credentials: CredentialStore<ShowID>
    nonisolated let netrc: Netrc
    /// The list of the subscriptions that is kept beside the library.
    var subscriptionsCopy = SubscriptionsCopy()
    let documents: FeedDocuments
    let assets: AssetStore
    /// Writes shows that are new.
    nonisolated let arrivals: ArrivalWriter
    let snapshots: UploadSnapshots
    nonisolated let uploadCredentials: CredentialStore<TaskID>
    let log = Logger(label: "podfs.daemon")
    /// The engine's events, and answers that have to come after them.
    nonisolated let events = EventQueue()
    /// What is to be done when the events are written down that are being taken together.
    var pending: PendingEffects?
    nonisolated let clients = Mutex<[ObjectIdentifier: ClientConnection]>([:])
    /// Downloads that people and programs can see, by episode.
    var tasks: [EpisodeID: TaskRecord] = [:]
    /// What people publish, by task.
    var uploads: [TaskID: UploadRecord] = [:]
    /// Feeds being fetched, by show.
    var refreshing: [TaskID: TaskInfo] = [:]
    /// Of clients that have opened one.
    var sessions: [ObjectIdentifier: ClientSession] = [:]
    /// Suspensions by clients; also asked from the engine's thread.
    nonisolated let holds = Mutex(TaskHolds<ObjectIdentifier>())
    /// Numbers for events that the library has set aside.
    var sequences: Range<Int64> = 0..<0
    /// What runs by itself, for the daemon after this one.
    nonisolated let work: WorkJournal
    /// Uploads of an earlier daemon that have not begun again.
    var waitingUploads: [TaskID] = []
    /// Asks for feeds that are known.
    let feeds: FeedPump
    var refreshes = Refreshes()
    /// Whether the link and the power are good for what nobody waits for.
    var allowsDiscretionary = true
    /// When an open of an episode was last written down.
    var lastNoted: [EpisodeID: Int64] = [:]
    /// Commands under way; the daemon does not leave in the middle of one.
    var commandsUnderWay = 0
    /// What the next person is to be told.
    nonisolated let notice: Mutex<String?>
    /// How the library came to be opened.
    private let recovery: LibraryRecovery?
    var storage: StorageState
    /// Downloads that wait for space, and why; also asked from the engine's thread.
    nonisolated let spaceWaits = Mutex<[EpisodeID: TransferError]>([:])
    var searches = SearchState()
    var assetState = AssetState()
    /// Whole files that are being read to see whether they are right, by episode.
    var verifications: [EpisodeID: Task<String?, Never>] = [:]
    var sync = SyncState()
    var idleCheck: Task<Void, Never>?
    /// Sleeps until the next thing is due that comes by itself.
    var upkeepTimer: Task<Void, Never>?
    var isUpkeepRunning = false
    /// Follows the link and the power.
    var conditionWatch: Task<Void, Never>?
    /// The wall clock and the time since the machine's start, in seconds, when they were last compared.
    var clock: (wall: Int64, uptime: Int64)?
    var backups = BackupSchedule(started: Int64(time(nil)))
    let onIdle: @Sendable () -> Void

    /// A download and what was last heard of it.
    struct TaskRecord {
        var download: Download
        var path: String
        var podcast: ShowID
        var snapshot: DownloadSnapshot?
        /// When `received` last went into the library, in seconds, and what it was.
        var recorded: Int64 = 0
        var recordedBytes: Int64 = 0
        /// How large the file is by its feed; `nil` when that says nothing.
        var guess: Int64?
        /// When somebody last asked for it; since 1970.
        var asked: Duration

        /// Whether it runs, or is to run by itself.
        var isUnderWay: Bool { snapshot.map { $0.state == .running || $0.state == .queued } ?? true }
    }

    /// - Parameters:
    ///   - recovery: what has become of a library that was damaged.
    ///   - onIdle: called when the daemon may leave; once.
    package init(
        configuration: ServiceConfiguration, library: Library, recovery: LibraryRecovery? = nil,
        onIdle: @escaping @Sendable () -> Void
    ) throws {
        self.configuration = configuration
        self.library = library
        self.recovery = recovery
        notice = Mutex(recovery?.notice)
        self.onIdle = onIdle
        storage = StorageState(limits: configuration.storage)
        var transfers = configuration.transfers
        // Answered by a refresh of the feed.
        transfers.limits.renewsAddress = true
        engine = try TransferEngine(
            configuration: transfers, cacheFolder: configuration.places.cache,
            events: { [events] in events.put(.transfer($0)) }, turnEnded: { [events] in events.settle(now: $0) })
        fetcher = FeedFetcher(engine: engine, limits: configuration.feedLimits)
        credentials = CredentialStore(path: configuration.places.credentials)
        netrc = Netrc(path: configuration.netrcFile)
        documents = FeedDocuments(folder: configuration.places.feeds)
        arrivals = ArrivalWriter(library: library, template: configuration.nameTemplate)
        assets = AssetStore(folder: configuration.places.assets)
        snapshots = UploadSnapshots(folder: configuration.places.uploads)
        uploadCredentials = CredentialStore(path: configuration.places.uploadCredentials)
        work = WorkJournal(places: configuration.places)
        feeds = FeedPump(queue: HostQueue(total: configuration.refreshConnections), work: work)
    }

    /// Takes up what an earlier daemon left: compares cache and library, carries on its downloads.
    package func start() throws {
        noteClock()
        try reconcile()
        if let recovery {
            log.error("\(recovery.notice)")
            try library.skipGenerations()
        }
        for problem in [credentials.problem, uploadCredentials.problem] {
            if let problem { log.error("\(problem)") }
        }
        try forgetEphemeralMedia()
        purgeEphemeral()
        try restoreSubscriptions(isRecovering: recovery != nil)
        try bringBackWhatIsKept()
        assets.tidy(removesBegun: true)
        documents.removeAll(but: try library.podcastIDs())
        startTask { service in for await _ in service.events.wakes { service.takeEvents() } }
        startTask { service in for await _ in service.feeds.wakes { service.takeFeedReports() } }
        // Their clients have gone with the daemon before this one.
        for download in try library.downloads(session: Self.passingSession) {
            try library.removeDownload(id: download.id)
        }
        for download in try library.downloads() {
            guard let record = try makeRecord(download) else { continue }
            tasks[download.episode] = record
        }
        // Before any of them begins: they go on as far as there is space for them.
        makeRoom()
        for record in tasks.values.sorted(by: { $0.download.id < $1.download.id })
        where record.download.error == nil && !record.download.suspended {
            run(record.download.episode, priority: record.download.automatic ? .automatic : .asked)
        }
        takeUpWork()
        try startUploads(isRecovering: recovery != nil)
        watchConditions()
        considerIdle()
        planUpkeep()
    }

    /// Ends all transfers; what was received is kept.
    package func stop() async {
        sync.isStopping = true
        work.close()
        conditionWatch?.cancel()
        engine.shutDown()
        takeEvents()
        takeFeedReports()
        idleCheck?.cancel()
        upkeepTimer?.cancel()
        await backUpIfDue()
        for record in tasks.values {
            guard let snapshot = record.snapshot else { continue }
            try? library.recordReceived(
                episode: snapshot.key.episode, generation: snapshot.generation, bytes: snapshot.received)
        }
    }

    /// The socket's handler.
    package nonisolated var handler: SocketServer.Handler {
        SocketServer.Handler(
            connected: { [self] client in
                clients.withLock { $0[ObjectIdentifier(client)] = client }
            },
            received: { [self] client, frame in receive(frame, from: client) },
            disconnected: { [self] client in
                clients.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(client)) }
                leave(client)
            })
    }

    // MARK: Cache and library

    /// A row whose file has gone goes too. A cache file without a row is adopted when its checkpoint names the episode's
    /// present generation, or one that the library does not know of yet; else it is removed.
    private func reconcile() throws {
        let names = Set(engine.fileNames)
        var known: Set<String> = []
        var states: [(file: String, state: String)] = []
        for rendition in try library.renditions() {
            guard names.contains(rendition.file) else {
                try library.dropRendition(episode: rendition.episode, now: now())
                continue
            }
            if let defect = defectAtStart(of: rendition, &states) {
                try drop(rendition, for: defect)
            } else {
                known.insert(rendition.file)
            }
        }
        if !states.isEmpty {
            try library.group { for (file, state) in states { try library.record(fileState: state, of: file) } }
        }
        for name in names.sorted() where !known.contains(name) {
            guard let found = engine.file(name), let episode = try library.episode(id: found.key.episode),
                try library.rendition(of: episode.id) == nil, found.generation >= episode.generation
            else {
                engine.removeFile(name)
                continue
            }
            let rendition = Rendition(
                episode: episode.id, generation: found.generation, file: name, size: found.total,
                validator: found.validator, contentType: found.contentType, finalURL: found.finalURL,
                received: found.received, complete: found.complete,
                sha256: found.sha256, fileState: found.state?.text, created: now(), lastOpened: now())
            try library.pin(rendition, now: now())
            known.insert(name)
        }
    }

    /// Where the engine finds an episode.
    nonisolated func loader(_ episode: EpisodeID) -> TransferEngine.Loader {
        { [self] in
            guard let row = try library.source(of: episode) else {
                throw TransferError(.missing, "the episode is no longer in the library")
            }
            try checkFile(of: row)
            let settings = ShowSettings(stored: row.settings)
            var rateLimit: Int64?
            if case .bytesPerSecond(let limit) = settings.rateLimit { rateLimit = limit }
            var source = DownloadSource(
                key: MediaID(episode), url: row.url, generation: row.generation, confirmedSize: row.confirmedSize,
                file: row.file, expects: ContentExpectation(fileName: row.name), userAgent: settings.userAgent,
                isSuspended: row.task.map { $0.isSuspended || holds.withLock { $0.isHeld(episode) } } ?? false,
                priority: row.task?.isAutomatic ?? false ? .automatic : .asked, rateLimit: rateLimit,
                isComplete: row.isComplete)
            source.credentials = credentials(of: row.podcast, row.access)
            source.reach = row.access.leads
            source.awaitsSpace = spaceWaits.withLock { $0[episode] }
            return source
        }
    }

    /// What is sent with requests that a show leads to, as far as they go to the origin it is for.
    nonisolated func credentials(of podcast: ShowID, _ access: ShowAccess) -> Credentials? {
        let stored = credentials[podcast]
        if let stored, stored.fit(access.url) { return stored }
        return netrc.credentials(for: access.url, given: access.givenURL) ?? stored
    }

    func makeRecord(_ download: Download) throws -> TaskRecord? {
        guard let episode = try library.episode(id: download.episode),
            let podcast = try library.podcast(id: episode.podcast)
        else { return nil }
        var record = TaskRecord(
            download: download, path: podcast.name + "/" + episode.name, podcast: podcast.id, snapshot: nil,
            asked: .seconds(download.created))
        record.snapshot = DownloadSnapshot(
            key: MediaID(episode.id), generation: episode.generation,
            state: download.state,
            received: episode.cachedBytes, total: episode.confirmedSize, rate: nil,
            error: download.error.map { TransferError(.failed, $0) }, isTask: true)
        record.recordedBytes = episode.cachedBytes
        record.guess = episode.size.source == .unknown ? nil : episode.size.bytes
        return record
    }

    nonisolated func now() -> Int64 { configuration.wallClock() }
}
