internal import Foundation
internal import Logging
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore
internal import TransferEngine

// What people publish.
extension PodcastService {
    /// An upload and what was last heard of it.
    struct UploadRecord {
        var upload: Upload
        var snapshot: UploadSnapshot?

        var state: TaskState { snapshot?.state ?? upload.state }
    }

    /// Takes up what an earlier daemon left.
    ///
    /// - Parameter isRecovering: the library is older than what lies in the folder: copies that it does not know of may be
    ///   all that is left of somebody's work, and stay.
    func startUploads(isRecovering: Bool) throws {
        let outstanding = try library.uploads()
        if !isRecovering { snapshots.tidy(keeping: Set(outstanding.flatMap(\.files))) }
        for upload in outstanding {
            uploads[upload.id] = UploadRecord(upload: upload)
            if upload.error == nil, !upload.suspended { waitingUploads.append(upload.id) }
        }
        for id in waitingUploads {
            guard let upload = uploads[id]?.upload, let reason = reasonToSkip(upload) else { continue }
            uploads[id]?.snapshot = UploadSnapshot(
                key: id, state: .suspended, sent: upload.progress.held, size: upload.size,
                error: TransferError(.failed, reason))
        }
        beginWaitingUploads()
    }

    /// Carries on with what may run by itself.
    func beginWaitingUploads() {
        let turn = work.turn(of: waitingUploads.map { WorkItem.upload($0) }, now: now())
        work.begin(turn)
        for task in turn.map({ TaskID($0.id) }) {
            waitingUploads.removeAll { $0 == task }
            guard let upload = uploads[task]?.upload else { continue }
            uploads[task]?.snapshot = nil
            begin(upload)
            // One that has run for so long kills nobody; it may take hours.
            Timers.after(Self.probation) { [weak self] in
                self?.startTask { $0.uploadEnded(task) }
            }
        }
    }

    private static let probation = Duration.seconds(60)

    /// The upload is over, halted, or beyond suspicion.
    private func uploadEnded(_ id: TaskID) {
        if work.end([WorkItem.upload(id)]) { planUpkeep() }
    }

    /// When an upload that waits may begin; `nil` when none does, or only an end can help.
    func nextUpload() -> Int64? {
        let now = now()
        if waitingUploads.isEmpty { return nil }
        if !work.turn(of: waitingUploads.map { WorkItem.upload($0) }, now: now).isEmpty { return now }
        return waitingUploads.compactMap { work.skippedUntil(WorkItem.upload($0), now: now) }.min()
    }

    /// Tells the engine; without the copies there is nothing to go on with.
    private func begin(_ upload: Upload) {
        guard let source = source(of: upload) else {
            failed(upload.id, TransferError(.missing, "the copy of \(upload.media.name) is gone: publish it again"))
            return
        }
        engine.upload(source)
    }

    private func source(of upload: Upload) -> UploadSource? {
        guard let path = snapshots.path(upload.media.file), snapshots.size(of: upload.media.file) == upload.size else {
            return nil
        }
        var source = UploadSource(
            key: upload.id, url: upload.url, content: .file(path: path), size: upload.size,
            idempotencyKey: upload.idempotencyKey)
        source.contentType = upload.media.type
        source.form = [FormPart(name: "title", content: .text(upload.title))]
        if let description = upload.description {
            source.form.append(FormPart(name: "description", content: .text(description)))
        }
        if let image = upload.image {
            guard let path = snapshots.path(image.file), snapshots.size(of: image.file) != nil else { return nil }
            source.form.append(
                FormPart(name: "thumbnail", content: .file(path: path, name: image.name, type: image.type)))
        }
        source.resumeData = UploadResumeData(
            step: UploadResumeData.Step(rawValue: upload.progress.step) ?? .posting,
            location: upload.progress.location, speaksTus: upload.progress.tus, offset: upload.progress.held)
        source.credentials = uploadCredentials[upload.id] ?? netrc.credentials(for: upload.url)
        return source
    }

    // MARK: What clients ask for

