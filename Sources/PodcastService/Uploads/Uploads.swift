internal import CLinux
internal import Foundation
internal import Glibc
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// The uploads of published episodes. An upload sends snapshots: private copies of the files to publish.
@ServiceActor
final class Uploads: ServicePart {
    nonisolated let driver: CoreDriver
    private let snapshots: UploadSnapshots
    private let passwords: CredentialStore<TaskID>
    /// Uploads of an earlier daemon that have not been restarted, as stored. Their rows do not change until then.
    private var pending: [Upload] = []

    init(_ driver: CoreDriver) {
        self.driver = driver
        snapshots = UploadSnapshots(folder: driver.context.configuration.paths.uploads)
        passwords = CredentialStore(
            path: driver.context.configuration.paths.uploadCredentials,
            remedy: "cancel the uploads that need a password, and publish again with the user names and passwords")
    }

    private var tasks: [TaskID: TaskInfo] { driver.core.tasks.others.filter { $0.value.kind == .upload } }

    /// Loads the uploads of an earlier daemon, and starts those that may run unattended.
    ///
    /// - Parameter isRecovering: whether a damaged or missing library was replaced. Snapshots that the new library does
    ///   not know are then kept, because they may be the only copies of their files.
    func start(isRecovering: Bool) throws {
        if let problem = passwords.problem { log.error("\(problem)") }
        let outstanding = try library.uploads()
        if !isRecovering { snapshots.tidy(keeping: Set(outstanding.flatMap(\.files))) }
        for upload in outstanding {
            var task = TaskInfo(upload)
            if upload.state == .queued {
                pending.append(upload)
                // A person can still resume it.
                if let entry = context.work.record.skipped(.upload(upload.id), now: now()) {
                    (task.state, task.error) = (.suspended, entry.explanation)
                }
            }
            driver.report(.updated(task))
        }
        beginPending()
    }

    /// Starts the pending uploads that may run unattended now; see `WorkJournal.turn`.
    func beginPending() {
        let turn = context.work.record.turn(of: pending.map { WorkItem.upload($0.id) }, now: now())
        context.work.begin(turn)
        let ids = Set(turn.map { TaskID($0.id) })
        let uploads = pending.filter { ids.contains($0.id) }
        pending.removeAll { ids.contains($0.id) }
        for upload in uploads {
            let id = upload.id
            driver.report(.updated(TaskInfo(upload)))
            begin(upload)
            // An upload may take hours. Once it has run for `journalTime`, assume that it does not crash the daemon.
            Timers.after(Self.journalTime) { [weak self] in
                startTask { self?.removeFromJournal(id) }
            }
        }
    }

    /// Maximum time for which a running upload stays in the journal of unattended work. After a crash, the next daemon
    /// finds there what was running.
    private static let journalTime = Duration.seconds(60)

    /// Removes an upload from the journal, because it has finished, is suspended, or has run long enough.
    private func removeFromJournal(_ id: TaskID) {
        if context.work.remove([WorkItem.upload(id)]) { driver.report(.rescheduled) }
    }

    /// The time at which a pending upload may start, in seconds since 1970; `nil` if none is pending, or all have to
    /// wait until other work has finished.
    var next: Int64? {
        let now = now()
        if pending.isEmpty { return nil }
        if !context.work.record.turn(of: pending.map { WorkItem.upload($0.id) }, now: now).isEmpty { return now }
        return pending.compactMap { context.work.record.skippedUntil(WorkItem.upload($0.id), now: now) }.min()
    }

    /// Starts the upload in the engine. If one of its snapshots is missing, fails the upload instead.
    private func begin(_ upload: Upload) {
        guard let source = source(of: upload) else {
            removeFromJournal(upload.id)
            let error = TransferError(.missing, "the copy of \(upload.media.name) is gone: publish it again")
            return driver.report(.uploadFailed(upload.id, error))
        }
        engine.upload(source)
    }

