internal import Synchronization
package import Transfers

/// A client's transfers: a connection to the daemon that runs them, and the events received from it.
///
/// Tasks are created suspended and started with `DownloadTask.resume()`. Every task ends with exactly one final event:
/// `completed`, `failed`, or a `state` of `remote` if it was cancelled. Thread-safe; the delegate is called on the
/// connection's thread and must not block it.
package final class TransferSession: Sendable {
    /// Called with every event of the daemon, including those of other clients' tasks.
    package typealias Delegate = @Sendable (Event) -> Void

    /// A caller that waits for the end of a task.
    private struct Waiter {
        /// Whether an event with `TaskReport.waitsForSpace` also ends the wait.
        var includesSpaceWait: Bool
        var continuation: CheckedContinuation<Event, any Error>
    }

    private struct State {
        var waiting: [EpisodeID: [Waiter]] = [:]
        /// Final events for which nobody has waited yet.
        var finalEvents: [EpisodeID: Event] = [:]
        /// The last event of each task that waits for space.
        var waitingForSpace: [EpisodeID: Event] = [:]
        var isEnded = false
    }

    /// The state used by the connection's callbacks, which may run before the session is initialized and must not
    /// retain it.
    private final class Inbox: Sendable {
        let state = Mutex(State())
        let delegate: Delegate

        init(delegate: @escaping Delegate) { self.delegate = delegate }

        func receive(_ event: Event) {
            if let episode = event.episode, event.endsTask {
                let waiting = state.withLock { state in
                    let waiting = state.waiting.removeValue(forKey: episode) ?? []
                    if waiting.isEmpty { state.finalEvents[episode] = event }
                    state.waitingForSpace[episode] = nil
                    return waiting
                }
                for waiter in waiting { waiter.continuation.resume(returning: event) }
            } else if let task = event.task, let episode = task.episode {
                let spaceWaiters = state.withLock { state -> [Waiter] in
                    guard task.waitsForSpace else {
                        state.waitingForSpace[episode] = nil
                        return []
                    }
                    state.waitingForSpace[episode] = event
                    let waiting = state.waiting.removeValue(forKey: episode) ?? []
                    let others = waiting.filter { !$0.includesSpaceWait }
                    if !others.isEmpty { state.waiting[episode] = others }
                    return waiting.filter(\.includesSpaceWait)
                }
                for waiter in spaceWaiters { waiter.continuation.resume(returning: event) }
            }
            delegate(event)
        }

        func handleDisconnect() {
            let waiting = state.withLock { state in
                state.isEnded = true
                defer { state.waiting = [:] }
                return state.waiting
            }
            for waiter in waiting.values.joined() { waiter.continuation.resume(throwing: ClientError.disconnected) }
        }
    }

    let connection: DaemonConnection
    private let inbox: Inbox
    /// The running, queued, suspended and failed tasks that earlier connections of a background session have created.
    /// The tasks of a background session continue while no client is connected.
    package let outstanding: [TaskInfo]
    /// The final events of a background session that are newer than the last acknowledged one, oldest first; see
    /// `acknowledge`.
    package let missedEvents: [Event]

    /// Connects, and starts a daemon if none runs. Throws `ClientError` or `Failure`.
    package static func open(
        _ configuration: SessionConfiguration, launcher: DaemonLauncher, delegate: @escaping Delegate = { _ in }
    ) async throws -> TransferSession {
        let inbox = Inbox(delegate: delegate)
        let connection = try launcher.connectOrStart(
            role: .command, onEvent: { inbox.receive($0) }, onClose: { inbox.handleDisconnect() })
        // Subscribe to events first, so that none is missed.
        _ = try await connection.perform(.watch)
        let session = try await connection.perform(.openSession(configuration), \.session)
        return TransferSession(
            connection: connection, inbox: inbox, outstanding: session.tasks, missedEvents: session.ended)
    }

    private init(connection: DaemonConnection, inbox: Inbox, outstanding: [TaskInfo], missedEvents: [Event]) {
        self.connection = connection
        self.inbox = inbox
        self.outstanding = outstanding
        self.missedEvents = missedEvents
    }

    /// Closes the connection. The tasks of a background session continue. A task of any other session ends, unless
    /// another client has resumed it or a program has the episode open. Pending calls of `DownloadTask.finalEvent()`
    /// throw.
    package func close() { connection.close() }

    /// Creates a suspended task for an episode. If another client already has a task for the episode, that task is
    /// shared.
    package func downloadTask(episode: EpisodeID) async throws -> DownloadTask {
        let info = try await connection.perform(.createTask(episode: episode), \.task)
        return DownloadTask(session: self, info: info, episode: episode)
    }

    /// Creates a suspended task that continues a cancelled one. Throws `Failure` if its bytes are no longer cached, or
    /// the file has changed on the server.
    package func downloadTask(resumeData: ResumeData) async throws -> DownloadTask {
        let info = try await connection.perform(.continueTask(resumeData), \.task)
        return DownloadTask(session: self, info: info, episode: resumeData.key.episode)
    }

    /// Returns the task that `info` describes; `nil` if it concerns no episode.
    package func task(_ info: TaskInfo) -> DownloadTask? {
        info.episode.map { DownloadTask(session: self, info: info, episode: $0) }
    }

    /// Acknowledges all events up to this one: they are not delivered again when this background session is reopened.
    package func acknowledge(through event: Event) async throws {
        _ = try await connection.perform(.acknowledge(through: event.sequence))
    }

    /// Asks the daemon which of the episodes' downloads wait for space.
    package func waitingForSpace(_ episodes: Set<EpisodeID>) async throws -> Set<EpisodeID> {
        let before = inbox.state.withLock { $0.waitingForSpace }
        let tasks = try await connection.perform(.tasks, \.tasks)
        let waitingForSpace = Set(tasks.filter { $0.waitsForSpace == true }.compactMap(\.episode)).intersection(
            episodes)
        // The other episodes no longer wait for space, so remove their stored events. Events that arrived after the
        // request was sent stay, because they may be newer than the reply.
        inbox.state.withLock { state in
            for episode in episodes.subtracting(waitingForSpace)
            where state.waitingForSpace[episode] == before[episode] {
                state.waitingForSpace[episode] = nil
            }
        }
        return waitingForSpace
    }

    fileprivate func finalEvent(of episode: EpisodeID, includesSpaceWait: Bool) async throws -> Event {
        try await withCheckedThrowingContinuation { continuation in
            let known: Result<Event, any Error>? = inbox.state.withLock { state in
                if let event = state.finalEvents.removeValue(forKey: episode) { return .success(event) }
                if includesSpaceWait, let event = state.waitingForSpace[episode] { return .success(event) }
                if state.isEnded { return .failure(ClientError.disconnected) }
                state.waiting[episode, default: []].append(
                    Waiter(includesSpaceWait: includesSpaceWait, continuation: continuation))
                return nil
            }
            if let known { continuation.resume(with: known) }
        }
    }

    fileprivate func discardFinalEvent(of episode: EpisodeID) {
        inbox.state.withLock { _ = $0.finalEvents.removeValue(forKey: episode) }
    }
}

