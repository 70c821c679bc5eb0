package import PodcastProtocol
package import TransferCore

/// An action for the driver.
package enum Effect: Sendable, Equatable {
    /// A row to write in the transaction of the inputs that led to it. The others are performed after it, in order.
    case write(Row)

    // Derivable when a daemon starts: orders to the engine.
    case run(MediaID, isSuspended: Bool, TransferPriority)
    case awaitSpace(MediaID, StorageShortage?)
    /// It can never have space.
    case exceedsSpace(MediaID, StorageShortage)
    case stopWriting(StorageShortage?)
    case allowDiscretionary(Bool)
    /// The client of a task has gone.
    case abandon(MediaID, isEphemeral: Bool)

    // Questions: an input answers each.
    /// - isProgress: nothing has happened but that bytes have come.
    case assessSpace(isProgress: Bool)
    case readSchedule

    // Best effort.
    /// To every client that watches.
    case tell(Event)
    case runHook(Hook)
    case perform(Chore)
    /// The clock was set back: what was scheduled by it before would be due that much later.
    case forgetFutureSchedules
    /// The clock was set, by so many seconds: what waits for the sync server was dated by it as it was.
    case moveUnsent(by: Int64)
    /// `tick` is to come at that moment, on the clock that never goes back, in place of any earlier wish.
    case wake(at: Duration)
    /// Work has ended that may have taken much memory.
    case workEnded
    case leave

    /// A change of the library's rows of tasks.
    package enum Row: Sendable, Equatable {
        case received(MediaID, generation: Int, bytes: Int64)
        case removed(TaskID)
        case failed(TaskID, TransferError)
        case suspended(TaskID, Bool)
        /// For clients that are away.
        case kept(Event)
        case uploadFailed(TaskID, TransferError, Event)
        /// The event is in the library before the row is not.
        case uploadRemoved(TaskID, Event?)
    }

    /// A command of the configuration.
    package enum Hook: Sendable, Equatable {
        case downloaded(MediaID)
        case idle
    }
}

/// The results of a batch's inputs until now.
struct Outcome: Sendable {
    var effects: [Effect] = []
    /// Whether bytes have arrived, so that the cache limits have to be checked.
    var hasNewBytes = false
    /// The demand for space in the cache has changed.
    var changesDemand = false
    /// A task has ended, which may have been the last.
    var hasEnding = false
    /// Episodes to broadcast as changed, each once.
    var changed: Set<EpisodeID> = []
}
