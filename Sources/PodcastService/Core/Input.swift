internal import Platform
internal import PodcastProtocol
internal import Transfers

/// An event that the daemon's decisions depend on.
enum Input: Sendable {
    // Clients.
    case connected(ClientID)
    /// A client disconnected: its suspensions are released, and tasks that end with their client are abandoned.
    case disconnected(ClientID)
    case openedSession(ClientID, SessionConfiguration)
    /// A client created a task that it has not resumed yet.
    case created(MediaID, by: ClientID)
    /// A client resumed a task that it had created.
    case begun(MediaID, by: ClientID)
    /// A client cancelled a task, which no longer counts as created or resumed by this client.
    case cancelled(MediaID, by: ClientID)
    /// A client suspended a task. The suspensions of one client nest.
    case held(MediaID, by: ClientID)
    /// A client undid one of its suspensions.
    case released(MediaID, by: ClientID)

    // Downloads.
    /// A download's row in the library. A known task keeps its progress and adopts the row's other values.
    ///
    /// `asked` is the time of a new request, which queues a failed download again; `nil` if there was none.
    case registered(RegisteredDownload, asked: WallTime?)
    /// A request to start or resume a download. The download does not run while a person or a client suspends it.
    case wanted(MediaID, TransferPriority)
    /// A suspension by a person, or its end.
    case suspended(MediaID, Bool)
    /// The engine's report of a download's state and progress.
    case reported(DownloadSnapshot)
    case completed(MediaID, generation: Int, size: Int64)
    case failed(MediaID, TransferError)
    /// The engine is being asked to cancel or discard a download. Until it has answered, it is not asked to start the
    /// download, unless the download is requested again: it would start after its cancellation.
    case cancelling(MediaID, Bool)
    /// The task of a download was removed: it was cancelled or evicted, or its episode has left the library.
    case ended(MediaID)
    /// A client has cancelled an episode that has no task. Clients may still display the failure of an earlier open;
    /// this clears it.
    case cleared(MediaID)
    case renamed(MediaID, path: String)

    // Uploads, and fetches for the library: feeds, searches, assets.
    /// A new task, or the present state of a known one.
    case updated(TaskInfo)
    /// A fetch has finished (`remote`), or an upload was completed or cancelled.
    case taskEnded(TaskID, TaskState)
    case uploadFailed(TaskID, TransferError)

    // Space.
    /// A program opened an episode.
    case opened(MediaID)
    /// A program closed an episode; others may still have it open.
    case closed(MediaID)
    /// An episode's cache file was removed to make room.
    case evicted(MediaID)
    /// A write to the cache failed for lack of space, with this many bytes free on the disk.
    case writeFailed(free: Int64)
    /// The answer to `assessSpace`; `nil` if the adopted plan is still valid, or the assessment failed.
    case planned(StoragePlan?)

    // The library.
    /// A visible episode has changed.
    case changedEpisode(EpisodeID, formerName: String? = nil)
    /// A player's report was stored: how far the episode was listened to.
    case listened(EpisodeID, path: String, StoredListening)
    /// A show or its list of episodes has changed.
    case changedShow(ShowID, name: String, formerName: String? = nil)
    /// A transcript has entered or left the cache, or an episode was restored: the search index is outdated.
    case changedText
    /// A view was added, changed or removed, or time has changed its episodes.
    case changedView(name: String, isRemoved: Bool = false)

    // Running work, and due times.
    /// The start of a command, a sync exchange or other work. The daemon does not exit until that work has finished.
    case began
    case finished
    /// Whether feeds are being fetched, or fetched feeds have not been processed yet.
    case fetching(Bool)
    /// The number of engine events that could not be written and will be retried.
    case unwritten(Int)
    /// The answer to `readSchedule`: when each chore is due.
    case scheduled([Chore: WallTime])
    /// A possible change of the due times.
    case rescheduled
    /// The answer to `readConditions`: whether network and power conditions permit discretionary transfers.
    case conditions(allowDiscretionary: Bool)
    /// The time of the last `wake` effect has come.
    case tick
    /// A request to exit.
    case exitRequested
}

/// Work that the daemon starts by itself.
enum Chore: Sendable, Hashable, CaseIterable {
    case backUp, refresh, synchronize, upload
    /// Fetches the covers of shows. Waits for the conditions of discretionary work, also if clients are connected.
    case fetchCovers
    /// Deletes expired search results, and shows that were removed long ago.
    case tidyUp
    /// Examines the archive folder again, and moves files to it.
    case archive
    /// Updates the views whose episodes change with time.
    case updateViews
    case assessSpace
    /// Updates the search index.
    case updateIndex
    /// Retries engine events that could not be written.
    case writeAgain
}
