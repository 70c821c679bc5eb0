package import PodcastProtocol
internal import Synchronization
package import TransferCore

/// A client's transfers: a connection to the daemon that owns them, and what is heard of them.
///
/// Tasks start suspended and are begun with `DownloadTask.resume()`. Every task ends with exactly one event, the last
/// that is heard of it: `completed`, `failed`, or a `state` of `remote` when it was cancelled. Thread-safe; the delegate
/// is called on the connection's thread and must not block it.
package final class TransferSession: Sendable {
    package typealias Delegate = @Sendable (Event) -> Void

    /// Somebody who waits for news of a task.
    private struct Waiter {
        /// That the task rests until there is space is news too.
        var heedsSpace: Bool
        var continuation: CheckedContinuation<Event, any Error>
    }

    private struct State {
        var waiting: [EpisodeID: [Waiter]] = [:]
        /// How tasks have ended that nobody has waited for yet.
        var ends: [EpisodeID: Event] = [:]
        /// The last event of tasks that rest until there is space.
        var resting: [EpisodeID: Event] = [:]
        var isEnded = false
    }

    /// What the connection's callbacks reach: they come before the session is whole, and do not keep it.
    private final class Inbox: Sendable {
        let state = Mutex(State())
        let delegate: Delegate

        init(delegate: @escaping Delegate) { self.delegate = delegate }

        func take(_ event: Event) {
            if let episode = event.id, event.endsTask {
                let waiting = state.withLock { state in
                    let waiting = state.waiting.removeValue(forKey: episode) ?? []
                    if waiting.isEmpty { state.ends[episode] = event }
                    state.resting[episode] = nil
                    return waiting
                }
                for waiter in waiting { waiter.continuation.resume(returning: event) }
            } else if let episode = event.id, event.kind == .state || event.kind == .progress {
                let heedful = state.withLock { state -> [Waiter] in
                    guard event.waitsForSpace == true else {
                        state.resting[episode] = nil
                        return []
                    }
                    state.resting[episode] = event
                    let waiting = state.waiting.removeValue(forKey: episode) ?? []
                    let others = waiting.filter { !$0.heedsSpace }
                    if !others.isEmpty { state.waiting[episode] = others }
                    return waiting.filter(\.heedsSpace)
                }
                for waiter in heedful { waiter.continuation.resume(returning: event) }
            }
            delegate(event)
        }

        func end() {
            let waiting = state.withLock { state in
                state.isEnded = true
                defer { state.waiting = [:] }
                return state.waiting
            }
            for waiter in waiting.values.joined() { waiter.continuation.resume(throwing: TransferSession.gone) }
        }
    }

    fileprivate static let gone = ClientError(.disconnected, "the daemon has gone")

    let connection: DaemonConnection
    private let inbox: Inbox
    /// A background session's tasks that another connection has left: they run, or are suspended, as the daemon says.
    package let outstanding: [TaskInfo]
    /// What has ended of a background session while nobody was connected, oldest first; see `acknowledge`.
    package let endedWhileAway: [Event]

    /// Connects, and starts a daemon when none runs.
    package static func open(
        _ configuration: SessionConfiguration, launcher: DaemonLauncher, delegate: @escaping Delegate = { _ in }
    ) async throws -> TransferSession {
        let inbox = Inbox(delegate: delegate)
        let connection = try launcher.connectOrStart(
            role: .command, onEvent: { inbox.take($0) }, onEnd: { inbox.end() })
        // Events first, so that nothing falls between.
        _ = try await connection.perform(.watch)
        guard case .session(let tasks, let ended) = try await connection.perform(.openSession(configuration)) else {
            throw ClientError(.disagrees, "the daemon's answer cannot be read")
        }
        return TransferSession(connection: connection, inbox: inbox, outstanding: tasks, endedWhileAway: ended)
    }

    private init(connection: DaemonConnection, inbox: Inbox, outstanding: [TaskInfo], endedWhileAway: [Event]) {
        self.connection = connection
        self.inbox = inbox
        self.outstanding = outstanding
        self.endedWhileAway = endedWhileAway
    }

    /// Ends the connection. A background session's tasks go on, others end.
    package func end() { connection.end() }

    /// A task for an episode, which is not begun. When another client has a task for the same episode both are the same.
    package func downloadTask(episode: EpisodeID) async throws -> DownloadTask {
        guard case .task(let info) = try await connection.perform(.createTask(episode: episode)) else {
            throw ClientError(.disagrees, "the daemon's answer cannot be read")
        }
        return DownloadTask(session: self, info: info, episode: episode)
    }

    /// A task that goes on from what a cancelled one has left, not begun. Throws `Failure` when that is no longer there, or
    /// the file has changed on the server.
    package func downloadTask(resumeData: ResumeData) async throws -> DownloadTask {
        guard case .task(let info) = try await connection.perform(.continueTask(resumeData)) else {
            throw ClientError(.disagrees, "the daemon's answer cannot be read")
        }
        return DownloadTask(session: self, info: info, episode: resumeData.key.episode)
    }

    /// The task of an episode that is outstanding.
    package func task(_ info: TaskInfo) -> DownloadTask? {
        info.episode.map { DownloadTask(session: self, info: info, episode: $0) }
    }

    /// Takes note of all events up to this one: they are not told again when this background session is opened next.
    package func acknowledge(through event: Event) async throws {
        _ = try await connection.perform(.acknowledge(through: event.sequence))
    }

    /// Of the episodes, those whose downloads rest until the cache has space, by the daemon's own word.
    package func waitingForSpace(_ episodes: Set<EpisodeID>) async throws -> Set<EpisodeID> {
        guard case .tasks(let tasks) = try await connection.perform(.tasks) else { return [] }
        let resting = Set(tasks.filter { $0.waitsForSpace == true }.compactMap(\.episode)).intersection(episodes)
        // What was heard of the others is out of date: there is news to come.
        inbox.state.withLock { state in
            for episode in episodes where !resting.contains(episode) { state.resting[episode] = nil }
        }
        return resting
    }

    fileprivate func end(of episode: EpisodeID, heedsSpace: Bool) async throws -> Event {
        try await withCheckedThrowingContinuation { continuation in
            let known: Result<Event, any Error>? = inbox.state.withLock { state in
                if let event = state.ends.removeValue(forKey: episode) { return .success(event) }
                if heedsSpace, let event = state.resting[episode] { return .success(event) }
                if state.isEnded { return .failure(Self.gone) }
                state.waiting[episode, default: []].append(
                    Waiter(heedsSpace: heedsSpace, continuation: continuation))
                return nil
            }
            if let known { continuation.resume(with: known) }
        }
    }

    fileprivate func forgetEnd(of episode: EpisodeID) {
        inbox.state.withLock { _ = $0.ends.removeValue(forKey: episode) }
    }
}