    private func source(of upload: Upload) -> UploadSource? {
        guard let path = snapshots.path(upload.media.file), snapshots.size(of: upload.media.file) == upload.size else {
            return nil
        }
        var source = UploadSource(
            key: upload.id, url: upload.url, path: path, size: upload.size,
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
        source.resumeData = upload.progress
        source.credentials = passwords[upload.id] ?? context.netrc.credentials(for: upload.url)
        return source
    }

    // MARK: Requests of clients

    func publish(_ request: PublishRequest) throws -> Reply {
        // A client whose daemon was killed before the reply repeats its request.
        if let known = try library.upload(file: request.media.file), let task = tasks[known.id] {
            return .task(task)
        }
        let address = PrivateAddress(request.url)
        if let problem = WebAddress.problem(with: request.url) {
            throw Failure(kind: .usage, message: "podfs cannot publish to '\(address.visible)': it \(problem)")
        }
        guard !request.title.isEmpty else { throw Failure(kind: .usage, message: "a title is needed") }
        guard let size = snapshots.size(of: request.media.file), size > 0 else {
            throw Failure(message: "the copy of \(request.media.name) is missing: publish it again")
        }
        if let image = request.image, snapshots.size(of: image.file) == nil {
            throw Failure(message: "the copy of \(image.name) is missing: publish it again")
        }
        if let image = request.image, !snapshots.isPicture(image.file) {
            throw Failure(
                message: "\(image.name) is not a picture: give a JPEG, PNG, GIF, WebP, AVIF, HEIC, BMP or SVG file")
        }
        let upload = try library.add(
            Upload(
                url: address.url, title: request.title, description: request.description,
                media: request.media, size: size, image: request.image, idempotencyKey: UUID().uuidString.lowercased(),
                created: now()))
        do {
            if let credentials = address.credentials { try passwords.set(credentials, for: upload.id) }
        } catch {
            try library.removeUpload(id: upload.id, keeping: nil)
            throw error
        }
        let task = TaskInfo(upload)
        driver.report(.updated(task))
        begin(upload)
        return .task(tasks[task.id] ?? task)
    }

    func act(_ action: TaskAction, on ids: [TaskID]) throws -> Reply {
        var count = 0
        var problems: [String] = []
        for id in ids {
            guard tasks[id] != nil, let upload = try library.upload(id: id) else {
                problems.append("there is no upload:\(id); see: podfs status")
                continue
            }
            switch action {
            case .resume, .suspend:
                pending.removeAll { $0.id == id }
                try library.update(upload: id) {
                    $0.suspended = action == .suspend
                    if !$0.suspended { $0.error = nil }
                }
                guard let upload = try library.upload(id: id) else { continue }
                driver.report(.updated(TaskInfo(upload, sent: tasks[id]?.received)))
                if action == .resume {
                    begin(upload)
                } else {
                    engine.suspendUpload(id)
                    removeFromJournal(id)
                }
            case .cancel:
                try driver.change { batch in
                    try batch.handle(.taskEnded(id, .cancelled))
                    batch.whenWritten { [self] in release(upload) }
                }
            case .download, .evict, .pin, .unpin:
                problems.append("upload:\(id) is an upload: it can be resumed, suspended or cancelled")
                continue
            }
            count += 1
        }
        return .acted(count: count, problems: problems)
    }

    // MARK: Events of the engine

    func process(_ event: UploadEvent, _ batch: inout CoreDriver.Batch) throws {
        switch event {
        case .record(let id, let record, let data):
            try library.update(upload: id) { $0.progress = data }
            batch.whenWritten { [engine] in engine.recorded(id, record) }
        case .doubtful(let id, _): batch.whenWritten { [self] in lookUp(id) }
        case .progress(let snapshot):
            guard let row = try library.upload(id: snapshot.key), var task = tasks[row.id] else { return }
            // Media bytes have been sent, so starting the upload has not crashed the daemon. The same holds if an
            // attempt has failed and will be retried.
            if snapshot.sent > row.progress.offset || snapshot.error != nil {
                batch.whenWritten { [self] in removeFromJournal(row.id) }
            }
            // The failure has been reported already, or the task has been resumed since.
            if snapshot.state == .failed || snapshot.state == .suspended && !row.suspended { return }
            (task.state, task.received, task.rate) = (snapshot.state, snapshot.sent, snapshot.rate)
            task.error = snapshot.error?.message
            try batch.handle(.updated(task))
        case .completed(let id, _):
            let upload = try library.upload(id: id)
            try batch.handle(.taskEnded(id, .completed))
            if let upload { batch.whenWritten { [self] in release(upload) } }
        case .failed(let id, let error):
            try batch.handle(.uploadFailed(id, error))
            batch.whenWritten { [self] in removeFromJournal(id) }
        }
    }

    /// Starts a task that asks the server whether it has received the POST, whose outcome the engine does not know.
    private func lookUp(_ id: TaskID) {
        guard let upload = try? library.upload(id: id) else { return }
        let lookup = PostedLookup(engine: engine, fetcher: context.fetcher)
        let credentials = passwords[id] ?? context.netrc.credentials(for: upload.url)
        let engine = engine
        startTask { engine.resolveDoubt(id, await lookup.find(upload, credentials)) }
    }

    /// Releases the resources of a completed or cancelled upload: its transfer, snapshots and password.
    private func release(_ upload: Upload) {
        pending.removeAll { $0.id == upload.id }
        engine.cancelUpload(upload.id)
        removeFromJournal(upload.id)
        for file in upload.files { snapshots.remove(file) }
        attempt { if passwords[upload.id] != nil { try passwords.set(nil, for: upload.id) } }
    }
}

extension Upload {
    /// The names of the upload's snapshots.
    var files: [String] { [media.file] + [image?.file].compactMap { $0 } }
}

extension TaskInfo {
    /// Creates the task of an upload that the engine does not run.
    ///
    /// - Parameter sent: the number of bytes sent as last displayed; `nil` if they are those of the row.
    init(_ upload: Upload, sent: Int64? = nil) {
        self.init(
            id: upload.id, kind: .upload, path: upload.title, state: upload.state,
            received: sent ?? upload.progress.offset, expected: upload.size, error: upload.error,
            started: upload.created)
    }
}

/// The folder of snapshots: copies of the files to upload. A client creates a snapshot and locks it until the daemon
/// has recorded it; from then on the daemon owns it, and removes it when it is no longer needed.
struct UploadSnapshots: Sendable {
    let folder: String

