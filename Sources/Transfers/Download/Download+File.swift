internal import Glibc
internal import Platform

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
