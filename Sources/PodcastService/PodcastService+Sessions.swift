internal import Logging
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import TransferCore
internal import TransferEngine

// Sessions and their tasks, as programs use them. What people do with `podfs download` and its kin is in +Tasks.
extension PodcastService {
    /// What a client has opened.
    struct ClientSession {
        var configuration: SessionConfiguration
        /// Tasks that it has created and not begun, and when; since 1970.
        var created: [EpisodeID: Duration] = [:]
        /// Tasks that it has begun and that end with it.
        var begun: Set<EpisodeID> = []
    }

    /// The session of downloads that nobody's program has begun: people's, and readers'.
    static let commonSession = "podfs"
    /// Of downloads that end with their clients; they are not carried over to another run.
    static let passingSession = ""

    func openSession(_ configuration: SessionConfiguration, for client: ClientConnection) throws -> Reply {
        let key = ObjectIdentifier(client)
        guard sessions[key] == nil else {
            throw Failure(kind: .usage, message: "this connection has a session already: open another connection")
        }
        guard client.state.withLock({ !$0.isClosed }) else { throw Failure(message: "the client has gone") }
        sessions[key] = ClientSession(configuration: configuration)
        guard case .background(let identifier) = configuration else { return .session(tasks: [], ended: []) }
        guard !identifier.isEmpty else {
            throw Failure(kind: .usage, message: "a background session needs an identifier")
        }
        let outstanding = tasks.values.filter { $0.download.session == identifier }.map { info($0) }
        let ended = try keptEvents(since: try library.acknowledged(session: identifier)).filter {
            $0.session == identifier
        }
        return .session(tasks: outstanding.sorted { $0.id < $1.id }, ended: ended)
    }

    func acknowledge(_ sequence: Int64, for client: ClientConnection) throws -> Reply {
        guard case .background(let identifier)? = sessions[ObjectIdentifier(client)]?.configuration else {
            throw Failure(kind: .usage, message: "only a background session acknowledges events")
        }
        try library.acknowledge(session: identifier, through: sequence)
        return .done
    }

    func createTask(_ episode: EpisodeID, for client: ClientConnection) throws -> Reply {
        let key = ObjectIdentifier(client)
        try requireSession(key)
        guard let row = try library.episode(id: episode), let podcast = try library.podcast(id: row.podcast) else {
            throw Failure(message: "episode \(episode) is not in the library")
        }
        sessions[key]?.created[episode] = moment
        var info = TaskInfo(
            id: tasks[episode]?.download.id ?? 0, kind: .download, path: podcast.name + "/" + row.name,
            episode: episode, state: .suspended, received: row.cachedBytes,
            expected: row.confirmedSize, rate: nil, error: nil, started: now())
        if row.complete { info.state = .cached }
        return .task(info)
    }

    func resumeTask(_ episode: EpisodeID, for client: ClientConnection) async throws -> Reply {
        let key = ObjectIdentifier(client)
        try requireSession(key)
        // A task that was made and not begun is suspended once, beside what its client has added.
        let isTakenBack = holds.withLock { $0.resume(episode, by: key) }
        if isTakenBack { applySuspension(of: episode) }
        guard !isTakenBack, let asked = sessions[key]?.created[episode] else {
            if isTakenBack, tasks[episode] == nil { return .done }
            guard let record = tasks[episode] else {
                throw Failure(kind: .usage, message: "there is no task for episode \(episode): create it first")
            }
            return .task(info(record))
        }
        let row = try library.episode(id: episode)
        guard let row else { throw Failure(message: "episode \(episode) is no longer in the library") }
        sessions[key]?.created[episode] = nil
        if row.complete {
            // It is here: the completion is all there is to tell.
            let event = try completion(of: row, session: identifier(of: key))
            client.send(.event, number: 0, event)
            return .done
        }
        let download = try library.enqueue(episode: episode, session: identifier(of: key), now: now())
        if download.session == Self.passingSession { sessions[key]?.begun.insert(episode) }
        try register(download, asked: asked)
        makeRoom()
        run(episode)
        return tasks[episode].map { .task(info($0)) } ?? .done
    }

    func suspendTask(_ episode: EpisodeID, for client: ClientConnection) throws -> Reply {
        let key = ObjectIdentifier(client)
        try requireSession(key)
        let isCreated = sessions[key]?.created[episode] != nil
        guard isCreated || tasks[episode] != nil else {
            throw Failure(kind: .usage, message: "there is no task for episode \(episode)")
        }
        holds.withLock { $0.suspend(episode, by: key) }
        applySuspension(of: episode)
        return tasks[episode].map { .task(info($0)) } ?? .done
    }

