internal import Foundation
internal import Glibc
internal import Logging
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
    let log = Logger(label: "podfs.daemon")
    /// The engine's events, and answers that have to come after them.
    let events: AsyncStream<TransferEvent>
    let queue: AsyncStream<TransferEvent>.Continuation
    nonisolated let clients = Mutex<[ObjectIdentifier: ClientConnection]>([:])
    /// Downloads that people and programs can see, by episode.
    var tasks: [Int64: TaskRecord] = [:]
    /// Feeds being fetched, by show.
    var refreshing: [Int64: TaskInfo] = [:]
    var lastSequence: Int64 = 0
    var lastFeedTask: Int64 = 0
    /// Commands under way; the daemon does not leave in the middle of one.
    var commandsUnderWay = 0
    private var idleCheck: Task<Void, Never>?
    private let onIdle: @Sendable () -> Void

    /// A download and what was last heard of it.
    struct TaskRecord {
        var download: Download
        var path: String
        var podcast: Int64
        var snapshot: DownloadSnapshot?
        /// When `received` last went into the library, in seconds.
        var recorded: Int64 = 0
    }

    /// - Parameter onIdle: called when the daemon may leave; once.
    package init(
        configuration: ServiceConfiguration, library: Library, onIdle: @escaping @Sendable () -> Void
    ) throws {
        self.configuration = configuration
        self.library = library
        self.onIdle = onIdle
        let (events, queue) = AsyncStream<TransferEvent>.makeStream()
        self.events = events
        self.queue = queue
        engine = try TransferEngine(
            configuration: configuration.transfers, cacheFolder: configuration.places.cache
        ) { queue.yield($0) }
        fetcher = FeedFetcher(engine: engine)
    }

    /// Takes up what an earlier daemon left: compares cache and library, carries on its downloads.
    package func start() throws {
        try reconcile()
        Task { for await event in events { await take(event) } }
        for download in try library.downloads() {
            guard let record = try makeRecord(download) else { continue }
            tasks[download.episode] = record
            if download.error == nil, !download.suspended {
                engine.fill(download.episode, load: loader(download.episode))
            }
        }
        considerIdle()
    }

    /// Ends all transfers; what was received is kept.
    package func stop() async {
        idleCheck?.cancel()
        engine.shutDown()
        for record in tasks.values {
            guard let snapshot = record.snapshot else { continue }
            try? library.recordReceived(
                episode: snapshot.key, generation: snapshot.generation, bytes: snapshot.received)
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

    /// A cache file without a row is adopted when its checkpoint names the episode's present generation, else removed.
    private func reconcile() throws {
        var known = Set(try library.renditions().map(\.file))
        for name in engine.fileNames where !known.contains(name) {
            guard let found = engine.file(name), let episode = try library.episode(id: found.key),
                try library.rendition(of: episode.id) == nil, found.generation == episode.generation
            else {
                engine.removeFile(name)
                continue
            }
            let rendition = Rendition(
                episode: episode.id, generation: found.generation, file: name, size: found.total,
                validator: found.validator, contentType: found.contentType, finalURL: found.finalURL,
                received: found.received, complete: found.complete,
                sha256: found.sha256, created: now(), lastOpened: now())
            try library.pin(rendition, now: now())
            known.insert(name)
        }
    }

    /// Where the engine finds an episode.
    nonisolated func loader(_ episode: Int64) -> TransferEngine.Loader {
        { [library] in
            guard let row = try library.episode(id: episode) else {
                throw TransferError(.missing, "the episode is no longer in the library")
            }
            return DownloadSource(
                key: episode, url: row.url, generation: row.generation, confirmedSize: row.confirmedSize,
                file: try library.rendition(of: episode)?.file, isSuspended: row.download?.suspended ?? false,
                isComplete: row.complete)
        }
    }

    func makeRecord(_ download: Download) throws -> TaskRecord? {
        guard let episode = try library.episode(id: download.episode),
            let podcast = try library.podcast(id: episode.podcast)
        else { return nil }
        var record = TaskRecord(
            download: download, path: podcast.name + "/" + episode.name, podcast: podcast.id, snapshot: nil)
        record.snapshot = DownloadSnapshot(
            key: episode.id, generation: episode.generation,
            state: download.error != nil ? .failed : download.suspended ? .suspended : .queued,
            received: episode.cachedBytes, total: episode.confirmedSize, rate: nil,
            error: download.error.map { TransferError(.failed, $0) }, isTask: true)
        return record
    }

    nonisolated func now() -> Int64 { Int64(time(nil)) }

    // MARK: Events

    private func take(_ event: TransferEvent) async {
        do {
            switch event {
            case .confirmed(let key, let generation, let pin): try confirmed(key, generation, pin)
            case .fileCreated(let key, let generation, let file, let pin, let finalURL):
                try fileCreated(key, generation, file, pin, finalURL)
            case .abandoned(let key, let generation, let file):
                if try library.rendition(file: file) != nil {
                    try library.dropRendition(episode: key, now: now())
                }
                engine.removeFile(file)
                log.info("episode \(key): generation \(generation) was replaced on the server")
                broadcastChange(episode: key)
            case .progress(let snapshot): try progressed(snapshot)
            case .completed(let key, let generation, let size, let sha256):
                try completed(key, generation, size, sha256)
            case .failed(let key, let error): try failed(key, error)
            case .marker(let work): await work()
            }
        } catch LibraryError.noSuchEpisode(let id) {
            log.debug("episode \(id) was removed while something was heard of it")
        } catch {
            log.error("\(error)")
        }
    }

    private func confirmed(_ episode: Int64, _ generation: Int, _ pin: Pin) throws {
        guard let row = try library.entry(id: episode) else { return }
        for _ in 0..<max(0, generation - row.generation) { try library.dropRendition(episode: episode, now: now()) }
        if let total = pin.total, row.sizeSource != .server || row.size != total {
            try library.confirm(episode: episode, size: total, now: now())
        }
        broadcastChange(episode: episode)
    }

    private func fileCreated(
        _ episode: Int64, _ generation: Int, _ file: String, _ pin: Pin, _ finalURL: String?
    ) throws {
        let rendition = Rendition(
            episode: episode, generation: generation, file: file, size: pin.total, validator: pin.validator?.text,
            contentType: pin.mediaType, finalURL: finalURL, created: now(), lastOpened: now())
        if let old = try library.pin(rendition, now: now()) { engine.removeFile(old.file) }
        broadcastChange(episode: episode)
    }

    private func progressed(_ snapshot: DownloadSnapshot) throws {
        var record = tasks[snapshot.key]
        if record == nil, snapshot.isTask {
            let download = try library.enqueue(episode: snapshot.key, session: "podfs", now: now())
            record = try makeRecord(download)
        }
        if snapshot.state == .remote || snapshot.state == .cached {
            tasks[snapshot.key] = nil
        } else if var record {
            // The library learns of the progress now and then, for the time when no daemon runs.
            if record.recorded + 2 <= now() {
                record.recorded = now()
                try library.recordReceived(
                    episode: snapshot.key, generation: snapshot.generation, bytes: snapshot.received)
            }
            let changed = record.snapshot?.state != snapshot.state
            record.snapshot = snapshot
            tasks[snapshot.key] = record
            broadcast(event(changed ? .state : .progress, snapshot, record))
            considerIdle()
            return
        }
        if snapshot.state == .remote {
            // The task has ended with a part of the file here.
            try library.recordReceived(
                episode: snapshot.key, generation: snapshot.generation, bytes: snapshot.received)
        }
        broadcast(event(.state, snapshot, record))
        considerIdle()
    }

    private func completed(_ episode: Int64, _ generation: Int, _ size: Int64, _ sha256: String) throws {
        try library.complete(episode: episode, generation: generation, size: size, sha256: sha256, now: now())
        let record = tasks.removeValue(forKey: episode)
        var event = Event(sequence: nextSequence(), time: now(), kind: .completed)
        event.task = record?.download.id
        event.id = episode
        event.podcast = record?.podcast
        event.path = record?.path
        event.generation = generation
        event.state = TransferState.cached.rawValue
        event.received = size
        event.expected = size
        broadcast(event)
        log.info("complete: \(record?.path ?? "episode \(episode)"), \(size) bytes")
        runHook(configuration.onDownload, episode: episode)
        if tasks.values.allSatisfy({ $0.snapshot?.state != .running && $0.snapshot?.state != .queued }) {
            broadcast(Event(sequence: nextSequence(), time: now(), kind: .idle))
            runHook(configuration.onIdle, episode: nil)
        }
        considerIdle()
    }

    private func failed(_ episode: Int64, _ error: TransferError) throws {
        let record = tasks[episode]
        if let download = record?.download.id {
            try library.fail(download: download, error: error.message, errorNumber: Int(error.errorNumber))
            tasks[episode]?.download.error = error.message
        }
        var event = Event(sequence: nextSequence(), time: now(), kind: .failed)
        event.task = record?.download.id
        event.id = episode
        event.podcast = record?.podcast
        event.path = record?.path
        event.state = TransferState.failed.rawValue
        event.error = error.message
        broadcast(event)
        log.warning("failed: \(record?.path ?? "episode \(episode)"): \(error.message)")
    }

    private func event(_ kind: Event.Kind, _ snapshot: DownloadSnapshot, _ record: TaskRecord?) -> Event {
        var event = Event(sequence: nextSequence(), time: now(), kind: kind)
        event.task = record?.download.id
        event.id = snapshot.key
        event.podcast = record?.podcast
        event.generation = snapshot.generation
        event.path = record?.path
        event.state = snapshot.state.rawValue
        event.received = snapshot.received
        event.expected = snapshot.total
        event.rate = snapshot.rate
        event.ranges = snapshot.present.text
        event.error = snapshot.error?.message
        return event
    }

    func nextSequence() -> Int64 {
        lastSequence += 1
        return lastSequence
    }

    /// Tells every client that watches.
    func broadcast(_ event: Event) {
        let watching = clients.withLock { clients in
            clients.values.filter { client in client.state.withLock { $0.isWatching } }
        }
        if watching.isEmpty { return }
        let frame = Frame(kind: .event, number: 0, payload: WireJSON.encode(event))
        for client in watching { client.send(frame) }
    }

    /// Something about an episode that can be seen has changed in the library.
    func broadcastChange(episode: Int64) {
        var event = Event(sequence: nextSequence(), time: now(), kind: .library)
        event.id = episode
        broadcast(event)
    }

    /// A show, or the set of its episodes, has changed.
    func broadcastChange(podcast: Int64, name: String) {
        var event = Event(sequence: nextSequence(), time: now(), kind: .library)
        event.podcast = podcast
        event.path = name
        broadcast(event)
    }

    // MARK: Leaving

    /// Whether there is no client, no command and no download that could move.
    private var isIdle: Bool {
        commandsUnderWay == 0 && refreshing.isEmpty && clients.withLock { $0.isEmpty }
            && tasks.values.allSatisfy { record in
                record.snapshot.map { $0.state == .suspended || $0.state == .failed } ?? true
            }
    }

    /// Begins to count down when there is nothing to do; ends the count when there is.
    func considerIdle() {
        guard isIdle else {
            idleCheck?.cancel()
            idleCheck = nil
            return
        }
        guard idleCheck == nil else { return }
        let delay = configuration.idleExit
        idleCheck = Task { [weak self] in
            try? await Task.sleep(for: .seconds(delay))
            guard !Task.isCancelled else { return }
            await self?.leaveIfIdle()
        }
    }

    private func leaveIfIdle() {
        idleCheck = nil
        guard isIdle else { return }
        log.info("nothing to do for \(configuration.idleExit) s: leaving")
        onIdle()
    }

    /// The daemon is asked to leave.
    func leaveNow() { onIdle() }
}
