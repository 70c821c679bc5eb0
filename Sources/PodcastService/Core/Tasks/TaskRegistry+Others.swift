internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

// Tasks other than downloads.
extension TaskRegistry {
    // MARK: Uploads

    mutating func register(_ upload: RegisteredUpload, at now: Moment, _ outcome: inout Outcome) {
        let isNew = uploads.updateValue(upload, forKey: upload.id) == nil
        if isNew { outcome.effects.append(.broadcast(event(.state(TaskReport(upload)), at: now))) }
    }

    mutating func record(_ upload: TaskID, bytesOnServer: Int64) {
        uploads[upload]?.row.progress.offset = bytesOnServer
    }

    mutating func report(_ snapshot: UploadSnapshot, at now: Moment, _ outcome: inout Outcome) {
        guard var upload = uploads[snapshot.key] else { return }
        // The snapshot is outdated: the task has been resumed since.
        if snapshot.state == .suspended, !upload.row.suspended { return }
        let isNewState = upload.state != snapshot.state || upload.snapshot == nil
        upload.snapshot = snapshot
        uploads[upload.id] = upload
        // The failure has already been broadcast as the task's last event.
        if snapshot.state == .failed { return }
        let report = TaskReport(upload)
        outcome.effects.append(.broadcast(event(isNewState ? .state(report) : .progress(report), at: now)))
    }

    mutating func complete(_ id: TaskID, size: Int64, at now: Moment, _ outcome: inout Outcome) {
        guard var upload = uploads.removeValue(forKey: id) else { return }
        upload.snapshot = UploadSnapshot(key: id, state: .completed, sent: size, size: size)
        let event = event(.completed(TaskReport(upload)), at: now)
        outcome.effects += [.write(.uploadRemoved(id, event)), .broadcast(event)]
        outcome.hasEndedTask = true
    }

    mutating func fail(_ id: TaskID, _ error: TransferError, at now: Moment, _ outcome: inout Outcome) {
        guard var upload = uploads[id] else { return }
        upload.row.error = error.message
        upload.snapshot = UploadSnapshot(
            key: id, state: .failed, sent: upload.snapshot?.sent ?? upload.row.progress.offset, size: upload.row.size,
            error: error)
        uploads[id] = upload
        let event = event(.failed(TaskReport(upload)), at: now)
        outcome.effects += [.write(.uploadFailed(id, error, event)), .broadcast(event)]
        outcome.hasEndedTask = true
    }

    mutating func cancel(_ id: TaskID, at now: Moment, _ outcome: inout Outcome) {
        guard let upload = uploads.removeValue(forKey: id) else { return }
        var report = TaskReport(upload)
        report.state = .cancelled
        outcome.effects += [.write(.uploadRemoved(id, nil)), .broadcast(event(.state(report), at: now))]
        if upload.isUnderWay { outcome.hasEndedTask = true }
    }

    // MARK: Fetches

    mutating func begin(_ fetch: TaskInfo, at now: Moment, _ outcome: inout Outcome) {
        fetches[fetch.id] = fetch
        outcome.effects.append(.broadcast(event(.state(TaskReport(fetch, .running)), at: now)))
    }

    mutating func adopt(_ fetch: TaskInfo) { fetches[fetch.id] = fetch }

    /// Records the progress of a fetch. Has no effect after the fetch has ended.
    mutating func progress(
        _ id: TaskID, received: Int64, expected: Int64?, at now: Moment, _ outcome: inout Outcome
    ) {
        guard var fetch = fetches[id], fetch.received < received else { return }
        fetch.received = received
        fetch.expected = expected
        fetches[id] = fetch
        var report = TaskReport(fetch, fetch.state)
        report.received = received
        report.expected = expected
        outcome.effects.append(.broadcast(event(.progress(report), at: now)))
    }

    mutating func finishFetch(_ id: TaskID, at now: Moment, _ outcome: inout Outcome) {
        guard let fetch = fetches.removeValue(forKey: id) else { return }
        outcome.effects.append(.broadcast(event(.state(TaskReport(fetch, .remote)), at: now)))
    }

    /// Broadcasts a fetch's state without registering the fetch.
    mutating func report(_ fetch: TaskInfo, _ state: TaskState, at now: Moment, _ outcome: inout Outcome) {
        outcome.effects.append(.broadcast(event(.state(TaskReport(fetch, state)), at: now)))
    }
}

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