/// The download of one episode, in a session.
package struct DownloadTask: Sendable {
    private let session: TransferSession
    /// As it was when the task was made or found.
    package let info: TaskInfo
    package let episode: EpisodeID

    init(session: TransferSession, info: TaskInfo, episode: EpisodeID) {
        self.session = session
        self.info = info
        self.episode = episode
    }

    /// Begins the task, or takes back one `suspend()`.
    package func resume() async throws {
        session.forgetEnd(of: episode)
        _ = try await session.connection.perform(.resumeTask(episode: episode))
    }

    /// Halts the task until as many `resume()`s, or until the session ends. A reader of the file still gets its bytes.
    package func suspend() async throws {
        _ = try await session.connection.perform(.suspendTask(episode: episode))
    }

    /// Ends the task for everybody and drops what has arrived.
    package func cancel() async throws {
        _ = try await session.connection.perform(.cancelTask(episode: episode, producingResumeData: false))
    }

    /// Ends the task for everybody and keeps what has arrived, as long as the cache has room for it.
    ///
    /// - Returns: what `TransferSession.downloadTask(resumeData:)` goes on from; `nil` when nothing had arrived.
    package func cancelProducingResumeData() async throws -> ResumeData? {
        let reply = try await session.connection.perform(.cancelTask(episode: episode, producingResumeData: true))
        guard case .resumeData(let data) = reply else { return nil }
        return data
    }

    /// How the task has ended; returns when it has. Throws `ClientError` when the daemon goes first.
    package func end() async throws -> Event { try await session.end(of: episode, heedsSpace: false) }

    /// How the task has ended, or an event that says that it rests until the cache has space (`Event.waitsForSpace`).
    package func endOrRest() async throws -> Event { try await session.end(of: episode, heedsSpace: true) }
}
