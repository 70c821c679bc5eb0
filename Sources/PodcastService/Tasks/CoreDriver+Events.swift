internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

// Engine events, which are recorded in the library in order and then broadcast to watching clients.
extension CoreDriver {
    /// The minimum interval between records of an episode's opens: some programs open a file a hundred times a second.
    private static let openRecordInterval: Duration = .seconds(60)

    /// The maximum number of events in a transaction, so that no command waits long for the library.
    private static let largestBatch = 256

    /// An item that could not be written, or that waits behind one with the same subject, and the number of times that
    /// the library has refused it.
    typealias UnwrittenItem = (item: EventQueue.Item, refusals: Int)

    /// The number of refusals after which an item is set aside: five minutes of retries.
    nonisolated static let mostRefusals = 30

    /// Drains the engine's event queue. Call before reading library state for an episode that may be in transfer.
    func drainEvents() {
        let items = events.drain()
        var rest = items[...]
        while let first = rest.first {
            let group = first.isRecord ? rest.prefix(Self.largestBatch).prefix { $0.isRecord } : rest.prefix(1)
            rest = rest.dropFirst(group.count)
            if case .marker(let work) = first { work() } else { write(group.map { ($0, 0) }) }
        }
        unacknowledged += items.count { if case .transfer = $0 { true } else { false } }
        // The engine retains downloads until their events are acknowledged. While an item is unwritten, acknowledge
        // none, so that the engine still has its download.
        guard unacknowledged > 0, unwritten.isEmpty else { return }
        engine.acknowledgeEvents(unacknowledged)
        unacknowledged = 0
    }

    /// Retries the items that could not be written, then drains the event queue.
    func writeAgain() {
        let items = unwritten
        unwritten = []
        for item in items { write([item]) }
        report(.unwritten(unwritten.count))
        drainEvents()
    }

    /// Writes several items in one transaction. If that fails, writes each separately: a single item may be the cause,
    /// or there may be disk space for some of them. An item that fails by itself is added to `unwritten` if it
    /// `isRetried`, unless the library has refused it `mostRefusals` times. An item with the subject of an unwritten
    /// one is queued behind it, to preserve the order.
    private func write(_ items: [UnwrittenItem]) {
        var writable: [UnwrittenItem] = []
        for one in items {
            let isBehind = unwritten.contains { $0.item.subject != nil && $0.item.subject == one.item.subject }
            if isBehind { unwritten.append(one) } else { writable.append(one) }
        }
        guard var first = writable.first else { return }
        do {
            if writable.count == 1, let inputs = inputs(of: first.item) {
                try handle(inputs)
            } else {
                try change { batch in for one in writable { try process(one.item, &batch) } }
            }
        } catch {
            log.error("\(error)")
            guard writable.count == 1 else {
                for one in writable { write([one]) }
                return
            }
            guard first.item.isRetried else { return }
            switch error {
            // No item can be written.
            case LibraryError.diskFull, LibraryError.busy, LibraryError.readOnly, LibraryError.damaged: break
            default: first.refusals += 1
            }
            if first.refusals >= Self.mostRefusals { setAside(first.item) } else { unwritten.append(first) }
            report(.unwritten(unwritten.count))
        }
    }

    /// Gives up an item, so that later events are acknowledged. A download whose end cannot be written loses its task;
    /// the next daemon continues it from the cached bytes.
    private func setAside(_ item: EventQueue.Item) {
        log.error("set aside after \(Self.mostRefusals) attempts, since the library refuses it: \(item)")
        switch item {
        case .transfer(.completed(let key, _, _)), .transfer(.failed(let key, _)): report(.ended(key))
        default: break
        }
    }

    /// Returns the inputs of an item that needs no transaction of its own; `nil` for other items.
    private func inputs(of item: EventQueue.Item) -> [Input]? {
        switch item {
        case .transfer(.progress(let snapshot)):
            return !snapshot.isTask || core.tasks.downloads[snapshot.key] != nil ? [.reported(snapshot)] : nil
        case .transfer(.storageFull(_, let error)):
            log.warning("\(error.message)")
            return [.writeFailed(free: (try? DiskSpace(at: FilePath(configuration.paths.cache)))?.free ?? 0)]
        case .transfer(.addressRefused(let key, _)):
            service?.refresher.renewAddress(of: key.episode)
            return []
        case .transfer, .opened, .marker: return nil
        }
    }

    /// Handles an item of a batch. An event of a row that was removed meanwhile is dropped: it could never be written,
    /// and would prevent the acknowledgement of all later events.
    private func process(_ item: EventQueue.Item, _ batch: inout Batch) throws {
        do {
            switch item {
            case .opened(let episode): try opened(episode, &batch)
            case .transfer(let event): try process(event, &batch)
            case .marker: break
            }
        } catch LibraryError.noSuchDownload(let id) {
            log.debug("download \(id) was removed while an event of it was pending")
            if let key = item.subject as? MediaID { try batch.handle(.ended(key)) }
        } catch LibraryError.noSuchEpisode, LibraryError.noSuchRendition {
            log.debug("its row was removed while an event was pending: \(item)")
        }
    }

