internal import ContentCache
internal import SystemPackage
internal import TransferCore

/// What a checkpoint in the cache says of its file, unchecked.
package struct CachedFile: Sendable, Equatable {
    package var name: String
    package var key: Int64
    package var generation: Int
    package var total: Int64?
    package var validator: String?
    package var contentType: String?
    package var finalURL: String?
    /// Bytes present.
    package var received: Int64
    package var complete: Bool
    package var sha256: String?
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
            name: name, key: checkpoint.key, generation: checkpoint.generation, total: checkpoint.total,
            validator: checkpoint.validator, contentType: checkpoint.contentType, finalURL: checkpoint.finalURL,
            received: checkpoint.receivedRanges.byteCount, complete: checkpoint.complete, sha256: checkpoint.sha256)
    }

    /// Removes a file; who has it open keeps it until the close.
    package func removeFile(_ name: String) { cache.remove(name) }

    /// Removes a file that nobody has open.
    ///
    /// - Returns: `false` when somebody has; nothing has happened then.
    package func evictFile(_ name: String) -> Bool { cache.evict(name) }
}
