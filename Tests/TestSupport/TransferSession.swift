package import PodcastProtocol
internal import Synchronization
internal import Transfers

/// A client's transfers: a connection to the daemon that runs them, and the events received from it.
///
/// Tasks are created suspended and started with `DownloadTask.resume()`. Every task ends with exactly one final event:
/// `completed`, `failed`, or a `state` of `remote` if it was cancelled. Thread-safe; the delegate is called on the
/// connection's thread and must not block it.
package final class TransferSession: Sendable {
    /// Called with every event of the daemon, including those of other clients' tasks.
    package typealias Delegate = @Sendable (Event) -> Void

    /// A caller that waits until a task ends or waits for space.
    private typealias Waiter = CheckedContinuation<Event, any Error>

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
            if let task = event.task, let episode = task.episode {
                let waiting = state.withLock { state -> [Waiter] in
                    state.waitingForSpace[episode] = !event.endsTask && task.waitsForSpace ? event : nil
                    guard event.endsTask || task.waitsForSpace else { return [] }
                    let waiting = state.waiting.removeValue(forKey: episode) ?? []
                    if event.endsTask, waiting.isEmpty { state.finalEvents[episode] = event }
                    return waiting
                }
                for waiter in waiting { waiter.resume(returning: event) }
            }
            delegate(event)
        }

        func handleDisconnect() {
            let waiting = state.withLock { state in
                state.isEnded = true
                defer { state.waiting = [:] }
                return state.waiting
            }
            for waiter in waiting.values.joined() { waiter.resume(throwing: ClientError.disconnected) }
        }
    }

    package let connection: DaemonConnection
    private let inbox: Inbox
    /// The final events of a background session that are newer than the last acknowledged one, oldest first.
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
        return TransferSession(connection: connection, inbox: inbox, missedEvents: session.ended)
    }

    private init(connection: DaemonConnection, inbox: Inbox, missedEvents: [Event]) {
        self.connection = connection
        self.inbox = inbox
        self.missedEvents = missedEvents
    }

    /// Closes the connection. The tasks of a background session continue. A task of any other session ends, unless
    /// another client has resumed it or a program has the episode open. Pending calls of
    /// `DownloadTask.finalEventOrSpaceWait()` throw.
    package func close() { connection.close() }

    /// Creates a suspended task for an episode. If another client already has a task for the episode, that task is
    /// shared.
    package func downloadTask(episode: EpisodeID) async throws -> DownloadTask {
        let info = try await connection.perform(.createTask(episode: episode), \.task)
        return DownloadTask(session: self, info: info, episode: episode)
    }

    fileprivate func finalEventOrSpaceWait(of episode: EpisodeID) async throws -> Event {
        try await withCheckedThrowingContinuation { continuation in
            let known: Result<Event, any Error>? = inbox.state.withLock { state in
                if let event = state.finalEvents.removeValue(forKey: episode) { return .success(event) }
                if let event = state.waitingForSpace[episode] { return .success(event) }
                if state.isEnded { return .failure(ClientError.disconnected) }
                state.waiting[episode, default: []].append(continuation)
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
    package let session: TransferSession
    /// The task's state when this value was created.
    package let info: TaskInfo
    package let episode: EpisodeID

    package init(session: TransferSession, info: TaskInfo, episode: EpisodeID) {
        self.session = session
        self.info = info
        self.episode = episode
    }

    /// Starts the task, or undoes one suspension by this client. Discards an earlier final event for which nobody has
    /// waited.
    package func resume() async throws {
        session.discardFinalEvent(of: episode)
        _ = try await session.connection.perform(.resumeTask(episode: episode))
    }

    /// Waits for the task's final event, or for an event with `TaskInfo.waitsForSpace`, and returns it. Throws
    /// `ClientError` if the connection ends first.
    package func finalEventOrSpaceWait() async throws -> Event { try await session.finalEventOrSpaceWait(of: episode) }
}