    private func process(_ event: TransferEvent, _ batch: inout Batch) throws {
        switch event {
        case .confirmed(let key, let generation, let pin): try confirmed(key.episode, generation, pin, &batch)
        case .fileCreated(let key, let generation, let file, let pin, let finalURL):
            let rendition = Rendition(
                episode: key.episode, generation: generation, file: file, pin, finalURL: finalURL, now: now())
            if let old = try library.pin(rendition, now: now()) {
                batch.whenWritten { [engine] in engine.cache.remove(old.file) }
            }
            try batch.handle(.changedEpisode(key.episode))
        case .abandoned(let key, let generation, let file):
            if try library.rendition(file: file) != nil { try library.dropRendition(episode: key.episode, now: now()) }
            batch.whenWritten { [engine, log] in
                engine.cache.remove(file)
                log.info("episode \(key): generation \(generation) was replaced on the server")
            }
            try batch.handle(.changedEpisode(key.episode))
        case .progress(let snapshot):
            if snapshot.isTask, batch.tasks.downloads[snapshot.key] == nil {
                // A read has started the download: create its task.
                try register(snapshot.key.episode, &batch)
            }
            try batch.handle(.reported(snapshot))
        case .completed(let key, let generation, let facts):
            let file = try library.rendition(of: key.episode)?.file
            let checkpoint = file.flatMap { try? engine.cache.checkpoint(of: $0) }
            try library.complete(
                episode: key.episode, generation: generation, size: facts.size, sha256: facts.sha256,
                isVerified: facts.isVerified, fileState: checkpoint?.state?.text, now: now())
            try batch.handle(.completed(key, generation: generation, size: facts.size))
            batch.whenWritten { [service] in service?.chapters.start() }
        case .failed(let key, let error): try batch.handle(.failed(key, error))
        case .upload(let event): try service?.uploads.process(event, &batch)
        // `inputs(of:)` handles these.
        case .storageFull, .addressRefused: break
        }
    }

    /// Records the size that the server confirmed. Drops the renditions of earlier generations; each drop advances the
    /// library's generation by one.
    private func confirmed(_ episode: EpisodeID, _ generation: Int, _ pin: Pin, _ batch: inout Batch) throws {
        guard let row = try library.entry(id: episode) else { return }
        for _ in 0..<max(0, generation - row.generation) { try library.dropRendition(episode: episode, now: now()) }
        if let total = pin.total, row.sizeSource != .server || row.size != total {
            try library.confirm(episode: episode, size: total, now: now())
        }
        try batch.handle(.changedEpisode(episode))
    }

    /// Records the time at which an episode was opened, which determines the order of eviction.
    private func opened(_ episode: EpisodeID, _ batch: inout Batch) throws {
        try batch.handle(.opened(MediaID(episode)))
        let now = batch.moment.uptime
        if let last = lastOpens[episode], now - last < Self.openRecordInterval { return }
        try library.recordOpening(of: episode, now: batch.moment.seconds)
        batch.whenWritten { [self] in
            if lastOpens.count > 10_000 { lastOpens = [:] }
            lastOpens[episode] = now
        }
    }

    /// Ensures that an episode has a task, of this session if it has none.
    ///
    /// - Parameter asked: the time of a new request; `nil` if there was none.
    func register(
        _ episode: EpisodeID, session: String = ClientSession.common, isAutomatic: Bool = false,
        asked: WallTime? = nil, _ batch: inout Batch
    ) throws {
        let row = try library.enqueue(episode: episode, session: session, automatic: isAutomatic, now: now())
        if let task = try task(of: row) { try batch.handle(.registered(task, asked: asked)) }
    }

    /// Returns the task for a row of the library; `nil` if its episode or show was removed.
    func task(of row: PodcastLibrary.Download) throws -> RegisteredDownload? {
        guard let episode = try library.episode(id: row.episode),
            let show = try library.folder(id: episode.podcast)
        else { return nil }
        var snapshot = DownloadSnapshot(
            task: MediaID(episode.id), generation: episode.generation, state: row.state, received: episode.cachedBytes,
            total: episode.confirmedSize)
        snapshot.error = row.error.map { TransferError(.failed, $0) }
        return RegisteredDownload(
            id: row.id, show: show.id, path: show.name + "/" + episode.name,
            session: row.session, isSuspended: row.suspended, isAutomatic: row.automatic,
            created: .seconds(row.created), asked: .seconds(row.created),
            guess: episode.size.source == .unknown ? nil : episode.size.bytes, snapshot: snapshot,
            recordedBytes: snapshot.received)
    }

    /// Returns the path and the size of an episode as far as it is known, to display an open that waits; `nil` if the
    /// episode was removed. A waiting open has no task from which they could be read.
    func facts(of episode: EpisodeID) -> (path: String, estimate: Int64?)? {
        guard let entry = try? library.entry(id: episode), let show = try? library.folder(id: entry.podcast) else {
            return nil
        }
        return (show.name + "/" + entry.name, entry.sizeSource == .unknown ? nil : entry.size)
    }

    /// Returns the opens that wait for failing servers, as queued tasks with number 0.
    func waitingOpens() -> [TaskInfo] {
        core.tasks.openings.sorted { $0.key < $1.key }.compactMap { media, opening in
            guard let facts = facts(of: media.episode) else { return nil }
            var info = opening
            (info.state, info.started, info.path, info.estimate) = (.queued, now(), facts.path, facts.estimate)
            return info
        }
    }
}
