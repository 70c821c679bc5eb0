/// The state of a download at one moment.
package struct DownloadSnapshot: Sendable, Equatable {
    package var key: MediaID
    package var generation: Int
    package var state: TaskState
    /// The number of bytes in the cache file.
    package var received: Int64
    /// The size in bytes; `nil` while unknown.
    package var total: Int64?
    /// Bytes per second, averaged over the last five seconds; `nil` unless `state` is `running`.
    package var rate: Double?
    package var error: TransferError?
    package var present = ByteRanges()
    /// Whether the download has a task, which fetches the whole file.
    package var isTask: Bool
    /// The priority of the task. A player's read raises `automatic` to `asked`. A read of a probe (a program that reads
    /// only headers and tags) does not.
    package var priority = TransferPriority.asked
    /// Whether the task is automatic and waits until such tasks may run.
    package var isWaitingForConditions = false
    /// Whether the task waits until there is space for the whole file; `error` has the reason.
    package var isWaitingForSpace = false
    /// Whether the last connection has failed or was lost, and a retry is scheduled.
    package var isRetrying = false
    /// The time until the next attempt, counted from the snapshot; `nil` if none is scheduled.
    package var retryIn: Duration?

    /// Returns whether the machine's number of present bytes differs from the snapshot's, or the snapshot shows a rate.
    /// A rate becomes outdated even if no bytes arrive, because it is an average that then falls with time.
    package func isOutdated(by machine: DownloadMachine) -> Bool {
        received != machine.present.byteCount || rate ?? 0 > 0
    }
}

extension DownloadSnapshot {
    /// Creates the snapshot of a task that the engine has not reported yet.
    package init(task key: MediaID, generation: Int, state: TaskState, received: Int64, total: Int64?) {
        self.init(key: key, generation: generation, state: state, received: received, total: total, isTask: true)
    }
}

/// The state of a cancelled download, like URLSession's resume data. It shows later whether the download can continue.
/// The bytes themselves stay in the cache, with a checkpoint that says which of them are valid.
package struct ResumeData: Codable, Sendable, Equatable {
    /// The version of this format.
    package static let currentVersion = 1

    package var version = ResumeData.currentVersion
    /// The owner's key of the file.
    package var key: MediaID
    package var generation: Int
    /// The size in bytes; absent while unknown.
    package var total: Int64?
    /// The strong validator of the file, as `Validator.text`; absent if the server has sent none.
    package var validator: String?
    /// The present ranges, as `ByteRanges.text`.
    package var present: String
    /// The file's first URL, as given by the owner.
    package var url: String

    /// Returns whether a download of the rendition with this generation, validator and size can continue from the
    /// present bytes. The generation must be the same, and bytes must be present. The validators must be equal if both
    /// are known, and so must the sizes.
    package func fits(generation: Int, validator: String?, total: Int64?) -> Bool {
        guard version == Self.currentVersion, generation == self.generation else { return false }
        if let own = self.validator, let validator, own != validator { return false }
        if let own = self.total, let total, own != total { return false }
        guard let present = ByteRanges(text: present), !present.isEmpty else { return false }
        guard let end = present.ranges.last?.upperBound, let size = self.total ?? total else { return true }
        return end <= size
    }
}
