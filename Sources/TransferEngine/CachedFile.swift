package import ContentCache
internal import Dispatch
internal import SystemPackage
package import TransferCore

/// What a checkpoint in the cache says of its file, unchecked.
package struct CachedFile: Sendable, Equatable {
    package var name: String
    package var key: MediaID
    package var generation: Int
    package var total: Int64?
    package var validator: String?
    package var contentType: String?
    package var finalURL: String?
    /// Bytes present.
    package var received: Int64
    package var complete: Bool
    package var sha256: String?
    /// How it looked when it was complete.
    package var state: FileState?

    package init(
        name: String, key: MediaID, generation: Int, total: Int64?, validator: String?, contentType: String?,
        finalURL: String?, received: Int64, complete: Bool, sha256: String?, state: FileState?
    ) {
        self.name = name
        self.key = key
        self.generation = generation
        self.total = total
        self.validator = validator
        self.contentType = contentType
        self.finalURL = finalURL
        self.received = received
        self.complete = complete
        self.sha256 = sha256
        self.state = state
    }
}

/// The sole right to write a folder, held until the value goes or the process ends.
package struct FolderLease: Sendable {
    private let lock: FolderLock

    /// `nil` when another process has it.
    package init?(folder: String) throws {
        guard let lock = try FolderLock(file: FilePath(folder + "/daemon.lock")) else { return nil }
        self.lock = lock
    }
}

extension TransferEngine {
    /// The names of the files in the cache.
    package var fileNames: [String] { cache.names() }

    /// What is known of a file; `nil` without a readable checkpoint.
    package func file(_ name: String) -> CachedFile? {
        guard let checkpoint = cache.checkpoint(of: name) else { return nil }
        return CachedFile(
            name: name, key: MediaID(checkpoint.key), generation: checkpoint.generation, total: checkpoint.total,
            validator: checkpoint.validator, contentType: checkpoint.contentType, finalURL: checkpoint.finalURL,
            received: checkpoint.receivedRanges.byteCount, complete: checkpoint.complete, sha256: checkpoint.sha256,
            state: checkpoint.state)
    }

    /// What is wrong with a file at a first look; `nil` when it is as expected. May be called on any thread.
    package func defect(of name: String, expecting expectation: CacheExpectation) -> CacheFileDefect? {
        cache.defect(of: name, expecting: expectation)
    }

    /// How a file looks of which all is there as far as the file system tells.
    package func state(of name: String, size: Int64) throws(CacheFileDefect) -> FileState {
        try cache.state(of: name, size: size)
    }

    /// Reads all of a file that ought to be whole, on a thread for that; gives it a new checkpoint when it is.
    ///
    /// - Returns: how it looks, or what is wrong with it.
    package func verify(_ file: CachedFile) async -> Result<FileState, CacheFileDefect> {
        var checkpoint = Checkpoint(key: file.key.rawValue, generation: file.generation)
        checkpoint.total = file.total
        checkpoint.validator = file.validator
        checkpoint.contentType = file.contentType
        checkpoint.finalURL = file.finalURL
        checkpoint.sha256 = file.sha256
        return await withCheckedContinuation { continuation in
            Self.verifying.async { [cache, checkpoint] in
                do throws(CacheFileDefect) {
                    continuation.resume(returning: .success(try cache.verify(file.name, checkpoint)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
    }

    /// One file at a time: more would not be faster.
    private static let verifying = DispatchQueue(label: "podfs.verifying", qos: .utility)

    /// Removes a file; who has it open keeps it until the close.
    package func removeFile(_ name: String) { cache.remove(name) }

    /// Removes a file that nobody has open.
    ///
    /// - Returns: `false` when somebody has; nothing has happened then.
    package func evictFile(_ name: String) -> Bool { cache.evict(name) }
}