    /// Returns the path of a snapshot. The name of every snapshot is a UUID; any other name yields `nil`.
    func path(_ name: String) -> String? { UUID(uuidString: name) == nil ? nil : "\(folder)/\(name)" }

    /// Returns the size of a snapshot; `nil` if it does not exist or is not a regular file of this user.
    func size(of name: String) -> Int64? {
        guard let path = path(name) else { return nil }
        var status = stat()
        guard lstat(path, &status) == 0, clinux_is_regular(status.st_mode) != 0, status.st_uid == geteuid() else {
            return nil
        }
        return Int64(status.st_size)
    }

    /// Returns whether a snapshot has the signature of an image.
    func isPicture(_ name: String) -> Bool {
        guard let path = path(name) else { return false }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // 4 KiB, because an SVG may have a comment before its first element.
        return readAll(descriptor, limit: 4_096).map(AssetContent.isPicture) ?? false
    }

    func remove(_ name: String) {
        if let path = path(name) { unlink(path) }
    }

    /// Removes the snapshots that are not in `known`. Clients that were killed before the daemon recorded their uploads
    /// have left them. A snapshot that a client is still writing is locked, so it is not removed.
    func tidy(keeping known: Set<String>) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where !known.contains(name) {
            guard let path = path(name) else { continue }
            let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { continue }
            if clinux_ofd_lock(descriptor, Int16(F_WRLCK)) == 0 { unlink(path) }
            close(descriptor)
        }
    }
}
