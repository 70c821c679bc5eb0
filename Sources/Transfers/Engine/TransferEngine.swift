internal import Dispatch
package import Platform
internal import Synchronization
internal import SystemPackage

/// The engine that executes downloads, uploads and data requests, on a thread of its own. The response to a data
/// request goes to the caller and not into the media cache.
///
/// Every method may be called from any thread. `shutDown` and the methods that access cache files may block; the others
/// return at once or are `async`. Answers and events are delivered on the engine's thread, and their handlers must not
/// block it. Events are delivered in order; the owner reports the number of processed ones with `acknowledgeEvents`.
package final class TransferEngine: Sendable {
    /// The handler of an open's or a read's result. It is called on the engine's thread, or on the caller's thread if
    /// the engine has ended.
    package typealias Answer = @Sendable (Result<ReadGrant, TransferError>) -> Void
    /// Loads the source of a file for which the engine has no `Download`. Called on the engine's thread, so it
    /// may read the disk, but not use the network.
    package typealias Loader = @Sendable () throws -> DownloadSource

    /// The cache files. Calls may block, on any thread.
    package let cache: ContentCache
    let mailbox: Mailbox
    /// The last number assigned to a wait (an open or a read that is not answered yet), or to the data requests of one
    /// call.
    private let lastWait = Atomic<Int64>(0)
    /// Signalled when the engine's thread has ended.
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - cacheFolder: The folder of the cache files, created if it does not exist. The caller holds its
    ///     `FolderLock`.
    ///   - iterationEnded: Called with the monotonic time when all pending events and answers have been delivered,
    ///     before the engine waits. Returns the maximum delay until the next call, if any.
    package init(
        configuration: TransferConfiguration, cacheFolder: String,
        events: @escaping @Sendable (TransferEvent) -> Void,
        iterationEnded: @escaping @Sendable (Instant) -> Duration? = { _ in nil }
    ) throws {
        guard CurlGlobal.isReady else { throw TransferError(.failed, "libcurl cannot be initialised") }
        let cache = try ContentCache(directory: FilePath(cacheFolder))
        let mailbox = try Mailbox()
        self.cache = cache
        self.mailbox = mailbox
        let ended = ended
        startThread("podfs-transfers") {
            if let loop = EngineLoop(
                configuration: configuration, cache: cache, mailbox: mailbox, events: events,
                iterationEnded: iterationEnded)
            {
                loop.run()
            } else {
                _ = mailbox.close()
            }
            ended.signal()
        }
    }

    /// Stops every transfer, writes the final checkpoints and answers every reader; returns when that is done. Call
    /// once.
    package func shutDown() {
        mailbox.post { $0.stop() }
        ended.wait()
    }

    /// Reports that the owner has processed this many further events, so that its loaders now reflect them. Until
    /// then the engine retains the downloads. If it reloaded one earlier, the loader would not know its cache file yet,
    /// and the download would create a second one.
    package func acknowledgeEvents(_ count: Int) { mailbox.post { $0.acknowledgeEvents(count) } }

    // MARK: Readers

    /// Opens a file; see `DownloadMachine.open(_:as:now:)`.
    ///
    /// - Returns: The id for `cancelWait`.
    @discardableResult
    package func open(
        _ key: MediaID, as kind: ReaderKind = .player, load: @escaping Loader, answer: @escaping Answer
    ) -> Int64 {
        let id = newWait()
        withDownload(key, load: load, answer) { $0.open(id, as: kind, answer: answer) }
        return id
    }

    /// Requests `range` of a rendition; answers when every byte of it below the end of the file is present.
    ///
    /// - Parameter takesHead: Whether to answer with the first bytes of the file (`ReadGrant.head`) if they include the
    ///   range and there is no cache file yet.
    @discardableResult
    package func read(
        _ key: MediaID, range: Range<Int64>, generation: Int, as kind: ReaderKind = .player, takesHead: Bool = false,
        load: @escaping Loader, answer: @escaping Answer
    ) -> Int64 {
        let id = newWait()
        withDownload(key, load: load, answer) {
            $0.read(id, range, generation: generation, as: kind, takesHead: takesHead, answer: answer)
        }
        return id
    }

    /// Cancels a wait. Its answer is not delivered, unless the delivery has already begun.
    package func cancelWait(_ key: MediaID, _ id: Int64) { mailbox.post { $0.download(key)?.cancelWait(id) } }

    /// Closes a file. Call once for each successful open.
    package func close(_ key: MediaID) {
        mailbox.post { $0.download(key)?.apply { machine, now in machine.close(now: now) } }
    }

    // MARK: Tasks

    /// Downloads the whole file in the background.
    ///
    /// - Parameter priority: `asked` if a person requests the download. This clears a failure and a suspension, and
    ///   permits another write after the disk was full. An `automatic` task runs when conditions permit, yields its
    ///   slots to others, and becomes an `asked` one at the first request or read.
    package func fill(_ key: MediaID, priority: TransferPriority = .asked, load: @escaping Loader) {
        mailbox.post { loop in
            if priority > .automatic { loop.tryStorage() }
            loop.changeTask(key, load: load) { $0.fill(priority) }
        }
    }

    /// Suspends or resumes the task of a file.
    package func setSuspended(_ key: MediaID, _ suspended: Bool, load: @escaping Loader) {
        mailbox.post { loop in
            loop.changeTask(key, load: load) { download in
                download.change { $0.setSuspended(suspended, now: $1) }
            }
        }
    }

    /// Cancels the tasks of files; present bytes stay. The events of the cancellation are delivered before this
    /// returns.
    ///
    /// - Returns: The files whose bytes are all present, so that their tasks complete instead.
    @discardableResult
    package func cancel(_ keys: [MediaID]) async -> Set<MediaID> {
        await ask(ifStopped: []) { loop in Set(keys.filter { !loop.cancelTask($0) }) }
    }

    /// Cancels the task like `cancel`, and returns its resume data, with the ranges that a written checkpoint contains.
    ///
    /// - Parameter load: As for `fill`; without it, the result is `nil` for a download that the engine does not have.
    /// - Returns: `nil` if there is nothing to resume, because no byte is in a checkpoint or every byte is present.
    package func cancelProducingResumeData(_ key: MediaID, load: Loader? = nil) async -> ResumeData? {
        await ask(ifStopped: nil) { loop in
            if let download = load.flatMap({ try? loop.download(key, load: $0) }) ?? loop.download(key) {
                return download.cancelProducingResumeData()
            }
            _ = loop.cancelTask(key)
            return nil
        }
    }

    /// Answers `TransferEvent.addressRefused` with the file's current addresses. With none, or the refused ones, the
    /// download fails.
    package func renew(_ key: MediaID, _ locations: [DownloadSource.Location]) {
        mailbox.post { $0.download(key)?.renew(locations) }
    }

    /// Sets the file's new addresses from its feed. A loaded download uses them for new requests; a failed one is
    /// retried.
    package func setLocations(_ key: MediaID, _ locations: [DownloadSource.Location]) {
        mailbox.post { $0.download(key)?.setLocations(locations) }
    }

    /// Unloads the download of a removed file: ends its connections, and fails its waiting readers.
    package func discard(_ key: MediaID) { mailbox.post { $0.discard(key) } }

    /// Returns the state of every loaded download.
    package func snapshots() async -> [DownloadSnapshot] {
        await ask(ifStopped: []) { $0.snapshots }
    }

    /// Sets whether automatic tasks may run; initially they may. While they may not, no connection fills their files.
    package func setDiscretionary(allowed: Bool) { mailbox.post { $0.setDiscretionary(allowed: allowed) } }

    /// Sets the error to report while there is no space for any more bytes; `nil` if there is space. While it is set,
    /// downloads that would have to write are *suspended*, including later ones, and readers of missing bytes get the
    /// error.
    ///
    /// - Parameter allowsRetry: Whether a person's request permits another write nevertheless; see `fill`.
    package func setStorageFull(_ error: TransferError?, allowsRetry: Bool = false) {
        mailbox.post { $0.setStorageFull(error, byOwner: !allowsRetry) }
    }

    /// Sets the reason why there is no space for the whole file of a download; `nil` if there is space. While it is
    /// set, the file is not filled in the background: its task is *queued*, and readers are served. A download that is
    /// not loaded gets the reason from its source when it is loaded (`DownloadSource.awaitsSpace`).
    package func setAwaitsSpace(_ key: MediaID, _ reason: TransferError?) {
        mailbox.post { loop in loop.changeTask(key) { $0.change { $0.setAwaitsSpace(reason, now: $1) } } }
    }

    /// Reports that the whole file of a download can never fit: its task fails, unless a program has the file open.
    package func exceedsSpace(_ key: MediaID, _ error: TransferError) {
        mailbox.post { loop in loop.changeTask(key) { $0.change { $0.exceedsSpace(error, now: $1) } } }
    }

    // MARK: Data

    /// Sends a request; the sequence contains the head, then the body in pieces as it arrives. The request is cancelled
    /// when the sequence is no longer consumed.
    package func data(for request: DataRequest) -> AsyncThrowingStream<DataEvent, any Error> {
        let number = newWait()
        return AsyncThrowingStream { continuation in
            continuation.onTermination = { [mailbox] termination in
                guard case .cancelled = termination else { return }
                mailbox.post { $0.exchanges.cancelData(number) }
            }
            send([DataTask(request, DataStream(continuation))], number: number)
        }
    }

    /// Sends requests. Each receiver's `didEnd` is called, even if the engine has ended.
    package func send(_ tasks: [DataTask]) { send(tasks, number: newWait()) }

    private func send(_ tasks: [DataTask], number: Int64) {
        if tasks.isEmpty { return }
        let isRunning = mailbox.post { loop in
            for task in tasks { loop.start(task, number: number) }
        }
        if !isRunning { for task in tasks { _ = task.receiver.didEnd(EngineLoop.stopped) } }
    }

    // MARK: -

    /// Returns what `body` returns on the engine's thread.
    private func ask<Value: Sendable>(
        ifStopped otherwise: Value, _ body: @escaping @Sendable (EngineLoop) -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            let isRunning = mailbox.post { continuation.resume(returning: body($0)) }
            if !isRunning { continuation.resume(returning: otherwise) }
        }
    }

    private func newWait() -> Int64 { lastWait.wrappingAdd(1, ordering: .relaxed).newValue }

    private func withDownload(
        _ key: MediaID, load: @escaping Loader, _ answer: @escaping Answer,
        _ body: @escaping @Sendable (Download) -> Void
    ) {
        let isRunning = mailbox.post { loop in
            do {
                body(try loop.download(key, load: load))
            } catch {
                answer(.failure(error as? TransferError ?? TransferError(.failed, "\(error)")))
            }
        }
        if !isRunning { answer(.failure(EngineLoop.stopped)) }
    }

    /// Returns the number of unanswered opens and reads of a file.
    func waits(_ key: MediaID) async -> Int {
        await ask(ifStopped: 0) { $0.download(key)?.waits ?? 0 }
    }

    /// Returns the number of iterations of the engine's loop. All earlier calls have been handled then, and their
    /// events delivered; loading for a task may still be pending.
    @discardableResult
    package func rounds() async -> Int {
        await ask(ifStopped: 0) { $0.rounds }
    }
}

