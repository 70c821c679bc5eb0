internal import Glibc
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

// Handlers of frames, on the socket's thread. They pass opens and reads to the engine directly, and do not block.
extension PodcastService {
    nonisolated func receive(_ frame: Frame, from client: ClientConnection) {
        switch frame.kind {
        case .read, .open: read(frame, from: client)
        case .cancel: cancel(frame.number, of: client)
        case .close: close(frame, from: client)
        case .opened:
            guard let episode = WireJSON.decode(EpisodeID.self, frame.payload) else { return }
            // The engine's thread, which times the delivery of other opens, may be asleep.
            driver.events.enqueue(.opened(episode), isUrgent: true)
        case .hello: greet(frame, client)
        case .command:
            guard let command = WireJSON.decode(Command.self, frame.payload) else {
                client.send(Failure(message: "the daemon does not know this command"), number: frame.number)
                return
            }
            if command == .watch {
                client.state.withLock { $0.isWatching = true }
                client.send(.reply, number: frame.number, Reply.done)
                return
            }
            client.countCommands(by: 1)
            client.state.withLock { $0.queue.append((command, frame.number)) }
            startTask { [self] in
                // Two tasks may run in either order. The first to run takes the older command, so the commands of a
                // connection begin in their order, and each runs alone until it waits for something.
                let (command, number) = client.state.withLock { $0.queue.removeFirst() }
                await perform(command, number: number, for: client)
                client.countCommands(by: -1)
            }
        default:
            client.send(Failure(message: "the daemon does not know this message"), number: frame.number)
        }
    }

    private nonisolated func greet(_ frame: Frame, _ client: ClientConnection) {
        let isCommand = WireJSON.decode(Hello.self, frame.payload) == .command
        let welcome = Welcome(
            protocolVersion: protocolVersion, schema: Library.schemaVersion, library: configuration.paths.library,
            cache: configuration.paths.cache, version: configuration.version, pid: getpid(),
            notice: isCommand ? notice.withLock { $0.take() } : nil)
        client.send(.welcome, number: frame.number, welcome)
    }

    /// Cancels a request. This function runs on the thread that registers requests, so the request is already
    /// registered: it is in `waits` while its result is outstanding, and in `opens` if it is an open that was granted.
    private nonisolated func cancel(_ number: UInt32, of client: ClientConnection) {
        let (wait, opened) = client.state.withLock { state in
            (state.waits.removeValue(forKey: number), state.opens.removeValue(forKey: number))
        }
        if let wait, let requestID = wait.requestID { engine.cancelWait(MediaID(wait.episode), requestID) }
        // The open was granted, but the client has given it up and will not send a close.
        if let opened { engine.close(MediaID(opened)) }
    }

    /// Registers a request, passes it to the engine, and replies.
    ///
    /// - Parameters:
    ///   - isVerified: whether the cached file has already been verified completely. If it has to be, the request is
    ///     repeated afterwards, if the client still waits.
    ///   - start: calls the engine, and returns its identifier for the request.
    private nonisolated func request(
        _ number: UInt32, _ episode: EpisodeID, for client: ClientConnection, isOpen: Bool, isVerified: Bool = false,
        start: @escaping @Sendable (@escaping TransferEngine.Answer) -> Int64
    ) {
        // The result may arrive at once.
        if !isVerified { client.state.withLock { $0.waits[number] = (episode, nil) } }
        let requestID = start { [self] result in
            let reply = { @Sendable [self] in self.reply(result, number, isOpen ? episode : nil, to: client) }
            switch result {
            case .failure(let error) where error.code == .unverified && !isVerified:
                startTask { [self] in
                    await verifier.verify(episode)
                    guard client.state.withLock({ $0.waits[number] != nil && !$0.isClosed }) else { return }
                    request(number, episode, for: client, isOpen: isOpen, isVerified: true, start: start)
                }
            case .success(let grant) where !grant.isNewGeneration:
                // Reply at once, because the grant contains everything that the client needs of what the preceding
                // events will write to the library.
                reply()
            case .success, .failure:
                // Reply after the preceding events are recorded, so that the client finds the reason of a failure and a
                // new generation in the library. Without the generation, the file's name leads to the old inode, and
                // the kernel serves the first bytes of the old generation from its cache.
                driver.events.enqueue(.marker(reply))
            }
        }
        client.state.withLock { $0.waits[number]?.requestID = requestID }
    }

