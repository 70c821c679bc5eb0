internal import Dispatch
internal import Platform

// Checkpoints: the persistent record of which bytes of a download are in its cache file.
extension Download {
    /// Returns a checkpoint of the present bytes.
    func checkpoint() -> Checkpoint {
        var checkpoint = Checkpoint(key: source.key, generation: machine.generation)
        checkpoint.total = machine.pin?.total
        checkpoint.validator = machine.pin?.validator?.text
        checkpoint.finalURL = origin?.url
        checkpoint.receivedRanges = machine.present
        checkpoint.syncedRanges = checkpoints.synced
        return checkpoint
    }

    /// Cancels the task.
    ///
    /// - Returns: The resume data, which contain only ranges that a written checkpoint contains; `nil` if there is
    ///   nothing to resume.
    func cancelProducingResumeData() -> ResumeData? {
        cancel()
        guard let file, savesCheckpoints else { return nil }
        saveCheckpoint(synchronously: true)
        // If the checkpoint could not be written, this is the previous one.
        let written = try? ContentCache.checkpoint(of: file.name, in: engine.cache.directory)
        let ranges = machine.present.intersection(written?.receivedRanges ?? ByteRanges())
        if ranges.isEmpty { return nil }
        return ResumeData(
            key: source.key, generation: machine.generation, total: machine.pin?.total,
            validator: machine.pin?.validator?.text, present: ranges.text, url: source.url)
    }

    /// Whether `saveCheckpoint` may write; `finish` writes the checkpoints of a file that is being finished.
    var savesCheckpoints: Bool { file != nil && !machine.isCached && !machine.isFinishing }

    /// Saves a checkpoint on the storage queue, after a sync if one is due. Does nothing while another checkpoint is
    /// being written, unless `synchronously`.
    ///
    /// - Parameter synchronously: Whether to sync in any case, and to wait for the checkpoint.
    func saveCheckpoint(synchronously: Bool) {
        guard let file, savesCheckpoints, synchronously || !checkpoints.isBusy else { return }
        let checkpoint = checkpoint()
        let received = machine.present
        let known = checkpoints.knownFailures
        let synchronizes = checkpoints.start(at: engine.now, all: synchronously)
        let cache = engine.cache
        let save: @Sendable () -> StorageFailure? = {
            var checkpoint = checkpoint
            do {
                if synchronizes {
                    try file.synchronize(knownFailures: known)
                    checkpoint.syncedRanges = received
                }
            } catch {
                return StorageFailure(error, losesBytes: true)
            }
            do {
                try cache.save(checkpoint, of: file, durably: synchronizes)
                return nil
            } catch {
                return StorageFailure(error, losesBytes: false)
            }
        }
        let queue = engine.queues.checkpoints(of: file)
        if synchronously {
            if queue.sync(execute: save) == nil { checkpoints.finish(synced: nil) }
            return
        }
        let key = source.key
        let mailbox = engine.mailbox
        queue.async {
            let failure = save()
            mailbox.post { loop in
                guard let download = loop.download(key), download.file === file else { return }
                if let failure {
                    download.checkpointFailed(failure)
                } else {
                    download.checkpoints.finish(synced: synchronizes ? received : nil)
                }
            }
        }
    }

    /// Handles a failed checkpoint. The previous one still exists, and the next one will contain everything.
    private func checkpointFailed(_ failure: StorageFailure) {
        checkpoints.failed(at: engine.now)
        if failure.losesBytes {
            lostBytes(failure)
        } else if failure.error.code == .diskFull {
            apply(machine.storageFailed(failure.error, now: engine.now))
        }
    }

    /// Handles a failed sync: only the bytes of the last successful sync count as stored, the others are fetched again.
    private func lostBytes(_ failure: StorageFailure) {
        checkpoints.knownFailures = file?.failedSyncs ?? 0
        apply(machine.lostStored(keeping: checkpoints.synced, failure.error, now: engine.now))
    }

