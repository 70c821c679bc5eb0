package import Platform
package import PodcastProtocol
package import TransferCore

/// An action for the driver.
package enum Effect: Sendable, Equatable {
    /// A row to write in the same transaction as the inputs that led to it. Other effects are performed after it, in
    /// order.
    case write(Row)

    // Orders to the engine. They are not stored: a new daemon derives them from the library.
    case run(MediaID, isSuspended: Bool, TransferPriority)
    case awaitSpace(MediaID, StorageShortage?)
    /// Fails a download that can never fit into the cache.
    case exceedsSpace(MediaID, StorageShortage)
    case stopWriting(StorageShortage?)
    case allowDiscretionary(Bool)
    /// Handles a task whose client has disconnected.
    case abandon(MediaID, isEphemeral: Bool)

    // Queries: each is answered by an input.
    /// - isProgress: whether the only change is that bytes have arrived.
    case assessSpace(isProgress: Bool)
    case readSchedule
    case readConditions

    // Effects without an answer.
    /// Broadcasts an event to every watching client.
    case tell(Event)
    case runHook(Hook)
    case perform(Chore)
    /// Makes schedules due that lie in the future only because they were set while the clock was ahead.
    case forgetFutureSchedules
    /// Shifts the dates of changes not yet sent to the sync server, after the clock was set.
    case moveUnsent(by: Duration)
    /// Schedules the next `tick`, replacing any earlier `wake`.
    case wake(at: Instant)
    /// Reports the end of work that may have used much memory.
    case workEnded
    case leave

    /// A change to the library's rows of tasks and events.
    package enum Row: Sendable, Equatable {
        case received(MediaID, generation: Int, bytes: Int64)
        case removed(TaskID)
        case failed(TaskID, TransferError)
        case suspended(TaskID, Bool)
        /// An event stored for clients that are not connected.
        case kept(Event)
        case uploadFailed(TaskID, TransferError, Event)
        /// Stores the event, if any, and removes the upload's row.
        case uploadRemoved(TaskID, Event?)
    }

    /// A command that the configuration runs at an event.
    package enum Hook: Sendable, Equatable {
        case downloaded(MediaID)
        case idle
    }
}

/// The combined results of a batch's inputs so far.
struct Outcome: Sendable {
    var effects: [Effect] = []
    /// Whether bytes have arrived, so that the cache limits have to be checked.
    var hasNewBytes = false
    /// Whether the demand for space in the cache has changed.
    var changesDemand = false
    /// Whether a task has ended: it may have been the last.
    var hasEnding = false
    /// Episodes to broadcast as changed, each once.
    var changed: Set<EpisodeID> = []
}
