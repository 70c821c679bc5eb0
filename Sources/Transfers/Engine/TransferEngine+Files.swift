internal import Dispatch
internal import SystemPackage

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

    /// Returns a file's checkpoint; `nil` if it is missing or damaged. Its facts were not compared with the file.
    ///
    /// - Throws: A transient defect, if the checkpoint cannot be read now.
    package func checkpoint(of name: String) throws(CacheFileDefect) -> Checkpoint? { try cache.checkpoint(of: name) }

    /// Returns the first difference between a file's metadata and the expectation; `nil` if there is none. May be
    /// called on any thread.
    package func defect(of name: String, expecting expectation: CacheExpectation) -> CacheFileDefect? {
        cache.defect(of: name, expecting: expectation)
    }

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

    /// Removes a file. Programs that have it open can still read it.
    package func removeFile(_ name: String) { cache.remove(name) }

    /// Whether a program has a file open, or may have.
    package func isRead(_ name: String) -> Bool { cache.hasReader(name) }

    /// Removes a file that no program has open.
    ///
    /// - Returns: `false` if a program has it open, or may have; nothing was removed then.
    package func evictFile(_ name: String) -> Bool { cache.evict(name) }
}
