internal import Dispatch
internal import SystemPackage

/// The facts in a cache file's checkpoint (the record of its contents, stored beside it). They were not compared with
/// the file.
package struct CachedFile: Sendable, Equatable {
    package var name: String
    package var key: MediaID
    package var generation: Int
    package var total: Int64?
    /// The strong validator, in the format of `Validator.text`.
    package var validator: String?
    package var contentType: String?
    package var finalURL: String?
    /// The number of received bytes.
    package var received: Int64
    package var complete: Bool
    package var sha256: String?
    /// The metadata that the file had when it was completed; `nil` if it is not complete, or if an earlier version of
    /// podfs wrote the checkpoint.
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

/// The exclusive right to write a folder, held until the value is released or the process exits.
package struct FolderLease: Sendable {
    private let lock: FolderLock

    /// Acquires the right. The result is `nil` if another process holds it.
    package init?(folder: String) throws {
        guard let lock = try FolderLock(file: FilePath(folder + "/daemon.lock")) else { return nil }
        self.lock = lock
    }
}

extension TransferEngine {
    /// The names of the files in the cache.
    package var fileNames: [String] { cache.names() }

    /// Returns the facts in a file's checkpoint; `nil` if the checkpoint is missing or damaged.
    ///
    /// - Throws: A transient defect, if the checkpoint cannot be read now.
    package func file(_ name: String) throws(CacheFileDefect) -> CachedFile? {
        guard let checkpoint = try cache.checkpoint(of: name) else { return nil }
        return CachedFile(
            name: name, key: MediaID(checkpoint.key), generation: checkpoint.generation, total: checkpoint.total,
            validator: checkpoint.validator, contentType: checkpoint.contentType, finalURL: checkpoint.finalURL,
            received: checkpoint.receivedRanges.byteCount, complete: checkpoint.complete, sha256: checkpoint.sha256,
            state: checkpoint.state)
    }

    /// Returns the first difference between a file's metadata and the expectation; `nil` if there is none. May be
    /// called on any thread.
    package func defect(of name: String, expecting expectation: CacheExpectation) -> CacheFileDefect? {
        cache.defect(of: name, expecting: expectation)
    }

    /// Returns the state of a file. Throws a defect unless the file has `size` bytes and no hole that the file system
    /// reports.
    package func state(of name: String, size: Int64) throws(CacheFileDefect) -> FileState {
        try cache.state(of: name, size: size)
    }

    /// Verifies the digest of a file that should be complete, on a separate queue. If the digest matches, writes a
    /// new checkpoint.
    ///
    /// - Returns: Its state, or its defect.
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

    /// A serial queue, because reading several files at a time would not be faster.
    private static let verifying = DispatchQueue(label: "podfs.verifying", qos: .utility)

    /// Removes a file. Programs that have it open can still read it.
    package func removeFile(_ name: String) { cache.remove(name) }

    /// Whether a program has a file open, or may have.
    package func isRead(_ name: String) -> Bool { cache.hasReader(name) }

    /// Removes a file that no program has open.
    ///
    /// - Returns: `false` if a program has it open, or may have; nothing was removed then.
    package func evictFile(_ name: String) -> Bool { cache.evict(name) }
}
