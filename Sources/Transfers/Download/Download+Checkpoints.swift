internal import Dispatch
internal import Glibc
internal import Platform

// Checkpoints: the persistent record of which bytes of a download are in its cache file.
extension Download {
    /// Returns a checkpoint of the present bytes.
    func checkpoint() -> Checkpoint {
        var checkpoint = Checkpoint(key: source.key, generation: machine.generation)
        checkpoint.total = machine.pin?.total
        checkpoint.validator = machine.pin?.validator?.text
        checkpoint.contentType = machine.pin?.mediaType
        checkpoint.finalURL = origin?.url
        checkpoint.setReceived(machine.present)
        checkpoint.setSynced(checkpoints.synced)
        return checkpoint
    }

    /// Cancels the task, and calls `answer` on any thread with the resume data; `nil` if there is nothing to resume.
    ///
    /// The resume data contains only ranges that a written checkpoint contains. If the last checkpoint cannot be
    /// written, these are the ranges of the previous one.
    func cancelProducingResumeData(answer: @escaping @Sendable (ResumeData?) -> Void) {
        cancel()
        guard let file, !machine.isCached, !machine.isFinishing, !machine.present.isEmpty else { return answer(nil) }
        let present = machine.present
        let data = ResumeData(
            key: source.key, generation: machine.generation, total: machine.pin?.total,
            validator: machine.pin?.validator?.text, present: present.text, url: source.url)
        // A checkpoint that is being written may have been started before the last bytes arrived, so another one is
        // needed.
        let missing = checkpoints.isBehind && checkpoints.isBusy ? checkpoint() : nil
        if checkpoints.isBehind { saveCheckpoint(synchronously: false) }
        // The queue is serial, so this runs after any checkpoint that was started above.
        engine.queues.checkpoints(of: file).async { [cache = engine.cache] in
            // A failure leaves the previous checkpoint, which is read below.
            if let missing { try? cache.save(missing, of: file) }
            let written = try? ContentCache.checkpoint(of: file.name, in: cache.directory)
            let ranges = present.intersection(written?.receivedRanges ?? ByteRanges())
            var data = data
            data.present = ranges.text
            answer(ranges.isEmpty ? nil : data)
        }
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
                    checkpoint.setSynced(received)
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
        let expected = ExpectedHashes(source.locations, current: machine.source)
        queues.finishing(of: file).async {
            let result: Result<FileFacts?, StorageFailure>
            do {
                // This checkpoint is written on the same queue as the others, so that an older one cannot overwrite it.
                // It is written before the sync. It is valid even if the process is killed now, because all bytes are
                // in the page cache. A small file needs no such checkpoint, since its final one follows soon.
                if size > CheckpointPace.maxBehind {
                    try queues.checkpoints(of: file).sync {
                        if file.failedSyncs == known { try cache.save(partial, of: file, durably: false) }
                    }
                }
                do {
                    // This also fails if the sync of a checkpoint has failed since `known` was read.
                    try file.synchronize(knownFailures: known)
                } catch {
                    throw StorageFailure(error, losesBytes: true)
                }
                let (sha256, match) = try queues.hashing.sync {
                    let sha256 = try file.digest(.sha256, size: size)
                    let match = try expected.check { algorithm in
                        algorithm == .sha256 ? sha256 : try file.digest(algorithm, size: size)
                    }
                    return (sha256, match)
                }
                if match == .differs {
                    result = .success(nil)
                } else {
                    var checkpoint = partial
                    checkpoint.complete = true
                    checkpoint.sha256 = sha256
                    checkpoint.isVerified = match == .verified ? true : nil
                    checkpoint.setSynced(all)
                    try queues.checkpoints(of: file).sync {
                        try cache.save(checkpoint, of: file, durably: true)
                    }
                    result = .success(FileFacts(size: size, sha256: sha256, isVerified: match == .verified))
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
    ///   - result: The facts of the file; `nil` if its hash is wrong (`ExpectedHashes.Match.differs`).
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
            apply(machine.mismatched(ExpectedHashes.mismatch, now: engine.now))
        case .failure(let failure) where failure.losesBytes:
            lostBytes(failure)
        case .failure(let failure):
            apply(machine.finished(failure.error, now: engine.now))
        }
        report(force: true)
    }
}

/// The hashes that the feed lists for the locations of a file. The complete file is checked against them.
///
/// Each location may have a hash of its own, since some locations offer the episode in another encoding. After a
/// restart it is not known for certain which location the bytes came from, so a file that has the hash of any location
/// is accepted.
struct ExpectedHashes: Sendable {
    enum Match: Sendable, Equatable {
        /// The file has a listed hash.
        case verified
        /// The location that the bytes come from has a hash, and the file has none of the listed hashes.
        case differs
        /// The location that the bytes come from has no hash, and the file has none of the hashes of other locations.
        case unknown
    }

    private let hashes: Set<FileHash>
    /// Whether the location that the bytes come from has a hash.
    private let isRequired: Bool

    /// - Parameter current: The index of the location that the bytes come from.
    init(_ locations: [DownloadSource.Location], current: Int) {
        hashes = Set(locations.compactMap(\.hash))
        isRequired = locations.indices.contains(current) && locations[current].hash != nil
    }

    static let mismatch = TransferError(
        .unusable, "the file is not the one that the feed describes: its hash differs (podcast:integrity)")

    /// Compares the hashes with the file's.
    ///
    /// - Parameter digest: Returns the digest of the file in lower-case hexadecimal; called at most once for each
    ///   algorithm.
    func check(_ digest: (FileHash.Algorithm) throws -> String) rethrows -> Match {
        for algorithm in FileHash.Algorithm.allCases {
            let listed = hashes.filter { $0.algorithm == algorithm }.flatMap(\.digests)
            if !listed.isEmpty, listed.contains(try digest(algorithm)) { return .verified }
        }
        return isRequired ? .differs : .unknown
    }
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
