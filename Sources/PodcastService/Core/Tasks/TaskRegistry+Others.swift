internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

// Tasks other than downloads.
extension TaskRegistry {
    // MARK: Uploads

    mutating func register(_ upload: RegisteredUpload, at now: Moment, _ outcome: inout Outcome) {
        let isNew = uploads.updateValue(upload, forKey: upload.id) == nil
        if isNew { outcome.effects.append(.broadcast(event(.state(upload.info), at: now))) }
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
        let info = upload.info
        outcome.effects.append(.broadcast(event(isNewState ? .state(info) : .progress(info), at: now)))
    }

    mutating func complete(_ id: TaskID, size: Int64, at now: Moment, _ outcome: inout Outcome) {
        guard var upload = uploads.removeValue(forKey: id) else { return }
        upload.snapshot = UploadSnapshot(key: id, state: .completed, sent: size, size: size)
        let event = event(.completed(upload.info), at: now)
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
        let event = event(.failed(upload.info), at: now)
        outcome.effects += [.write(.uploadFailed(id, error, event)), .broadcast(event)]
        outcome.hasEndedTask = true
    }

    mutating func cancel(_ id: TaskID, at now: Moment, _ outcome: inout Outcome) {
        guard let upload = uploads.removeValue(forKey: id) else { return }
        var info = upload.info
        info.state = .cancelled
        outcome.effects += [.write(.uploadRemoved(id, nil)), .broadcast(event(.state(info), at: now))]
        if upload.isUnderWay { outcome.hasEndedTask = true }
    }

    // MARK: Fetches

    mutating func begin(_ fetch: TaskInfo, at now: Moment, _ outcome: inout Outcome) {
        fetches[fetch.id] = fetch
        report(fetch, .running, at: now, &outcome)
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
        outcome.effects.append(.broadcast(event(.progress(fetch), at: now)))
    }

    mutating func finishFetch(_ id: TaskID, at now: Moment, _ outcome: inout Outcome) {
        if let fetch = fetches.removeValue(forKey: id) { report(fetch, .remote, at: now, &outcome) }
    }

    /// Broadcasts a fetch's state without registering the fetch.
    mutating func report(_ fetch: TaskInfo, _ state: TaskState, at now: Moment, _ outcome: inout Outcome) {
        var info = fetch
        info.state = state
        outcome.effects.append(.broadcast(event(.state(info), at: now)))
    }
}