/// The download of one episode in a session.
package struct DownloadTask: Sendable {
    private let session: TransferSession
    /// The task's state when this value was created.
    package let info: TaskInfo
    package let episode: EpisodeID

    init(session: TransferSession, info: TaskInfo, episode: EpisodeID) {
        self.session = session
        self.info = info
        self.episode = episode
    }

    /// Starts the task, or undoes one `suspend()`. Discards an earlier final event for which nobody has waited.
    package func resume() async throws {
        session.discardFinalEvent(of: episode)
        _ = try await session.connection.perform(.resumeTask(episode: episode))
    }

    /// Suspends the task. Suspensions nest: the task continues after the same number of `resume()` calls, or when the
    /// session's connection ends. Programs that read the file are still served.
    package func suspend() async throws {
        _ = try await session.connection.perform(.suspendTask(episode: episode))
    }

    /// Cancels the task for all clients and deletes the received bytes.
    package func cancel() async throws {
        _ = try await session.connection.perform(.cancelTask(episode: episode, producingResumeData: false))
    }

    /// Cancels the task for all clients and leaves the received bytes in the cache, subject to eviction.
    ///
    /// - Returns: The argument for `TransferSession.downloadTask(resumeData:)`; `nil` if no received byte is
    ///   recorded in the cache, or the download was complete before it could be cancelled.
    package func cancelProducingResumeData() async throws -> ResumeData? {
        let reply = try await session.connection.perform(.cancelTask(episode: episode, producingResumeData: true))
        guard case .resumeData(let data) = reply else { throw ClientError.unexpectedReply }
        return data
    }

    /// Waits for the task's final event and returns it. Throws `ClientError` if the connection ends first.
    package func finalEvent() async throws -> Event {
        try await session.finalEvent(of: episode, includesSpaceWait: false)
    }

    /// Waits for the final event, or for an event with `TaskReport.waitsForSpace`.
    package func finalEventOrSpaceWait() async throws -> Event {
        try await session.finalEvent(of: episode, includesSpaceWait: true)
    }
}