    func publish(_ request: PublishRequest) throws -> Reply {
        // Asked once more by a client whose daemon was killed before it had answered.
        if let known = try library.upload(file: request.media.file), let record = uploads[known.id] {
            return .task(Self.info(record))
        }
        let address = PrivateAddress(request.url)
        guard URLReference.isHTTP(address.url) else {
            throw Failure(
                kind: .usage,
                message: "'\(address.visible)' is not an address that podfs can publish to: give an http:// or "
                    + "https:// one")
        }
        guard !request.title.isEmpty else { throw Failure(kind: .usage, message: "a title is needed") }
        guard let size = snapshots.size(of: request.media.file), size > 0 else {
            throw Failure(message: "the copy of \(request.media.name) is not there")
        }
        if let image = request.image, snapshots.size(of: image.file) == nil {
            throw Failure(message: "the copy of \(image.name) is not there")
        }
        if let image = request.image, !snapshots.isPicture(image.file) {
            throw Failure(
                message: "\(image.name) is not a picture: give a JPEG, PNG, GIF, WebP, AVIF, HEIC, BMP or SVG file")
        }
        let upload = try library.add(
            Upload(
                url: address.url, title: request.title, description: request.description,
                media: Upload.Part(request.media), size: size, image: request.image.map(Upload.Part.init),
                idempotencyKey: UUID().uuidString.lowercased(), created: now()))
        do {
            if let credentials = address.credentials { try uploadCredentials.set(credentials, for: upload.id) }
        } catch {
            try library.removeUpload(id: upload.id, keeping: nil)
            throw error
        }
        let record = UploadRecord(upload: upload)
        uploads[upload.id] = record
        broadcast(event(.state, record))
        begin(upload)
        considerIdle()
        return .task(Self.info(record))
    }

    func act(_ action: TaskAction, onUploads ids: [TaskID]) throws -> Reply {
        var count = 0
        var problems: [String] = []
        for id in ids {
            guard let record = uploads[id] else {
                problems.append("there is no upload:\(id); see: podfs status")
                continue
            }
            switch action {
            case .resume: try resume(record)
            case .suspend:
                try library.setSuspended(upload: id, true)
                uploads[id]?.upload.suspended = true
                waitingUploads.removeAll { $0 == id }
                engine.suspendUpload(id)
                uploadEnded(id)
            case .cancel:
                let isUnderWay = record.state == .running || record.state == .queued
                try end(record, event: event(.state, record, state: .cancelled), isKept: false)
                if isUnderWay { tellIfIdle() }
            case .download, .evict, .pin, .unpin:
                problems.append("upload:\(id) is an upload: it can be resumed, suspended or cancelled")
                continue
            }
            count += 1
        }
        considerIdle()
        return .acted(count: count, problems: problems)
    }

    private func resume(_ record: UploadRecord) throws {
        let id = record.upload.id
        try library.setSuspended(upload: id, false)
        guard let upload = try library.upload(id: id) else { return }
        uploads[id]?.upload = upload
        if record.state == .suspended || record.state == .failed { uploads[id]?.snapshot?.state = .queued }
        uploads[id]?.snapshot?.error = nil
        waitingUploads.removeAll { $0 == id }
        begin(upload)
    }

    static func info(_ record: UploadRecord) -> TaskInfo {
        let upload = record.upload
        return TaskInfo(
            id: upload.id, kind: .upload, path: upload.title, episode: nil, state: record.state,
            received: record.snapshot?.sent ?? upload.progress.held, expected: upload.size,
            rate: record.snapshot?.rate, error: record.snapshot?.error?.message ?? upload.error,
            started: upload.created)
    }

    // MARK: What the engine reports

    func take(_ event: UploadEvent) {
        do {
            try write(event)
        } catch {
            // The engine waits for it, or the row outlives its upload: the library may have room again soon.
            log.error("\(error)")
            Task(executorPreference: WorkerPool.shared) { [weak self] in
                await Timers.sleep(for: .seconds(Self.writeAgainAfter))
                await self?.take(event)
            }
        }
    }

    /// Seconds until something is written once more that could not be.
    private static let writeAgainAfter: Int64 = 10

