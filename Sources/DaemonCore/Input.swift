package import PodcastProtocol
package import TransferCore

/// One event that the daemon's decisions depend on.
package enum Input: Sendable {
    // Clients.
    case connected(ClientID)
    /// The end of a connection: its suspensions end, and the tasks that end with it.
    case disconnected(ClientID)
    case openedSession(ClientID, SessionConfiguration)
    /// A task that its client has not begun.
    case created(MediaID, by: ClientID)
    /// A client has begun a task that it had created.
    case begun(MediaID, by: ClientID)
    /// A client has cancelled a task of its own.
    case gaveUp(MediaID, by: ClientID)
    case held(MediaID, by: ClientID)
    case released(MediaID, by: ClientID)

    // Downloads.
    /// A row of the library. A known task takes over the row's values; one that is asked for again is as one that has not
    /// begun.
    ///
    /// - asked: when somebody has asked for it; since 1970. `nil` when nobody has just now.
    case registered(DownloadTask, asked: Duration?)
    /// It is to go on, as far as nobody has suspended it.
    case wanted(MediaID, TransferPriority)
    /// By a person.
    case suspended(MediaID, Bool)
    case reported(DownloadSnapshot)
    case completed(MediaID, generation: Int, size: Int64)
    case failed(MediaID, TransferError)
    /// The engine has been told to end it, and has said all that it has to say of it.
    case ended(MediaID)
    /// Cancelled, although there was no task: whoever was told of its failure is told otherwise.
    case cleared(MediaID)
    case renamed(MediaID, path: String)

    // Uploads.
    case uploadRegistered(UploadTask)
    /// The server's state of it has been written down.
    case uploadRecorded(TaskID, held: Int64)
    case uploadReported(UploadSnapshot)
    case uploadCompleted(TaskID, size: Int64)
    case uploadFailed(TaskID, TransferError)
    case uploadCancelled(TaskID)

    // What is fetched for the library: feeds, searches, assets.
    case fetchBegan(TaskInfo)
    /// One that was told of when it began.
    case fetchTaken(TaskInfo)
    case fetchProgressed(TaskID, received: Int64, expected: Int64?)
    case fetchEnded(TaskID)
    /// Told only: the fetch is over already.
    case fetchTold(TaskInfo, TaskState)

    // Space.
    case opened(MediaID)
    case closed(MediaID)
    case evicted(MediaID)
    case writeFailed(free: Int64)
    /// The answer to `assessSpace`; `nil` when it could not be found out.
    case planned(StoragePlan?)

    // The library.
    case changedEpisode(EpisodeID, formerName: String? = nil)
    case changedShow(ShowID, name: String, formerName: String? = nil)

    // What is under way, and what is due.
    /// A command, an exchange, or any other work has begun in the middle of which the daemon does not leave.
    case began
    case finished
    /// Feeds are asked for, or answers have not been taken up.
    case fetching(Bool)
    /// Facts of the engine that could not be written, and are tried again.
    case unwritten(Int)
    /// The answer to `readSchedule`: when each is due, in seconds since 1970.
    case scheduled([Chore: Int64])
    /// A possible change of what is due.
    case rescheduled
    /// Whether link and power are good for what nobody waits for.
    case conditions(allowDiscretionary: Bool)
    case tick
    /// Somebody asks the daemon to leave.
    case askedToLeave
}

/// Work that comes by itself.
package enum Chore: Sendable, Hashable, CaseIterable {
    case backUp, refresh, synchronize, upload
    /// Shows and results that have been gone for long.
    case tidyUp
    case assessSpace
    /// Facts that could not be written.
    case writeAgain
}
