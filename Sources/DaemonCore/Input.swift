package import Listening
package import Platform
package import PodcastProtocol
package import TransferCore

/// One event that the daemon's decisions depend on.
package enum Input: Sendable {
    // Clients.
    case connected(ClientID)
    /// A client disconnected: its suspensions are released, and tasks that end with their client are abandoned.
    case disconnected(ClientID)
    case openedSession(ClientID, SessionConfiguration)
    /// A client created a task that it has not resumed yet.
    case created(MediaID, by: ClientID)
    /// A client resumed a task that it had created.
    case begun(MediaID, by: ClientID)
    /// A client has cancelled a task of its own.
    case gaveUp(MediaID, by: ClientID)
    case held(MediaID, by: ClientID)
    case released(MediaID, by: ClientID)

    // Downloads.
    /// A download's row in the library. A known task keeps its progress and takes over the row's other values; if
    /// `asked` is given, a failed one is queued again.
    ///
    /// - asked: the time of the request; `nil` if nobody requested it just now.
    case registered(DownloadTask, asked: WallTime?)
    /// A request to start or resume a download. It does not run while a person or a client suspends it.
    case wanted(MediaID, TransferPriority)
    /// A suspension by a person, or its end.
    case suspended(MediaID, Bool)
    case reported(DownloadSnapshot)
    case completed(MediaID, generation: Int, size: Int64)
    case failed(MediaID, TransferError)
    /// The engine was ordered to drop a download, and its earlier events have been processed.
    case ended(MediaID)
    /// A cancellation without a task, after an open that failed: clears the failure that clients display.
    case cleared(MediaID)
    case renamed(MediaID, path: String)

    // Uploads.
    case uploadRegistered(UploadTask)
    /// The number of bytes on the server was recorded in the library.
    case uploadRecorded(TaskID, held: Int64)
    case uploadReported(UploadSnapshot)
    case uploadCompleted(TaskID, size: Int64)
    case uploadFailed(TaskID, TransferError)
    case uploadCancelled(TaskID)

    // Fetches for the library: feeds, searches, assets.
    case fetchBegan(TaskInfo)
    /// A running fetch whose start was already broadcast; it is a task until `fetchEnded`.
    case fetchTaken(TaskInfo)
    case fetchProgressed(TaskID, received: Int64, expected: Int64?)
    case fetchEnded(TaskID)
    /// A fetch's state to broadcast, without registering the fetch as a task.
    case fetchTold(TaskInfo, TaskState)

    // Space.
    case opened(MediaID)
    case closed(MediaID)
    case evicted(MediaID)
    case writeFailed(free: Int64)
    /// The answer to `assessSpace`; `nil` if the adopted plan is still valid, or the assessment failed.
    case planned(StoragePlan?)

    // The library.
    case changedEpisode(EpisodeID, formerName: String? = nil)
    /// A player's report was stored: how far the episode was listened to.
    case listened(EpisodeID, path: String, StoredListening)
    case changedShow(ShowID, name: String, formerName: String? = nil)
    /// A view that was added, removed, or whose episodes have changed with time.
    case changedView(name: String, isRemoved: Bool = false)

    // Running work, and due times.
    /// The start of a command, an exchange or other work: the daemon does not exit until it has finished.
    case began
    case finished
    /// Whether feeds are being fetched, or fetched ones have not been processed.
    case fetching(Bool)
    /// The number of engine events that could not be written and will be retried.
    case unwritten(Int)
    /// The answer to `readSchedule`: when each chore is due.
    case scheduled([Chore: WallTime])
    /// A possible change of the due times.
    case rescheduled
    /// The answer to `readConditions`: whether network and power conditions permit discretionary transfers.
    case conditions(allowDiscretionary: Bool)
    case tick
    /// A request to exit.
    case askedToLeave
}

/// Work that the daemon starts by itself.
package enum Chore: Sendable, Hashable, CaseIterable {
    case backUp, refresh, synchronize, upload
    /// Deletes expired search results, and shows that were removed long ago.
    case tidyUp
    /// Updates the views whose episodes change with time.
    case updateViews
    case assessSpace
    /// Retries engine events that could not be written.
    case writeAgain
}