    /// Syncs and hashes the complete file and writes its final checkpoint, off the engine's thread.
    func finish() {
        guard let file, let size = machine.pin?.total else { return }
        let known = checkpoints.knownFailures
        let partial = checkpoint()
        let all = machine.present
        let cache = engine.cache
        let key = source.key
        let mailbox = engine.mailbox
        let queues = engine.queues
        let (source, current) = (source, machine.source)
        queues.finishing(of: file).async {
            let result: Result<FileFacts?, StorageFailure>
            do {
                do {
                    // This also fails if the sync of a checkpoint has failed since `known` was read.
                    try file.synchronize(knownFailures: known)
                } catch {
                    throw StorageFailure(error, losesBytes: true)
                }
                let (sha256, isVerified) = try queues.hashing.sync {
                    let sha256 = try file.digest(.sha256, size: size)
                    let isVerified = try source.isVerified(from: current) { algorithm in
                        algorithm == .sha256 ? sha256 : try file.digest(algorithm, size: size)
                    }
                    return (sha256, isVerified)
                }
                if isVerified == false {
                    result = .success(nil)
                } else {
                    var checkpoint = partial
                    checkpoint.complete = true
                    checkpoint.sha256 = sha256
                    checkpoint.isVerified = isVerified
                    checkpoint.syncedRanges = all
                    // On the same queue as the others, so that an older one cannot overwrite it.
                    try queues.checkpoints(of: file).sync { try cache.save(checkpoint, of: file, durably: true) }
                    result = .success(FileFacts(size: size, sha256: sha256, isVerified: isVerified ?? false))
                }
            } catch let failure as StorageFailure {
                result = .failure(failure)
            } catch {
                result = .failure(StorageFailure(error, losesBytes: false))
            }
            mailbox.post { loop in loop.download(key)?.finished(result, file: file, known: known) }
        }
    }

    /// Handles the result of `finish`.
    ///
    /// - Parameters:
    ///   - result: The facts of the file; `nil` if its hash is wrong.
    ///   - known: The value of `knownFailures` at the call of `finish`. If it has changed, bytes were discarded and
    ///     fetched again since.
    private func finished(_ result: Result<FileFacts?, StorageFailure>, file: CacheFile, known: Int) {
        guard file === self.file, machine.isFinishing, known == checkpoints.knownFailures else { return }
        switch result {
        case .success(let facts?):
            checkpoints = CheckpointPace()
            // The owner gets the facts before the progress event with the new state.
            emit(.completed(key: source.key, generation: machine.generation, facts))
            apply(machine.finished(nil, now: engine.now))
        case .success(nil):
            apply(machine.mismatched(DownloadSource.mismatch, now: engine.now))
        case .failure(let failure) where failure.losesBytes:
            lostBytes(failure)
        case .failure(let failure):
            apply(machine.finished(failure.error, now: engine.now))
        }
        report(force: true)
    }
}

extension DownloadSource {
    /// Compares a complete file with the hashes that the feed lists for its locations.
    ///
    /// Each location may have a hash of its own, since some locations offer the episode in another encoding. After a
    /// restart it is not known for certain which location the bytes came from, so a file that has the hash of any
    /// location is accepted.
    ///
    /// - Parameters:
    ///   - current: The index of the location that the bytes come from.
    ///   - digest: Returns the digest of the file in lower-case hexadecimal; called at most once for each algorithm.
    /// - Returns: `true` if the file has a listed hash. If not, `false` if the current location has a hash, else `nil`.
    func isVerified(from current: Int, _ digest: (FileHash.Algorithm) throws -> String) rethrows -> Bool? {
        let hashes = locations.compactMap(\.hash)
        for algorithm in FileHash.Algorithm.allCases {
            let listed = hashes.filter { $0.algorithm == algorithm }.flatMap(\.digests)
            if !listed.isEmpty, listed.contains(try digest(algorithm)) { return true }
        }
        return locations.indices.contains(current) && locations[current].hash != nil ? false : nil
    }

    static let mismatch = TransferError(
        .unusable, "the file is not the one that the feed describes: its hash differs (podcast:integrity)")
}

extension Checkpoint {
    /// The facts of the complete file; `nil` if the file is not complete.
    var facts: FileFacts? {
        guard complete, let total, let sha256 else { return nil }
        return FileFacts(size: total, sha256: sha256, isVerified: isVerified ?? false)
    }
}

extension TransferError {
    /// Creates the error of a download whose cache file may be intact, but cannot be opened at present.
    package init(unopened defect: CacheFileDefect) {
        self.init(.failed, "the file in the cache cannot be opened: \(errnoText(defect.errorNumber))")
    }
}

