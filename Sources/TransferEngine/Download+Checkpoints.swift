internal import ContentCache
internal import Dispatch
internal import TransferCore

// What of a download outlives the process.
extension Download {
    func checkpoint() -> Checkpoint {
        var checkpoint = Checkpoint(key: source.key, generation: machine.generation)
        checkpoint.total = machine.pin?.total
        checkpoint.validator = machine.pin?.validator?.text
        checkpoint.contentType = machine.pin?.mediaType
        checkpoint.finalURL = finalURL
        checkpoint.setReceived(machine.present)
        checkpoint.setSynced(checkpoints.synced)
        return checkpoint
    }

    /// A file that is being finished gets its checkpoints from `finish`, and its last one there.
    var savesCheckpoints: Bool { file != nil && !machine.isCached && !machine.isFinishing }

    func saveCheckpoint(synchronously: Bool) {
        guard let file, savesCheckpoints, synchronously || !checkpoints.isBusy else { return }
        let checkpoint = checkpoint()
        let received = machine.present
        let synchronizes = checkpoints.begin(at: engine.now, all: synchronously)
        let cache = engine.cache
        let save: @Sendable () -> Bool = {
            do {
                var checkpoint = checkpoint
                if synchronizes {
                    try file.synchronize()
                    checkpoint.setSynced(received)
                }
                try cache.save(checkpoint, of: file, durably: synchronizes)
                return synchronizes
            } catch {
                return false
            }
        }
        if synchronously {
            _ = engine.storage.sync(execute: save)
            checkpoints.end(synced: nil)
            return
        }
        let key = source.key
        let mailbox = engine.mailbox
        engine.storage.async {
            let didSynchronize = save()
            mailbox.post { loop in
                guard let download = loop.download(key), download.file === file else { return }
                download.checkpoints.end(synced: didSynchronize ? received : nil)
            }
        }
    }

    /// Syncs, hashes and marks the finished file, away from the engine's thread.
    func finish() {
        guard let file, let size = machine.pin?.total else { return }
        let partial = checkpoint()
        let all = machine.present
        let cache = engine.cache
        let key = source.key
        let mailbox = engine.mailbox
        let storage = engine.storage
        engine.hashing.async {
            let result: Result<String, TransferError>
            do {
                // On the queue of the other checkpoints, so that an older one does not come after it. Written before
                // the file is synced: a process that is killed now has all bytes in the page cache.
                try storage.sync { try cache.save(partial, of: file, durably: false) }
                try file.synchronize()
                let sha256 = try file.sha256(size: size)
                var checkpoint = partial
                checkpoint.complete = true
                checkpoint.sha256 = sha256
                checkpoint.setSynced(all)
                try storage.sync { try cache.save(checkpoint, of: file, durably: true) }
                result = .success(sha256)
            } catch {
                result = .failure(Self.storageError(error))
            }
            mailbox.post { loop in loop.download(key)?.finished(result, file: file) }
        }
    }

    private func finished(_ result: Result<String, TransferError>, file: CacheFile) {
        guard file === self.file, machine.isFinishing, let size = machine.pin?.total else { return }
        checkpoints = CheckpointPace()
        switch result {
        case .success(let sha256):
            // The owner learns of it before the readers that wait for the end, and before the state says so.
            engine.emit(.completed(key: source.key, generation: machine.generation, size: size, sha256: sha256))
            apply(machine.finished(nil, now: engine.now))
        case .failure(let error):
            apply(machine.finished(error, now: engine.now))
        }
        report(force: true)
    }
}
