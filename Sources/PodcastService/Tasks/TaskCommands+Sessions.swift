internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

// Commands on sessions and their tasks, for programs.
extension TaskCommands {
    private var sessions: [ClientID: ClientSession] { driver.core.tasks.sessions }

    func openSession(_ configuration: SessionConfiguration, for client: ClientConnection) throws -> Reply {
        guard sessions[client.id] == nil else {
            throw Failure(kind: .usage, message: "this connection has a session already: open another connection")
        }
        guard client.state.withLock({ !$0.isClosed }) else { throw Failure(message: "the client has disconnected") }
        if case .background("") = configuration {
            throw Failure(kind: .usage, message: "a background session needs an identifier")
        }
        guard case .background(let identifier) = configuration else {
            driver.report(.openedSession(client.id, configuration))
            return .session(tasks: [], ended: [])
        }
        // Read before the session is registered: if that fails, the client can open the session again.
        let ended = try library.events(since: try library.acknowledged(session: identifier)).filter {
            $0.task?.session == identifier
        }
        driver.report(.openedSession(client.id, configuration))
        let outstanding = downloads.values.filter { $0.session == identifier }.compactMap {
            driver.core.info(of: $0.media)
        }
        return .session(tasks: outstanding.sorted { $0.id < $1.id }, ended: ended)
    }

    func acknowledge(_ sequence: Int64, for client: ClientConnection) throws -> Reply {
        guard case .background(let identifier)? = sessions[client.id]?.configuration else {
            throw Failure(kind: .usage, message: "only a background session acknowledges events")
        }
        try library.acknowledge(session: identifier, through: sequence)
        return .done
    }

    func createTask(_ episode: EpisodeID, for client: ClientConnection) throws -> Reply {
        _ = try session(of: client)
        guard let row = try library.episode(id: episode), let show = try library.folder(id: row.podcast) else {
            throw Failure(message: "episode \(episode) is not in the library")
        }
        if row.isStream { throw StreamPlaylist.notAFile.failure }
        driver.report(.created(MediaID(episode), by: client.id))
        return .task(
            TaskInfo(
                id: downloads[MediaID(episode)]?.id ?? 0, kind: .download, path: show.name + "/" + row.name,
                episode: episode, state: row.complete ? .cached : .suspended, received: row.cachedBytes,
                expected: row.confirmedSize, started: now()))
    }

    func resumeTask(_ episode: EpisodeID, for client: ClientConnection) throws -> Reply {
        let media = MediaID(episode)
        let session = try session(of: client)
        // A new task starts suspended. If its client has then suspended it explicitly, the client must resume it twice:
        // the first resume ends the explicit suspension, and the second starts the task.
        let wasHeld = session.held[media] != nil
        if wasHeld { driver.report(.released(media, by: client.id)) }
        guard !wasHeld, session.created.contains(media) else {
            if let info = driver.core.info(of: media) { return .task(info) }
            if wasHeld { return .done }
            throw Failure(kind: .usage, message: "there is no task for episode \(episode): create it first")
        }
        guard let row = try library.episode(id: episode) else {
            throw Failure(message: "episode \(episode) is no longer in the library")
        }
        if row.complete {
            driver.report(.begun(media, by: client.id))
            // The file is already cached: only report its completion.
            let folder = try library.folder(id: row.podcast).map { $0.name + "/" } ?? ""
            var info = TaskInfo(
                id: 0, path: folder + row.name, episode: row.id, state: .cached, received: row.confirmedSize ?? 0,
                expected: row.confirmedSize)
            (info.show, info.generation, info.session) = (row.podcast, row.generation, session.identifier)
            client.send(.event, number: 0, driver.event(.completed(info)))
            return .done
        }
        try driver.change { batch in
            try driver.register(episode, session: session.identifier, asked: batch.moment.wall, &batch)
            try batch.handle(.begun(media, by: client.id))
            try batch.handle(.wanted(media, .asked))
        }
        return driver.core.info(of: media).map { .task($0) } ?? .done
    }

    func suspendTask(_ episode: EpisodeID, for client: ClientConnection) throws -> Reply {
        let media = MediaID(episode)
        guard try session(of: client).created.contains(media) || downloads[media] != nil else {
            throw Failure(kind: .usage, message: "there is no task for episode \(episode)")
        }
        driver.report(.held(media, by: client.id))
        return driver.core.info(of: media).map { .task($0) } ?? .done
    }

    func cancelTask(
        _ episode: EpisodeID, producesResumeData: Bool, for client: ClientConnection
    ) async throws -> Reply {
        _ = try session(of: client)
        let media = MediaID(episode)
        driver.report(.cancelled(media, by: client.id))
        // Without resume data, either no byte is in a checkpoint, or every byte has arrived. If every byte has arrived,
        // `engine.cancel` returns `false`, and the task completes.
        let data =
            producesResumeData
            ? await engine.cancelProducingResumeData(media, load: driver.loader(episode)) : nil
        try await cancel([episode])
        if producesResumeData { return .resumeData(data) }
        if let row = try library.episode(id: episode), !row.complete,
            let problem = try await dropBytes(of: [row])[episode]
        {
            throw Failure(message: "\(row.name): \(problem)")
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
                message: "the bytes of the cancelled download are no longer cached, or the file has changed: "
                    + "create a new task")
        }
        return try createTask(data.key.episode, for: client)
    }

    /// Cancels a task whose client has disconnected, if the task must end with its client. If the client's session was
    /// ephemeral, also removes the episode's cached bytes, unless the episode is pinned. Does neither while a program
    /// has the episode open. Call only if no other client has resumed the task.
    func abandon(_ episode: EpisodeID, isEphemeral: Bool) {
        driver.startWork { [self] in
            let isClientBound = downloads[MediaID(episode)]?.session == ClientSession.clientBound
            if driver.clients.openEpisodes.contains(episode) {
                // The task becomes an ordinary download, as if the program's read had started it.
                if isClientBound { try driver.change { batch in try driver.register(episode, &batch) } }
                return
            }
            if isClientBound { try await cancel([episode]) }
            if isEphemeral, let row = try library.episode(id: episode), !row.pinned {
                _ = try await dropBytes(of: [row])
            }
        }
    }

    private func session(of client: ClientConnection) throws -> ClientSession {
        guard let session = sessions[client.id] else { throw Failure(kind: .usage, message: "open a session first") }
        return session
    }
}