    func cancelTask(
        _ episode: EpisodeID, producesResumeData: Bool, for client: ClientConnection
    ) async throws -> Reply {
        let key = ObjectIdentifier(client)
        try requireSession(key)
        sessions[key]?.created[episode] = nil
        sessions[key]?.begun.remove(episode)
        if producesResumeData {
            let data = await engine.cancelProducingResumeData(MediaID(episode), load: loader(episode))
            // One that has nothing to leave may have everything: it completes.
            if data == nil, await !engine.cancel(MediaID(episode)) { return .resumeData(nil) }
            holds.withLock { $0.forget(episode) }
            try await removeTask(episode)
            return .resumeData(data)
        }
        try await cancel(episode)
        if let row = try library.episode(id: episode), !row.complete {
            if let problem = try await dropBytes(of: row) { throw Failure(message: "\(row.name): \(problem)") }
        }
        return .done
    }

    func continueTask(_ data: ResumeData, for client: ClientConnection) throws -> Reply {
        let rendition = try library.rendition(of: data.key.episode)
        let fits = rendition.map {
            data.fits(generation: $0.generation, validator: $0.validator, total: $0.size)
        }
        guard fits ?? false else {
            throw Failure(
                message: "what the cancelled download had left is no longer there, or the file has changed since: "
                    + "create a task anew")
        }
        return try createTask(data.key.episode, for: client)
    }

    /// A client has gone: its suspensions end, and the tasks that were to end with it.
    func endSession(_ key: ObjectIdentifier) async {
        takeEvents()
        let session = sessions.removeValue(forKey: key)
        let freed = holds.withLock { $0.end(key) }
        for episode in freed { applySuspension(of: episode) }
        guard let session else { return }
        for episode in session.begun.sorted() {
            guard !sessions.values.contains(where: { $0.begun.contains(episode) }) else { continue }
            do {
                try await endPassingTask(episode, isEphemeral: session.configuration == .ephemeral)
            } catch {
                log.error("\(error)")
            }
        }
    }

    private func endPassingTask(_ episode: EpisodeID, isEphemeral: Bool) async throws {
        if openEpisodes().contains(episode) {
            // Somebody reads it: it becomes what every read episode is.
            if !isEphemeral, tasks[episode]?.download.session == Self.passingSession {
                tasks[episode]?.download = try library.enqueue(
                    episode: episode, session: Self.commonSession, now: now())
            }
            return
        }
        if tasks[episode]?.download.session == Self.passingSession { try await cancel(episode) }
        if isEphemeral, let row = try library.episode(id: episode), !row.pinned { _ = try await dropBytes(of: row) }
    }

    /// The episodes that clients have open, as far as the daemon was asked for them, or wait for.
    func openEpisodes() -> Set<EpisodeID> {
        var episodes: Set<EpisodeID> = []
        for client in clients.withLock({ Array($0.values) }) {
            client.state.withLock { state in
                episodes.formUnion(state.opens.values)
                episodes.formUnion(state.waits.values.map(\.episode))
            }
        }
        return episodes
    }

    /// Whether a person or a client has suspended a task.
    private func isSuspended(_ episode: EpisodeID) -> Bool {
        tasks[episode]?.download.suspended ?? false || holds.withLock { $0.isHeld(episode) }
    }

    /// Tells the engine of it.
    func applySuspension(of episode: EpisodeID) {
        guard let record = tasks[episode], record.snapshot?.state != .failed else { return }
        run(episode, priority: record.download.automatic ? .automatic : .asked)
    }

    /// Begins a task, or lets one go on that has failed, as far as nobody has suspended it.
    func run(_ episode: EpisodeID, priority: TransferPriority = .asked) {
        // What can never have space has failed already: it is not begun again.
        if storage.failed.contains(episode) { return }
        let isSuspended = isSuspended(episode)
        engine.setSuspended(MediaID(episode), isSuspended, load: loader(episode))
        if !isSuspended { engine.fill(MediaID(episode), priority: priority, load: loader(episode)) }
    }

    private func requireSession(_ key: ObjectIdentifier) throws {
        if sessions[key] == nil { throw Failure(kind: .usage, message: "open a session first") }
    }

    private func identifier(of key: ObjectIdentifier) -> String {
        guard case .background(let identifier)? = sessions[key]?.configuration else { return Self.passingSession }
        return identifier
    }

    private func completion(of row: Episode, session: String) throws -> Event {
        var event = Event(sequence: nextSequence(), time: now(), kind: .completed)
        event.id = row.id
        event.podcast = row.podcast
        event.path = try library.podcast(id: row.podcast).map { $0.name + "/" + row.name }
        event.generation = row.generation
        event.state = .cached
        event.received = row.confirmedSize
        event.expected = row.confirmedSize
        event.session = session
        return event
    }
}