// The cache file of a download.
extension Download {
    func confirmed(generation: Int, _ pin: Pin) {
        // A file that was created before its size was known gets its full size now.
        if let file, let total = pin.total {
            do {
                try file.extend(to: total)
            } catch {
                apply(machine.storageFailed(StorageFailure.describe(error), now: engine.now))
            }
        }
        emit(.confirmed(key: source.key, generation: generation, pin))
    }

    func createFile(generation: Int, pin: Pin) {
        var made: CacheFile?
        do {
            let created = try engine.cache.create(size: pin.total)
            made = created
            checkpoints = CheckpointPace()
            // Save the checkpoint before any reader opens the file. Readers keep the file open when the daemon ends,
            // and only the checkpoint shows the next daemon that this generation has a file. That daemon then continues
            // the download into the file, or starts another generation.
            try engine.cache.save(checkpoint(), of: created, isFirst: true)
            file = created
            emit(
                .fileCreated(
                    key: source.key, generation: generation, file: created.name, pin, finalURL: origin?.url))
        } catch {
            if let made { engine.cache.remove(made.name) }
            apply(machine.fileMissing(StorageFailure.describe(error), now: engine.now))
        }
    }

    func abandonFile(generation: Int) {
        guard let old = file else { return }
        file = nil
        checkpoints = CheckpointPace()
        emit(.abandoned(key: source.key, generation: generation, file: old.name))
    }
}

/// The schedule of a download's checkpoints (records of the received bytes) and of the syncs of its file. A checkpoint
/// is due one second after the first new byte, or after 8 MiB of new bytes. After a failed one, the next is due in five
/// seconds.
struct CheckpointPace {
    /// The ranges synced to the disk.
    var synced = ByteRanges()
    /// The number of failed syncs of the file that the download has already handled, by discarding the bytes not in
    /// `synced`.
    var knownFailures = 0
    /// Whether a checkpoint is being written.
    private(set) var isBusy = false
    /// The time of the next checkpoint; `nil` if every byte is in a written checkpoint, or in the one being written.
    private(set) var due: Instant?
    /// The number of bytes received since the last checkpoint was started.
    private var behind: Int64 = 0
    /// The number of bytes received since the last sync was started.
    private var unsynced: Int64 = 0
    private var lastSync: Instant?

    private static let interval = Duration.seconds(1)
    /// The delay after a failed checkpoint, since each attempt costs a write.
    private static let retryInterval = Duration.seconds(5)
    /// The number of bytes after which a checkpoint is due at once.
    static let maxBehind: Int64 = 8 << 20
    /// The interval of syncs. Bytes in the page cache survive a kill of the daemon, but only a sync protects them from
    /// a power failure. With a sync every 64 MiB or ten seconds, the cost is too small to measure.
    private static let syncInterval = Duration.seconds(10)
    private static let syncBytes: Int64 = 64 << 20

    /// Whether a checkpoint will be due.
    var isBehind: Bool { due != nil }

    /// Records new bytes.
    mutating func add(_ count: Int64, at now: Instant) {
        behind += count
        unsynced += count
        due = behind >= Self.maxBehind ? min(due ?? now, now) : due ?? now + Self.interval
        if lastSync == nil { lastSync = now }
    }

    /// Starts a checkpoint.
    ///
    /// - Parameter all: Whether to sync the file even if no sync is due.
    /// - Returns: Whether the file must be synced before the checkpoint is written.
    mutating func start(at now: Instant, all: Bool) -> Bool {
        isBusy = true
        behind = 0
        due = nil
        guard all || unsynced >= Self.syncBytes || lastSync.map({ now - $0 >= Self.syncInterval }) ?? false else {
            return false
        }
        unsynced = 0
        lastSync = now
        return true
    }

    /// Records that the checkpoint could not be written. The next one syncs the file.
    mutating func failed(at now: Instant) {
        isBusy = false
        unsynced = Self.syncBytes
        due = now + Self.retryInterval
    }

    /// Records that the checkpoint was written.
    ///
    /// - Parameter synced: The ranges that were synced before it; `nil` if none were.
    mutating func finish(synced: ByteRanges?) {
        isBusy = false
        if let synced { self.synced = synced }
    }
}