    private func write(_ event: UploadEvent) throws {
        switch event {
        case .record(let id, let record, let data):
            let progress = Upload.Progress(
                step: data.step.rawValue, location: data.location, tus: data.speaksTus, held: data.offset)
            try library.record(upload: id, progress)
            uploads[id]?.upload.progress = progress
            engine.recorded(id, record)
        case .doubtful(let id, _): lookUp(id)
        case .progress(let snapshot): progressed(snapshot)
        case .completed(let id, let size):
            guard var record = uploads[id] else { return }
            record.snapshot = UploadSnapshot(key: id, state: .completed, sent: size, size: size)
            log.info("published: \(record.upload.title), \(size) bytes")
            try end(record, event: self.event(.completed, record), isKept: true)
            tellIfIdle()
            considerIdle()
        case .failed(let id, let error): failed(id, error)
        }
    }

    /// Asks the server what it has, away from the queue of events.
    private func lookUp(_ id: TaskID) {
        guard let upload = uploads[id]?.upload else { return }
        let lookup = PostedLookup(engine: engine, fetcher: fetcher)
        let credentials = uploadCredentials[id] ?? netrc.credentials(for: upload.url)
        let engine = engine
        Task(executorPreference: WorkerPool.shared) { engine.settle(id, await lookup.find(upload, credentials)) }
    }

    private func progressed(_ snapshot: UploadSnapshot) {
        guard var record = uploads[snapshot.key] else { return }
        // Of a task that was resumed or suspended since, this is old news.
        if snapshot.state == .suspended, !record.upload.suspended { return }
        let changed = record.state != snapshot.state || record.snapshot == nil
        record.snapshot = snapshot
        uploads[snapshot.key] = record
        // The media are on their way: what ends the daemon from now on is not how the upload begins.
        // So is an attempt that has ended with an error and waits to be repeated.
        if snapshot.sent > record.upload.progress.held || snapshot.error != nil { uploadEnded(snapshot.key) }
        // The failure was told as such, and is the last that is heard of the task.
        if snapshot.state != .failed { broadcast(event(changed ? .state : .progress, record)) }
        considerIdle()
    }

    private func failed(_ id: TaskID, _ error: TransferError) {
        guard var record = uploads[id] else { return }
        record.upload.error = error.message
        record.snapshot = UploadSnapshot(
            key: id, state: .failed, sent: record.snapshot?.sent ?? record.upload.progress.held,
            size: record.upload.size, error: error)
        uploads[id] = record
        uploadEnded(id)
        let event = event(.failed, record)
        do {
            try library.fail(upload: id, error: error.message, keeping: kept(event))
        } catch {
            log.error("\(error)")
        }
        broadcast(event)
        log.warning("failed: upload \(id), \(record.upload.title): \(error.message)")
        tellIfIdle()
        considerIdle()
    }

    /// Nothing more comes of an upload. The event is in the library before the row is not.
    private func end(_ record: UploadRecord, event: Event, isKept: Bool) throws {
        let upload = record.upload
        waitingUploads.removeAll { $0 == upload.id }
        engine.cancelUpload(upload.id)
        uploadEnded(upload.id)
        try library.removeUpload(id: upload.id, keeping: isKept ? kept(event) : nil)
        uploads[upload.id] = nil
        for file in upload.files { snapshots.remove(file) }
        if uploadCredentials[upload.id] != nil { try uploadCredentials.set(nil, for: upload.id) }
        broadcast(event)
    }

    private func event(_ kind: Event.Kind, _ record: UploadRecord, state: TaskState? = nil) -> Event {
        var event = Event(sequence: nextSequence(), time: now(), kind: kind)
        event.task = record.upload.id
        event.taskKind = .upload
        event.path = record.upload.title
        event.state = state ?? record.state
        event.received = record.snapshot?.sent ?? record.upload.progress.held
        event.expected = record.upload.size
        event.rate = record.snapshot?.rate
        event.error = record.snapshot?.error?.message ?? record.upload.error
        return event
    }
}

extension Upload {
    /// The names of its copies.
    var files: [String] { [media.file] + [image?.file].compactMap { $0 } }
}

extension Upload.Part {
    init(_ file: SnapshotFile) { self.init(name: file.name, file: file.file, type: file.type) }
}