    /// Opens an episode, or reads a part of it.
    private nonisolated func read(_ frame: Frame, from client: ClientConnection) {
        guard let read = ReadRequest(payload: frame.payload) else {
            return client.send(Failure(message: "malformed request"), number: frame.number)
        }
        if read.kind == .probe { recordProbe(of: read.episode) }
        let (media, load, isOpen) = (MediaID(read.episode), driver.loader(read.episode), frame.kind == .open)
        request(frame.number, read.episode, for: client, isOpen: isOpen) { [self] answer in
            guard isOpen else {
                return engine.read(
                    media, range: read.range, generation: read.generation, as: read.kind, takesHead: read.takesHead,
                    load: load, answer: answer)
            }
            return engine.open(media, as: read.kind, load: load) { [self] result in
                answer(result)
                if case .success = result, read.kind == .player { driver.events.enqueue(.opened(read.episode)) }
            }
        }
    }

    /// Sends the result of a request, and records a granted open.
    ///
    /// - Parameter opening: the episode, if the request is an open.
    private nonisolated func reply(
        _ result: Result<ReadGrant, TransferError>, _ number: UInt32, _ opening: EpisodeID?, to client: ClientConnection
    ) {
        let isWanted = client.state.withLock { state in
            // No entry: the request was cancelled while its reply was queued, or the client has disconnected.
            guard state.waits.removeValue(forKey: number) != nil, !state.isClosed else { return false }
            if let opening, case .success = result { state.opens[number] = opening }
            return true
        }
        switch result {
        case .success(let grant) where isWanted:
            client.send(Frame(kind: .grant, number: number, payload: Grant(grant).payload))
        case .success: if let opening { engine.close(MediaID(opening)) }
        case .failure(let error): client.send(error.failure, number: number)
        }
    }

    private nonisolated func close(_ frame: Frame, from client: ClientConnection) {
        guard let episode = WireJSON.decode(EpisodeID.self, frame.payload) else { return }
        let wasOpen = client.state.withLock { state in
            // Close the episode's oldest open. The client may have cancelled the newest, and that cancel, which may
            // not have arrived yet, has to find its own open here.
            let numbers = state.opens.lazy.filter { $0.value == episode }.map(\.key)
            guard let number = numbers.min() else { return false }
            state.opens[number] = nil
            return true
        }
        if wasOpen { engine.close(MediaID(episode)) }
        // Report the close even if an earlier daemon granted the open.
        driver.events.enqueue(.marker { [weak self] in self?.closed([episode]) })
    }

    /// Cancels the requests of a disconnected client and closes its open episodes.
    nonisolated func disconnect(_ client: ClientConnection) {
        let (opens, waits) = client.state.withLock { state in
            defer {
                state.opens = [:]
                state.waits = [:]
            }
            return (state.opens, state.waits)
        }
        for wait in waits.values { if let id = wait.requestID { engine.cancelWait(MediaID(wait.episode), id) } }
        for episode in opens.values { engine.close(MediaID(episode)) }
        driver.events.enqueue(
            .marker { [weak self] in
                self?.sync.clientDisconnected(client.id)
                self?.driver.report(.disconnected(client.id))
                self?.closed(Set(opens.values))
            })
    }
}

extension Grant {
    fileprivate init(_ grant: ReadGrant) {
        self.init(
            generation: grant.generation, total: grant.total, file: grant.file, present: grant.present, head: grant.head
        )
    }
}
