internal import ContentCache
internal import Foundation
internal import Platform
internal import Synchronization
internal import SystemPackage
package import TransferCore

/// Runs downloads and data requests, on a thread of its own.
///
/// Every method may be called from any thread and returns at once; answers come on the engine's thread and must not
/// block it. Events come in the order in which things happened, from that thread too; the owner says by `eventsTaken` how
/// many of them it has taken up.
package final class TransferEngine: Sendable {
    package typealias OpenAnswer = @Sendable (Result<ReadGrant, TransferError>) -> Void
    package typealias ReadAnswer = @Sendable (Result<ReadGrant, TransferError>) -> Void
    /// Says where a file comes from when the engine does not have it at hand. Called on the engine's thread: it may read
    /// the disk, not the network.
    package typealias Loader = @Sendable () throws -> DownloadSource

    let cache: ContentCache
    let mailbox = Mailbox()
    private let lastWait = Atomic<Int64>(0)
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - cacheFolder: the folder of the cache files, which is made when it is missing. The caller holds its
    ///     `FolderLease`.
    ///   - turnEnded: called whenever events have been told and answers been given, before the engine waits for more, with
    ///     its time in milliseconds. Returns after how many it is to be called again at the latest, if so.
    package init(
        configuration: TransferConfiguration, cacheFolder: String,
        events: @escaping @Sendable (TransferEvent) -> Void,
        turnEnded: @escaping @Sendable (Int64) -> Int64? = { _ in nil }
    ) throws {
        guard CurlGlobal.isReady else { throw TransferError(.failed, "libcurl cannot be initialised") }
        let cache = try ContentCache(directory: FilePath(cacheFolder))
        self.cache = cache
        let mailbox = mailbox
        let ended = ended
        startThread("podfs-transfers") {
            if let loop = EngineLoop(
                configuration: configuration, cache: cache, mailbox: mailbox, events: events, turnEnded: turnEnded)
            {
                loop.run()
            } else {
                _ = mailbox.close()
            }
            ended.signal()
        }
    }

    /// Stops every transfer, writes the last checkpoints, answers every reader; returns when that is done. Call once.
    package func shutDown() {
        mailbox.post { $0.stop() }
        ended.wait()
    }

    /// The owner has taken up so many further events: from here on its loaders say what these have said. A download is
    /// kept until then, as one that was loaded anew would begin another file.
    package func eventsTaken(_ count: Int) { mailbox.post { $0.eventsTaken(count) } }

    // MARK: Readers

    /// A file was opened; see `DownloadMachine.open`.
    ///
    /// - Returns: a name for `cancelWait`.
    @discardableResult
    package func open(_ key: MediaID, load: @escaping Loader, answer: @escaping OpenAnswer) -> Int64 {
        let id = newWait()
        withDownload(key, load: load) {
            $0.open(id, answer: answer)
        } orElse: {
            answer(.failure($0))
        }
        return id
    }

    /// Answers when `range` of the rendition is present, as far as the file reaches.
    ///
    /// - Parameter takesHead: also when there is no file yet, but the first bytes reach so far: the answer has them.
    @discardableResult
    package func read(
        _ key: MediaID, range: Range<Int64>, generation: Int, takesHead: Bool = false, load: @escaping Loader,
        answer: @escaping ReadAnswer
    ) -> Int64 {
        let id = newWait()
        withDownload(key, load: load) {
            $0.read(id, range, generation: generation, takesHead: takesHead, answer: answer)
        } orElse: {
            answer(.failure($0))
        }
        return id
    }

    /// The answer is wanted no more; it does not come then, unless it is on its way already.
    package func cancelWait(_ key: MediaID, _ id: Int64) {
        mailbox.post { $0.download(key)?.cancelWait(id) }
    }

    package func close(_ key: MediaID) {
        mailbox.post { $0.download(key)?.apply { machine, now in machine.close(now: now) } }
    }

    // MARK: Tasks

    /// Fetches the whole file in the background.
    ///
    /// - Parameter priority: `asked` when a person wants it: a failure is forgotten then, a suspension ends, and a full
    ///   disk is tried again. An `automatic` task runs when conditions allow it, leaves its place to others, and becomes
    ///   one that was asked for as soon as somebody asks or reads.
    package func fill(_ key: MediaID, priority: TransferPriority = .asked, load: @escaping Loader) {
        if priority > .automatic { mailbox.post { $0.tryStorage() } }
        withDownload(key, load: load) {
            $0.fill(priority)
        } orElse: { _ in
        }
    }

    package func setSuspended(_ key: MediaID, _ suspended: Bool, load: @escaping Loader) {
        withDownload(key, load: load) { download in
            download.apply { machine, now in machine.setSuspended(suspended, now: now) }
            download.report(force: false)
        } orElse: { _ in
        }
    }

    /// Ends the task; what is present stays.
    ///
    /// - Returns: whether there is no task any more: one that has all its bytes completes all the same, in a moment.
    @discardableResult
    package func cancel(_ key: MediaID) async -> Bool {
        await withCheckedContinuation { continuation in
            let isRunning = mailbox.post { loop in
                continuation.resume(returning: loop.download(key)?.cancel() ?? true)
            }
            if !isRunning { continuation.resume(returning: true) }
        }
    }

    /// Ends the task as `cancel` does, and says what is left of it, once a checkpoint does.
    ///
    /// - Parameter load: as for `fill`; without it, a download that is not at hand has nothing to say.
    /// - Returns: `nil` when nothing is present, or everything: there is nothing to resume then.
    package func cancelProducingResumeData(_ key: MediaID, load: Loader? = nil) async -> ResumeData? {
        await withCheckedContinuation { continuation in
            let isRunning = mailbox.post { loop in
                let download = load.flatMap { try? loop.download(key, load: $0) } ?? loop.download(key)
                guard let download else {
                    continuation.resume(returning: nil)
                    return
                }
                download.cancelProducingResumeData { continuation.resume(returning: $0) }
            }
            if !isRunning { continuation.resume(returning: nil) }
        }
    }

    /// The answer to `TransferEvent.addressRefused`: the address where the file is now. With `nil`, or the address that
    /// was refused, the download fails as it would have done.
    package func renew(_ key: MediaID, url: String?) { mailbox.post { $0.download(key)?.renew(url) } }

    /// The file has another address now, by its feed. A download that is at hand asks there when it has to ask anew; one
    /// that has failed tries again.
    package func setSource(_ key: MediaID, url: String) { mailbox.post { $0.download(key)?.setSource(url) } }

    /// Ends everything about a file that goes away; readers are answered with a failure.
    package func forget(_ key: MediaID) { mailbox.post { $0.forget(key) } }

    /// How far every download at hand is.
    package func snapshots() async -> [DownloadSnapshot] {
        await withCheckedContinuation { continuation in
            let isRunning = mailbox.post { continuation.resume(returning: $0.snapshots) }
            if !isRunning { continuation.resume(returning: []) }
        }
    }

    /// Whether automatic tasks may run; they may until told otherwise. Those that may not hold no connection.
    package func setDiscretionary(allowed: Bool) { mailbox.post { $0.setDiscretionary(allowed: allowed) } }

    /// Says that no more bytes may be stored, for the reason given, or that there is space again. Without space,
    /// downloads that would have to write rest in the state *suspended*, also those asked for later, and readers of
    /// missing bytes are answered with the error.
    package func setStorageFull(_ error: TransferError?) { mailbox.post { $0.setStorageFull(error) } }

    /// Says that the whole file of a download has no space yet, for the reason given, or that it has it now. Without space
    /// it is not filled in the background: its task is *queued*, and readers are served. A download that is not at hand
    /// learns it from its source.
    package func setAwaitsSpace(_ key: MediaID, _ reason: TransferError?) {
        mailbox.post { $0.download(key)?.setAwaitsSpace(reason) }
    }

    /// Says that the whole file of a download can never have space: its task fails, unless somebody reads it.
    package func exceedsSpace(_ key: MediaID, _ error: TransferError) {
        mailbox.post { $0.download(key)?.exceedsSpace(error) }
    }

    // MARK: Data

    /// Sends a request; the head comes first, then the body in pieces as it arrives. The request ends when the
    /// sequence is no longer awaited.
    package func data(for request: DataRequest) -> AsyncThrowingStream<DataEvent, any Error> {
        let number = newWait()
        return AsyncThrowingStream { continuation in
            continuation.onTermination = { [mailbox] termination in
                guard case .cancelled = termination else { return }
                mailbox.post { $0.cancelData(number) }
            }
            send([DataTask(request, DataStream(continuation))], number: number)
        }
    }

    /// Sends requests. Their receivers hear of each, if only that the engine has ended.
    package func send(_ tasks: [DataTask]) { send(tasks, number: newWait()) }

    private func send(_ tasks: [DataTask], number: Int64) {
        if tasks.isEmpty { return }
        let isRunning = mailbox.post { loop in
            for task in tasks { loop.start(DataExchange(task), number: number) }
        }
        if !isRunning { for task in tasks { _ = task.receiver.didEnd(Self.stopped) } }
    }

    // MARK: -

    private func newWait() -> Int64 { lastWait.wrappingAdd(1, ordering: .relaxed).newValue }

    private static let stopped = TransferError(.failed, "the daemon is stopping")

    private func withDownload(
        _ key: MediaID, load: @escaping Loader, _ body: @escaping @Sendable (Download) -> Void,
        orElse failed: @escaping @Sendable (TransferError) -> Void
    ) {
        let isRunning = mailbox.post { loop in
            do {
                body(try loop.download(key, load: load))
            } catch let error as TransferError {
                failed(error)
            } catch {
                failed(TransferError(.failed, "\(error)"))
            }
        }
        if !isRunning { failed(Self.stopped) }
    }

    /// How many opens and reads of a file wait for an answer.
    func waits(_ key: MediaID) async -> Int {
        await withCheckedContinuation { continuation in
            let isRunning = mailbox.post { continuation.resume(returning: $0.download(key)?.waits ?? 0) }
            if !isRunning { continuation.resume(returning: 0) }
        }
    }

    /// How often the engine's loop has turned.
    func rounds() async -> Int {
        await withCheckedContinuation { continuation in
            let isRunning = mailbox.post { continuation.resume(returning: $0.rounds) }
            if !isRunning { continuation.resume(returning: 0) }
        }
    }
}
