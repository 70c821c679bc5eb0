internal import PodcastProtocol
internal import Transfers

// The reports in the events of tasks.
extension TaskReport {
    /// Creates the report of a download, without its progress. `task` is `nil` if clients do not know the download.
    init(_ media: MediaID, _ state: TaskState, _ task: RegisteredDownload?) {
        self.init(id: task?.id, state: state)
        episode = media.episode
        show = task?.show
        path = task?.path
        session = task?.session
    }

    /// Creates the report of a download, with the progress that the engine has reported.
    init(_ snapshot: DownloadSnapshot, _ task: RegisteredDownload?) {
        self.init(snapshot.key, snapshot.state, task)
        generation = snapshot.generation
        received = snapshot.received
        expected = snapshot.total
        rate = snapshot.rate
        ranges = snapshot.present.text
        error = snapshot.error?.message
        waitsForSpace = snapshot.isWaitingForSpace
        if snapshot.total == nil { estimate = task?.guess }
        retryIn = snapshot.retryIn
    }

    /// Creates the report of a fetch, without its progress.
    init(_ fetch: TaskInfo, _ state: TaskState) {
        self.init(id: fetch.id, state: state)
        kind = fetch.kind
        path = fetch.path
    }

    /// Creates the report of an upload.
    init(_ upload: RegisteredUpload) {
        let info = upload.info
        self.init(info, info.state)
        received = info.received
        expected = info.expected
        rate = info.rate
        error = info.error
    }
}
