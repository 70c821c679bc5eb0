internal import Platform
internal import PodcastProtocol
internal import Transfers

/// An action that the core returns, and that its driver (`CoreDriver`) performs.
enum Effect: Sendable, Equatable {
    /// A row to write in the batch's transaction. The other effects are performed after the commit, in order.
    case write(Row)

    // Orders to the engine. They are not stored: a new daemon derives them from the library.
    /// Starts, resumes or suspends a download.
    case run(MediaID, isSuspended: Bool, TransferPriority)
    /// Makes a download wait for space; `nil` lets it continue.
    case awaitSpace(MediaID, StorageShortage?)
    /// Fails a download that can never fit into the cache.
    case exceedsSpace(MediaID, StorageShortage)
    /// Stops all writes to the cache; `nil` permits them again. If the disk refused a write, a person's request permits
    /// another attempt.
    case stopWriting(StorageShortage?)
    case allowDiscretionary(Bool)
    /// Cancels a task whose client has disconnected, unless a program has the episode open. `isEphemeral`: whether to
    /// remove the episode's cache file, too, unless the episode is pinned.
    case abandon(MediaID, isEphemeral: Bool)

    // Queries. The driver answers each by an input to the core.
    /// Computes a storage plan. `isProgress`: whether the only change is that bytes have arrived.
    case assessSpace(isProgress: Bool)
    case readSchedule
    case readConditions

    // Effects without an answer.
    /// Broadcasts an event to every watching client.
    case broadcast(Event)
    /// Runs the command that the configuration has for a completed download.
    case runDownloadHook(MediaID)
    /// Runs the command that the configuration has for the end of all downloads.
    case runIdleHook
    case perform(Chore)
    /// Makes each show, and the sync account, due if its schedule was set while the clock was ahead.
    case clearFutureSchedules
    /// Shifts the dates of changes not yet sent to the sync server, after the clock was set.
    case moveUnsent(by: Duration)
    /// Schedules the next `tick` input to the core, and replaces any earlier `wake`.
    case wake(at: Instant)
    /// Reports the end of work that may have used much memory, so that the process can return it to the system.
    case workEnded
    /// Exits the daemon.
    case leave

    /// A change to the library's rows of tasks and events.
    enum Row: Sendable, Equatable {
        /// The number of bytes of this generation that are in the cache.
        case received(MediaID, generation: Int, bytes: Int64)
        case removed(TaskID)
        case failed(TaskID, TransferError)
        case suspended(TaskID, Bool)
        /// An event stored for clients that are not connected.
        case event(Event)
        /// Stores the failure and its event.
        case uploadFailed(TaskID, TransferError, Event)
        /// Stores the event, if any, and removes the upload's row.
        case uploadRemoved(TaskID, Event?)
    }
}

/// The combined results of a batch's inputs so far.
struct Outcome: Sendable {
    var effects: [Effect] = []
    /// The number of bytes that have arrived, or that downloads need beyond their reservations.
    var newBytes: Int64 = 0
    /// Whether a download needs less space, or its rank has changed. That matters only if the space is too small for
    /// all downloads.
    var changesShares = false
    /// Whether the demand for space in the cache has changed in another way, so that a new plan is needed.
    var changesDemand = false
    /// Whether a task has ended; it may have been the last active one.
    var hasEndedTask = false
    /// Episodes whose change was broadcast in this batch.
    var changed: Set<EpisodeID> = []

    /// Adds the difference that the engine's report makes to the demand for space. The start of a queued download makes
    /// none: its space is reserved.
    mutating func addDemand(of task: RegisteredDownload, reportedAs new: DownloadSnapshot) {
        let old = task.snapshot
        newBytes += max(0, new.received - old.received)
        // Until the server states the size, an estimate is reserved.
        if new.total != old.total { newBytes += max(0, (new.total ?? 0) - (old.total ?? task.guess ?? 0)) }
        func facts(_ snapshot: DownloadSnapshot) -> (Bool, Bool, Bool, Int64?) {
            (snapshot.state.isActive, snapshot.isWaitingForConditions, snapshot.isRetrying, snapshot.total)
        }
        let (before, after) = (facts(old), facts(new))
        if before != after { changesShares = true }
        if after.0 && !before.0 || before.1 && !after.1 { changesDemand = true }
    }
}
