internal import ContentCache
internal import Foundation
internal import Logging
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import TransferCore
internal import TransferEngine

// What the engine reports: written to the library in the order in which it happened, then told to those who watch.
extension PodcastService {
    /// Takes up what has been reported until now. Whoever asks what the library has of an episode that may be in transfer
    /// calls it before.
    func takeEvents() {
        let items = events.take()
        var rest = items[...]
        while !rest.isEmpty {
            let records = rest.prefix { $0.isRecord }
            if !records.isEmpty { record(records) }
            rest = rest.dropFirst(records.count)
            if let item = rest.popFirst() { take(item) }
        }
        let reports = items.count { if case .transfer = $0 { true } else { false } }
        if reports > 0 { engine.eventsTaken(reports) }
    }

    /// Writes several reports down in one transaction.
    private func record(_ items: ArraySlice<EventQueue.Item>) {
        let before = (tasks, sequences, lastNoted)
        pending = PendingEffects()
        do {
            if items.count == 1 {
                items.forEach(take)
            } else {
                try library.group { items.forEach(take) }
            }
        } catch {
            // Each by itself: one of them may be to blame, or there is room for some.
            log.error("\(error)")
            (tasks, sequences, lastNoted) = before
            for item in items {
                pending = PendingEffects()
                take(item)
                perform(pending)
            }
            return
        }
        perform(pending)
    }

    /// What is to be done when it is certain what the library has.
    struct PendingEffects {
        var effects: [() -> Void] = []
        /// Bytes have come: the limits of the cache are to be looked at.
        var hasNewBytes = false
        /// What wants space in the cache has changed.
        var changesDemand = false
        /// A task has ended, which may have been the last.
        var hasEnding = false
        /// Episodes of which it is told that they have changed: once is enough.
        var changed: Set<EpisodeID> = []
    }

    private func perform(_ pending: PendingEffects?) {
        self.pending = nil
        guard let pending else { return }
        for effect in pending.effects { effect() }
        if pending.hasEnding { tellIfIdle() }
        if pending.hasNewBytes || pending.changesDemand { makeRoom(isProgress: !pending.changesDemand) }
        considerIdle()
    }

    /// Does something now, or when what is being taken is written down.
    private func whenWritten(_ effect: @escaping () -> Void) {
        if pending == nil { effect() } else { pending?.effects.append(effect) }
    }

    private func take(_ item: EventQueue.Item) {
        switch item {
        case .transfer(let event): take(event)
        case .opened(let episode):
            noteOpened(episode)
            // A download that waits for space does not wait for a reader.
            if tasks[episode] != nil, lacksSpace { pending?.changesDemand = true }
        case .marker(let work): work()
        }
    }

    private func take(_ event: TransferEvent) {
        do {
            switch event {
            case .confirmed(let key, let generation, let pin): try confirmed(key.episode, generation, pin)
            case .fileCreated(let key, let generation, let file, let pin, let finalURL):
                try fileCreated(key.episode, generation, file, pin, finalURL)
            case .abandoned(let key, let generation, let file):
                if try library.rendition(file: file) != nil {
                    try library.dropRendition(episode: key.episode, now: now())
                }
                engine.removeFile(file)
                log.info("episode \(key): generation \(generation) was replaced on the server")
                broadcastChange(episode: key.episode)
            case .progress(let snapshot): try progressed(snapshot)
            case .completed(let key, let generation, let size, let sha256):
                try completed(key.episode, generation, size, sha256)
            case .failed(let key, let error): try failed(key.episode, error)
            case .storageFull(_, let error): storageIsFull(error)
            case .addressRefused(let key, _): renewAddress(of: key.episode)
            case .upload(let event): take(event)
            }
        } catch LibraryError.noSuchEpisode(let id) {
            log.debug("episode \(id) was removed while something was heard of it")
        } catch {
            log.error("\(error)")
        }
    }

    private func confirmed(_ episode: EpisodeID, _ generation: Int, _ pin: Pin) throws {
        guard let row = try library.entry(id: episode) else { return }
        for _ in 0..<max(0, generation - row.generation) { try library.dropRendition(episode: episode, now: now()) }
        if let total = pin.total, row.sizeSource != .server || row.size != total {
            try library.confirm(episode: episode, size: total, now: now())
        }
        broadcastChange(episode: episode)
    }

