package import PodcastProtocol
package import Transfers

/// One version of an episode's media file, as defined by one server response. Its bytes are cached or being fetched.
///
/// An episode has at most one current rendition; the generation distinguishes it from earlier ones.
package struct Rendition: Sendable, Equatable {
    package var episode: EpisodeID
    package var generation: Int
    /// The name of the cache file.
    package var file: String
    /// The total size in bytes; `nil` if no server has confirmed it.
    package var size: Int64?
    /// The validator of the response; opaque to this module.
    package var validator: String?
    package var finalURL: String?
    /// The number of received bytes.
    package var received: Int64 = 0
    package var complete: Bool = false
    package var sha256: String?
    /// The recorded metadata of the complete cache file, such as its size and mtime, opaque to this module; `nil` while
    /// the file is incomplete.
    package var fileState: String?
    package var created: Int64 = 0
    package var lastOpened: Int64 = 0
    package var pinned: Bool = false
    /// Whether the episode was played.
    package var played: Bool = false
    /// The path of the file in the archive folder; `nil` if it is in the cache. `file` is then only a unique name.
    package var archived: String?
}

extension Rendition {
    /// Creates the rendition of a response whose first bytes have arrived.
    package init(
        episode: EpisodeID, generation: Int, file: String, _ pin: Pin, finalURL: String?, now: Int64
    ) {
        self.init(
            episode: episode, generation: generation, file: file, size: pin.total, validator: pin.validator?.text,
            finalURL: finalURL, created: now, lastOpened: now)
    }

    /// Creates the rendition of a cache file with this checkpoint.
    package init(file: String, _ checkpoint: Checkpoint, now: Int64) {
        self.init(
            episode: checkpoint.key.episode, generation: checkpoint.generation, file: file, size: checkpoint.total,
            validator: checkpoint.validator, finalURL: checkpoint.finalURL,
            received: checkpoint.receivedRanges.byteCount, complete: checkpoint.complete, sha256: checkpoint.sha256,
            fileState: checkpoint.state?.text, created: now, lastOpened: now)
    }
}

/// A background download that is outstanding or failed. Its row is removed when it completes or is cancelled.
package struct Download: Sendable, Equatable {
    /// The task's id: positive, never reused for another task.
    package var id: TaskID
    package var episode: EpisodeID
    /// The identifier of the client session to which the task belongs; empty if the task ends with its client.
    package var session: String
    /// Whether a user has suspended the download.
    package var suspended: Bool = false
    /// Whether the download was created automatically and nobody has requested it since. Such a download waits for an
    /// unmetered link and mains power.
    package var automatic: Bool = false
    package var created: Int64 = 0
    /// The reason for the failure, one line; `nil` unless it failed.
    package var error: String?
    /// The errno with which reads of the file fail; set together with `error`.
    package var errorNumber: Int?

    /// The state of the task as long as the daemon has not started it, for example while no daemon runs.
    package var state: TaskState { error != nil ? .failed : suspended ? .suspended : .queued }
}
