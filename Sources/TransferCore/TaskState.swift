/// The state of a task and of its file, in the protocol, in events, on screens, in JSON and in `user.podfs.state`.
package enum TaskState: String, Sendable, Codable, Equatable {
    /// There is no task, and the file is not completely cached. Also the state in the final event of a cancelled
    /// download and of a finished feed task.
    case remote
    /// The task waits for a connection, for space in the cache, or for its next retry.
    case queued
    case running
    /// A person has suspended the task: background filling pauses, reads are still served. Or the disk is full.
    case suspended
    /// Every byte of a download is present and verified.
    case cached
    case failed
    /// The server has stored all of an upload.
    case completed
    /// A person has cancelled an upload.
    case cancelled
}