    private func fileCreated(
        _ episode: EpisodeID, _ generation: Int, _ file: String, _ pin: Pin, _ finalURL: String?
    ) throws {
        let rendition = Rendition(
            episode: episode, generation: generation, file: file, size: pin.total, validator: pin.validator?.text,
            contentType: pin.mediaType, finalURL: finalURL, created: now(), lastOpened: now())
        if let old = try library.pin(rendition, now: now()) { whenWritten { [engine] in engine.removeFile(old.file) } }
        broadcastChange(episode: episode)
    }

    private func progressed(_ snapshot: DownloadSnapshot) throws {
        let episode = snapshot.key.episode
        var record = tasks[episode]
        if record == nil, snapshot.isTask {
            let download = try library.enqueue(episode: episode, session: Self.commonSession, now: now())
            record = try makeRecord(download)
        }
        if snapshot.state == .remote || snapshot.state == .cached {
            tasks[episode] = nil
            pending?.changesDemand = true
        } else if var record {
            // The library learns of the progress now and then, for the time when no daemon runs.
            if record.recorded + 2 <= now() {
                record.recorded = now()
                record.recordedBytes = snapshot.received
                try library.recordReceived(
                    episode: episode, generation: snapshot.generation, bytes: snapshot.received)
            }
            let changed = record.snapshot?.state != snapshot.state
            if changed || record.snapshot?.total != snapshot.total
                || record.snapshot?.isRetrying != snapshot.isRetrying
                || record.snapshot?.isWaitingForConditions != snapshot.isWaitingForConditions
            {
                pending?.changesDemand = true
            }
            record.snapshot = snapshot
            tasks[episode] = record
            // The failure was told as such, and is the last that is heard of the task.
            if snapshot.state == .failed { return }
            broadcast(event(changed ? .state : .progress, snapshot, record))
            if snapshot.state == .running { pending?.hasNewBytes = true }
            return
        }
        // The completion was told as such, and is the last that is heard of the task.
        if snapshot.state == .cached { return }
        if snapshot.state == .remote {
            // The task was cancelled, with a part of the file here.
            if let download = record?.download.id { try library.removeDownload(id: download) }
            if record?.isUnderWay == true { taskEnded() }
            try library.recordReceived(
                episode: episode, generation: snapshot.generation, bytes: snapshot.received)
        }
        broadcast(event(.state, snapshot, record))
    }

    private func completed(_ episode: EpisodeID, _ generation: Int, _ size: Int64, _ sha256: String) throws {
        let file = try library.rendition(of: episode)?.file
        try library.complete(
            episode: episode, generation: generation, size: size, sha256: sha256,
            fileState: file.flatMap { engine.file($0)?.state?.text }, now: now())
        storage.completions[episode] = moment
        let record = tasks.removeValue(forKey: episode)
        var event = event(.completed, episode, .cached, record)
        event.generation = generation
        event.received = size
        event.expected = size
        announce(event)
        whenWritten { [self] in
            holds.withLock { $0.forget(episode) }
            log.info("complete: \(record?.path ?? "episode \(episode)"), \(size) bytes")
            runHook(configuration.onDownload, episode: episode)
        }
        pending?.changesDemand = true
        taskEnded()
    }

    /// A task has completed, failed or been cancelled.
    func taskEnded() {
        if pending == nil { tellIfIdle() } else { pending?.hasEnding = true }
    }

    /// Was it the last?
    func tellIfIdle() {
        guard
            tasks.values.allSatisfy({ record in
                record.snapshot?.state != .running && record.snapshot?.state != .queued
                    || waitsForSpace(record.download.episode)
            }),
            uploads.values.allSatisfy({ $0.state != .running && $0.state != .queued })
        else { return }
        broadcast(Event(sequence: nextSequence(), time: now(), kind: .idle))
        runHook(configuration.onIdle, episode: nil)
    }

