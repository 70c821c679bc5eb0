package import PodcastProtocol
internal import Synchronization
internal import Transfers

/// A client's transfers: a connection to the daemon that runs them, and the events received from it.
///
/// Tasks are created suspended and started with `DownloadTask.resume()`. Every task ends with exactly one final event:
/// `completed`, `failed`, or a `state` of `remote` if it was cancelled. Thread-safe.
package final class TransferSession: Sendable {
    /// The state used by the connection's callbacks, which may run before the session is initialized and must not
    /// retain it.
    private final class Inbox: Sendable {
        /// The last event of each episode that ends its task, or says that the task waits for space.
        let events = Mutex<[EpisodeID: Event]>([:])
        let hasEnded = Atomic(false)

        func receive(_ event: Event) {
            guard let task = event.task, let episode = task.episode else { return }
            events.withLock { events in
                if event.endsTask || task.waitsForSpace {
                    events[episode] = event
                } else if events[episode]?.endsTask == false {
                    events[episode] = nil
                }
            }
        }
    }

    package let connection: DaemonConnection
    private let inbox: Inbox
    /// The final events of a background session that are newer than the last acknowledged one, oldest first.
    package let missedEvents: [Event]

    /// Connects, and starts a daemon if none runs. Throws `ClientError` or `Failure`.
    package static func open(
        _ configuration: SessionConfiguration, launcher: DaemonLauncher
    ) async throws -> TransferSession {
        let inbox = Inbox()
        let connection = try launcher.connectOrStart(
            role: .command, onEvent: { inbox.receive($0) },
            onClose: { inbox.hasEnded.store(true, ordering: .releasing) })
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
        var found: Event?
        try await waitUntil(deadline: .seconds(120), description: "the task ends or waits for space") {
            let hasEnded = inbox.hasEnded.load(ordering: .acquiring)
            found = inbox.events.withLock { events in
                defer { if events[episode]?.endsTask == true { events[episode] = nil } }
                return events[episode]
            }
            if found == nil, hasEnded { throw ClientError.disconnected }
            return found != nil
        }
        guard let found else { throw ClientError.disconnected }
        return found
    }

    fileprivate func discardFinalEvent(of episode: EpisodeID) {
        inbox.events.withLock { if $0[episode]?.endsTask == true { $0[episode] = nil } }
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