extension TransferEngine {
    /// Verifies the digest of a file that should be complete, on a separate queue. If the digest matches, writes a
    /// new checkpoint.
    ///
    /// - Parameter checkpoint: As for `ContentCache.verify`.
    /// - Returns: Its state, or its defect.
    package func verify(_ name: String, _ checkpoint: Checkpoint) async -> Result<FileState, CacheFileDefect> {
        await withCheckedContinuation { continuation in
            Self.verifying.async { [cache] in
                do throws(CacheFileDefect) {
                    continuation.resume(returning: .success(try cache.verify(name, checkpoint)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
    }

    /// A serial queue, because reading several files at a time would not be faster.
    private static let verifying = DispatchQueue(label: "podfs.verifying", qos: .utility)
}

// Uploads. They are never automatic: a person has requested each.
extension TransferEngine {
    /// Starts an upload, or resumes one that is suspended, has failed or waits for a retry. For an existing upload only
    /// the key of the source is used.
    package func upload(_ source: UploadSource) { mailbox.post { $0.upload(source) } }

    /// Suspends an upload until `upload` is called again.
    package func suspendUpload(_ key: TaskID) { mailbox.post { $0.uploads.table[key]?.suspend() } }

    /// Cancels an upload permanently. The bytes that the server has already stored are not deleted.
    package func cancelUpload(_ key: TaskID) { mailbox.post { $0.uploads.table[key]?.cancel() } }

    /// Answers `UploadEvent.record`: the owner has persisted the progress, and the upload may continue.
    package func recorded(_ key: TaskID, _ id: UploadMachine.RecordID) {
        mailbox.post { $0.uploads.table[key]?.recorded(id) }
    }

    /// Answers `UploadEvent.doubtful`: the owner reports whether the server has received the POST.
    package func resolveDoubt(_ key: TaskID, _ finding: UploadMachine.Finding) {
        mailbox.post { $0.uploads.table[key]?.resolveDoubt(finding) }
    }
}