    private func failed(_ episode: EpisodeID, _ error: TransferError) throws {
        let record = tasks[episode]
        if let download = record?.download.id {
            try library.fail(download: download, error: error.message, errorNumber: Int(error.errorNumber))
            tasks[episode]?.download.error = error.message
            tasks[episode]?.snapshot?.state = .failed
            tasks[episode]?.snapshot?.error = error
            pending?.changesDemand = true
        }
        var event = event(.failed, episode, .failed, record)
        event.generation = record?.snapshot?.generation
        event.received = record?.snapshot?.received
        event.expected = record?.snapshot?.total
        event.error = error.message
        if record == nil {
            // An open that was refused: no task has ended.
            broadcast(event)
        } else {
            announce(event)
        }
        log.warning("failed: \(record?.path ?? "episode \(episode)"): \(error.message)")
        if record?.isUnderWay == true { taskEnded() }
    }

    /// Of an episode's task, if it has one.
    func event(_ kind: Event.Kind, _ episode: EpisodeID, _ state: TaskState, _ record: TaskRecord?) -> Event {
        var event = Event(sequence: nextSequence(), time: now(), kind: kind)
        event.task = record?.download.id
        event.id = episode
        event.podcast = record?.podcast
        event.path = record?.path
        event.state = state
        event.session = record?.download.session
        return event
    }

    func event(_ kind: Event.Kind, _ snapshot: DownloadSnapshot, _ record: TaskRecord?) -> Event {
        var event = event(kind, snapshot.key.episode, snapshot.state, record)
        event.generation = snapshot.generation
        event.received = snapshot.received
        event.expected = snapshot.total
        event.rate = snapshot.rate
        event.ranges = snapshot.present.text
        event.error = snapshot.error?.message
        if snapshot.isWaitingForSpace { event.waitsForSpace = true }
        return event
    }

    /// A number that no event had, in this run or an earlier one.
    func nextSequence() -> Int64 {
        if sequences.isEmpty {
            // Many at a time: progress is told four times a second, and each would be a transaction.
            do {
                sequences = try library.reserveSequences(10_000)
            } catch {
                log.error("\(error)")
                sequences = sequences.upperBound..<(sequences.upperBound + 10_000)
            }
        }
        defer { sequences = (sequences.lowerBound + 1)..<sequences.upperBound }
        return sequences.lowerBound
    }

    /// Keeps an event for clients that are away, then tells those that are here.
    private func announce(_ event: Event) {
        do {
            try library.keep(kept(event))
        } catch {
            log.error("\(error)")
        }
        broadcast(event)
    }

    /// An event as the library keeps it.
    func kept(_ event: Event) -> KeptEvent {
        KeptEvent(
            sequence: event.sequence, time: event.time,
            payload: String(decoding: WireJSON.encode(event), as: UTF8.self))
    }

    /// The kept events after a number, in order.
    func keptEvents(since sequence: Int64) throws -> [Event] {
        try library.events(since: sequence).compactMap { WireJSON.decode(Event.self, Array($0.payload.utf8)) }
    }

    /// Whether anybody hears of events.
    var isWatched: Bool { clients.withLock { $0.values.contains { $0.state.withLock { $0.isWatching } } } }

    /// Tells every client that watches.
    func broadcast(_ event: Event) {
        if pending != nil { return whenWritten { [self] in broadcast(event) } }
        let watching = clients.withLock { clients in
            clients.values.filter { client in client.state.withLock { $0.isWatching } }
        }
        if watching.isEmpty { return }
        let frame = Frame(kind: .event, number: 0, payload: WireJSON.encode(event))
        for client in watching { client.send(frame) }
    }

    /// Something about an episode that can be seen has changed in the library.
    func broadcastChange(episode: EpisodeID, formerName: String? = nil) {
        if formerName == nil, pending?.changed.insert(episode).inserted == false { return }
        var event = Event(sequence: nextSequence(), time: now(), kind: .library)
        event.id = episode
        event.formerName = formerName
        broadcast(event)
    }

    /// A show, or the set of its episodes, has changed.
    func broadcastChange(podcast: ShowID, name: String, formerName: String? = nil) {
        var event = Event(sequence: nextSequence(), time: now(), kind: .library)
        event.podcast = podcast
        event.path = name
        event.formerName = formerName
        broadcast(event)
    }
}
